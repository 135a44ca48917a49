//! How a distribution travels: the figures people read, and all cells as the usual compressed HDR text.
//!
//! ```text
//! {"count":3,"min_us":0.3,"mean_us":…,"p50_us":…,…,"p9999_us":null,"max_us":…,"over_range":0,"hdr":"HISTF…"}
//! ```
//! A percentile with fewer than ten samples above it is `null`. The text is base64 of HdrHistogram's V2 deflate
//! encoding with values in nanoseconds, so the HDR tools of other languages read it; an empty distribution has
//! the empty text. Reading takes the cells from the text and the exact figures from beside it.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use thiserror::Error;

use super::{Latency, recorder::empty_cells};

/// Why a text is no distribution.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram text is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are no HDR histogram.
    #[error("the histogram text is damaged: {0:?}")]
    Histogram(hdrhistogram::serialization::DeserializeError),
}

/// The wire form, field by field.
#[derive(Serialize, Deserialize)]
struct Wire {
    count: u64,
    min_us: f64,
    mean_us: f64,
    p50_us: Option<f64>,
    p90_us: Option<f64>,
    p95_us: Option<f64>,
    p99_us: Option<f64>,
    p999_us: Option<f64>,
    p9999_us: Option<f64>,
    max_us: f64,
    over_range: u64,
    hdr: String,
}

impl Latency {
    /// All cells as compressed HDR text, without those over range; empty for an empty distribution.
    ///
    /// # Errors
    /// When the encoder fails, which only a lack of memory can bring about.
    pub fn hdr_text(&self) -> Result<String, hdrhistogram::serialization::V2DeflateSerializeError> {
        if self.cells().is_empty() {
            return Ok(String::new());
        }
        let mut histogram = empty_cells();
        for &(value_ns, n) in self.cells() {
            histogram.record_n(value_ns, n).expect("a cell lies within the range");
        }
        let mut encoded = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut encoded)?;
        Ok(BASE64.encode(encoded))
    }

    fn from_wire(wire: &Wire) -> Result<Self, DecodeError> {
        let mut cells = Vec::new();
        if !wire.hdr.is_empty() {
            let encoded = BASE64.decode(&wire.hdr)?;
            let read = HdrDeserializer::new().deserialize::<u64, _>(&mut encoded.as_slice());
            let histogram = read.map_err(DecodeError::Histogram)?;
            cells.extend(histogram.iter_recorded().map(|c| (c.value_iterated_to(), c.count_at_value())));
        }
        let sum_ns = (wire.mean_us * 1e3 * wire.count as f64).round() as u128;
        Ok(Self::from_parts(cells, wire.over_range, sum_ns, ns(wire.min_us), ns(wire.max_us)))
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn ns(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let percentile = |quantile| self.percentile(quantile).map(us);
        Wire {
            count: self.count(),
            min_us: us(self.min_ns()),
            mean_us: self.mean_ns() / 1e3,
            p50_us: percentile(0.50),
            p90_us: percentile(0.90),
            p95_us: percentile(0.95),
            p99_us: percentile(0.99),
            p999_us: percentile(0.999),
            p9999_us: percentile(0.9999),
            max_us: us(self.max_ns()),
            over_range: self.over_range(),
            hdr: self.hdr_text().map_err(S::Error::custom)?,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_wire(&Wire::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn a_distribution_survives_its_text_cell_for_cell() {
        let before = latency_of((1..2_000_000).step_by(997).chain([70_000_000_000]));
        let text = serde_json::to_string(&before).unwrap();
        assert!(text.contains("\"hdr\":\"HISTF"), "{text}");
        let after: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(after, before);
    }

    #[test]
    fn a_percentile_without_enough_samples_is_null() {
        let value = serde_json::to_value(latency_of([3_000])).unwrap();
        assert_eq!(value["p50_us"], serde_json::Value::Null);
        assert_eq!(value["max_us"], 3.0);
    }

    #[test]
    fn a_damaged_text_is_refused_with_a_reason() {
        let mut value = serde_json::to_value(Latency::default()).unwrap();
        value["hdr"] = "HISTF!".into();
        let error = serde_json::from_value::<Latency>(value).unwrap_err();
        assert!(error.to_string().contains("not base64"), "{error}");
    }
}
