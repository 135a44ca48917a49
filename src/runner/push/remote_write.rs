//! Writes the metrics of `--push` as a remote write request of Prometheus, version 1: protobuf, compressed
//! with snappy.

use prost::Message as _;

use super::families::{Family, Labels};

/// `WriteRequest` of Prometheus.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<RemoteSeries>,
}

/// Prometheus' message `TimeSeries`: labels in the order of their names, and samples.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RemoteSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<RemoteSample>,
}

/// `Label` of Prometheus.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// Prometheus' message `Sample`, with its time in ms since 1970.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct RemoteSample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// Returns the compressed request with the samples at `now_ns`, in nanoseconds since 1970. Each sample also has the
/// `common` labels.
pub(super) fn request(families: &[Family], common: &Labels, now_ns: u64) -> Vec<u8> {
    let timestamp = (now_ns / 1_000_000).cast_signed();
    let samples = families.iter().flat_map(|family| &family.samples);
    let timeseries = samples.map(|sample| {
        let mut labels = common.clone();
        labels.extend(sample.labels.clone());
        labels.insert("__name__".to_owned(), sample.name.to_owned());
        let labels = labels.into_iter().map(|(name, value)| Label { name, value }).collect();
        RemoteSeries { labels, samples: vec![RemoteSample { value: sample.value, timestamp }] }
    });
    let request = WriteRequest { timeseries: timeseries.collect() };
    let compressed = snap::raw::Encoder::new().compress_vec(&request.encode_to_vec());
    compressed.expect("a request is shorter than the 4 GiB of snappy")
}

#[cfg(test)]
mod tests {
    use super::{super::families, *};

    #[test]
    fn every_sample_is_a_time_series_with_sorted_labels() {
        let common = Labels::from([("job".to_owned(), "redyno".to_owned())]);
        let bytes = request(&families::families(families::tests::TEXT), &common, 2_000_000);
        let bytes = snap::raw::Decoder::new().decompress_vec(&bytes).unwrap();
        let request = WriteRequest::decode(&*bytes).unwrap();
        assert_eq!(request.timeseries.len(), 8);
        let bucket = &request.timeseries[3];
        let labels: Vec<_> = bucket.labels.iter().map(|l| (l.name.as_str(), l.value.as_str())).collect();
        assert_eq!(
            labels,
            [
                ("__name__", "redyno_service_seconds_bucket"),
                ("job", "redyno"),
                ("le", "0.001"),
                ("operation", "GET")
            ]
        );
        assert_eq!(bucket.samples, [RemoteSample { value: 3.0, timestamp: 2 }]);
        // The field numbers of the protocol: 1 is a double, and 2 is a varint.
        assert_eq!(bucket.samples[0].encode_to_vec(), [&[9][..], &3.0_f64.to_le_bytes(), &[16, 2]].concat());
    }
}
