//! Writes the metrics of `--push` as OTLP in JSON (`http/json`). All sums count from the start of the
//! session.

use serde_json::{Value, json};

use super::families::{Family, Labels, MetricSample};

/// The temporality of sums: sums count from the start of the session, not from the previous sample.
const CUMULATIVE: u8 = 2;

/// Returns an `ExportMetricsServiceRequest` with the samples at `now_ns`, in nanoseconds since 1970.
pub(super) fn request(families: &[Family], resource: &Labels, since_ns: u64, now_ns: u64) -> Vec<u8> {
    let times = PointTimes { since: since_ns.to_string(), now: now_ns.to_string() };
    let metrics: Vec<_> = families.iter().map(|family| metric(family, &times)).collect();
    let scope = json!({ "name": "redyno", "version": env!("CARGO_PKG_VERSION") });
    let resource = json!({ "attributes": attributes(resource) });
    let scoped = json!([{ "scope": scope, "metrics": metrics }]);
    json!({ "resourceMetrics": [{ "resource": resource, "scopeMetrics": scoped }] }).to_string().into_bytes()
}

/// The start of the session and the time of a sample. In the JSON of OTLP, 64-bit numbers are text.
struct PointTimes {
    since: String,
    now: String,
}

impl PointTimes {
    fn point(&self, labels: &Labels, more: Value) -> Value {
        let mut point = json!({
            "attributes": attributes(labels),
            "startTimeUnixNano": self.since,
            "timeUnixNano": self.now,
        });
        if let (Some(point), Value::Object(more)) = (point.as_object_mut(), more) {
            point.extend(more);
        }
        point
    }
}

fn attributes(labels: &Labels) -> Vec<Value> {
    labels.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect()
}

fn metric(family: &Family, times: &PointTimes) -> Value {
    let number = |sample: &MetricSample| times.point(&sample.labels, json!({ "asDouble": sample.value }));
    let numbers = || family.samples.iter().map(number).collect::<Vec<_>>();
    let (name, kind, data) = match family.kind {
        "histogram" => {
            let data =
                json!({ "aggregationTemporality": CUMULATIVE, "dataPoints": histograms(family, times) });
            (family.name.to_owned(), "histogram", data)
        }
        "counter" => {
            let points = numbers();
            let data =
                json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points });
            (family.name.to_owned(), "sum", data)
        }
        "info" => (format!("{}_info", family.name), "gauge", json!({ "dataPoints": numbers() })),
        _ => (family.name.to_owned(), "gauge", json!({ "dataPoints": numbers() })),
    };
    let unit = match family.unit {
        "seconds" => "s",
        "bytes" => "By",
        "ratio" => "1",
        other => other,
    };
    json!({ "name": name, "description": family.help, "unit": unit, kind: data })
}

/// Returns the histograms. In the samples, each histogram has a sum, a count and buckets, one after the other.
fn histograms(family: &Family, times: &PointTimes) -> Vec<Value> {
    let mut points = Vec::new();
    let is_sum = |sample: &MetricSample| sample.name.ends_with("_sum");
    for lines in family.samples.chunk_by(|_, next| !is_sum(next)) {
        let [sum, count, buckets @ ..] = lines else { continue };
        let below: Vec<_> = buckets.iter().map(|bucket| bucket.value as u64).collect();
        let before = std::iter::once(0).chain(below.iter().copied());
        let counts: Vec<_> = below.iter().zip(before).map(|(n, before)| (n - before).to_string()).collect();
        let bounds = buckets.iter().filter_map(|bucket| bucket.labels.get("le")?.parse::<f64>().ok());
        let bounds: Vec<_> = bounds.filter(|bound| bound.is_finite()).collect();
        let count = (count.value as u64).to_string();
        let more =
            json!({ "sum": sum.value, "count": count, "bucketCounts": counts, "explicitBounds": bounds });
        points.push(times.point(&sum.labels, more));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::{super::families, *};

    #[test]
    fn each_kind_of_metric_has_the_form_of_the_protocol() {
        let resource = Labels::from([("service.name".to_owned(), "redyno".to_owned())]);
        let bytes = request(&families::families(families::tests::TEXT), &resource, 1, 2);
        let request: Value = serde_json::from_slice(&bytes).unwrap();
        let of = &request["resourceMetrics"][0];
        assert_eq!(of["resource"]["attributes"][0]["value"]["stringValue"], "redyno");
        let metrics = &of["scopeMetrics"][0]["metrics"];
        let sum = &metrics[0]["sum"];
        assert_eq!((&metrics[0]["name"], &sum["isMonotonic"]), (&json!("redyno_ops"), &json!(true)));
        let point = &sum["dataPoints"][0];
        assert_eq!((&point["asDouble"], &point["timeUnixNano"]), (&json!(7.0), &json!("2")));
        let histogram = &metrics[1]["histogram"]["dataPoints"][0];
        assert_eq!(metrics[1]["unit"], "s");
        assert_eq!(histogram["bucketCounts"], json!(["3", "0", "2"]));
        assert_eq!((&histogram["explicitBounds"], &histogram["count"]), (&json!([0.001, 0.01]), &json!("5")));
        assert_eq!(
            histogram["attributes"],
            json!([{ "key": "operation", "value": { "stringValue": "GET" } }])
        );
        assert_eq!(
            (&metrics[2]["name"], &metrics[3]["gauge"]["dataPoints"][0]["asDouble"]),
            (&json!("redyno_session_info"), &json!(0.25))
        );
    }
}
