//! The JSON form of a latency distribution: readable figures, and all histogram cells as compressed text of
//! HdrHistogram.
//!
//! ```text
//! {"count":3,"sum_ns":1200,"min_us":0.3,"mean_us":…,"p50_us":…,…,"p9999_us":…,"max_us":…,"over_range":1,"hdr":"HISTF…"}
//! ```
//! A percentile with fewer than ten samples above it is omitted. The field `over_range` is omitted if it is 0. The
//! field `hdr` is base64 of HdrHistogram's V2 deflate encoding, with values in nanoseconds. HdrHistogram's tools in
//! other languages can read this field. The field `hdr` is empty for an empty distribution. A [`coarse`] text has
//! larger cells, but the other fields are exact. redyno reads the cells from `hdr`, and the exact figures from the
//! other fields.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    Latency,
    hdr::{self, DecodeError},
    recorder::SIGNIFICANT_DIGITS,
    totals::Totals,
};

/// The JSON fields that are computed from the sum and the cells.
pub const COMPUTED: [&str; 7] = ["mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "p9999_us"];
/// The longest valid latency: ten years, in µs.
const LONGEST_US: f64 = 315_360_000.0 * 1e6;
/// The largest relative rounding error by which the mean may be below the minimum or above the maximum.
const ROUNDING: f64 = 1e-9;
/// The number of significant digits of a [`coarse`] text.
const COARSE_DIGITS: u8 = 1;

/// The fields of the JSON object.
#[derive(Serialize, Deserialize)]
struct LatencyJson {
    count: u64,
    /// The sum of all latencies as a whole number, so that adding sums is exact. If the sum exceeds 64 bits, this field
    /// is `None`, and the mean is used instead.
    sum_ns: Option<u64>,
    min_us: f64,
    /// The mean latency, which recordings omit if there is a sum.
    mean_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p999_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p9999_us: Option<f64>,
    max_us: f64,
    #[serde(default, skip_serializing_if = "is_default")]
    over_range: u64,
    hdr: Option<String>,
}

impl Latency {
    /// Returns all cells as compressed HDR text, without latencies over range. The text of an empty distribution is
    /// empty.
    pub fn hdr_text(&self) -> String {
        hdr::encode(self.cells(), SIGNIFICANT_DIGITS)
    }

    /// Returns all cells as compressed HDR text in microseconds, as other benchmarks write it.
    pub fn hdr_text_us(&self) -> String {
        hdr::encode(self.cells().map(|(ns, n)| (ns / 1000, n)), SIGNIFICANT_DIGITS)
    }

    /// Converts the distribution to the cells of a [`coarse`] text. The verdicts on a distribution are then the same
    /// before it is written and after it is read again.
    #[must_use]
    pub fn coarse(&self) -> Self {
        let end = hdr::cell_end(COARSE_DIGITS);
        Self::from_parts(self.cells().map(|(ns, n)| (end(ns), n)), *self.totals())
    }

    fn to_wire(&self, digits: u8) -> LatencyJson {
        let percentile = |quantile| self.percentile(quantile).map(us);
        LatencyJson {
            count: self.count(),
            sum_ns: self.sum_ns().try_into().ok(),
            min_us: us(self.min_ns()),
            mean_us: Some(self.mean_ns() / 1e3),
            p50_us: percentile(0.50),
            p90_us: percentile(0.90),
            p95_us: percentile(0.95),
            p99_us: percentile(0.99),
            p999_us: percentile(0.999),
            p9999_us: percentile(0.9999),
            max_us: us(self.max_ns()),
            over_range: self.over_range(),
            hdr: Some(hdr::encode(self.cells(), digits)),
        }
    }

    /// Returns whether [`lean`] read the distribution without its histogram. Such a distribution has only its exact
    /// figures.
    pub fn lacks_cells(&self) -> bool {
        self.cells().len() == 0 && self.count() > self.over_range()
    }

    fn from_wire(wire: &LatencyJson) -> Result<Self, DecodeError> {
        let text = wire.hdr.as_ref().ok_or(DecodeError::Figures("'hdr' is missing"))?;
        let cells = hdr::decode(text)?;
        let in_cells: u64 = cells.iter().map(|(_, n)| n).sum();
        if in_cells.checked_add(wire.over_range) != Some(wire.count) {
            return Err(DecodeError::Figures("'count' is not the sum of the cells and 'over_range'"));
        }
        Self::with_cells(cells, wire)
    }

    /// Returns a distribution of these cells with the exact figures of `wire`.
    fn with_cells(cells: Vec<(u64, u64)>, wire: &LatencyJson) -> Result<Self, DecodeError> {
        if wire.count > hdr::MOST {
            return Err(DecodeError::Figures("'count' is too large for a session"));
        }
        let (min_us, max_us) = (wire.min_us, wire.max_us);
        let is_latency = |us: f64| (0.0..=LONGEST_US).contains(&us);
        if ![min_us, max_us, wire.mean_us.unwrap_or(min_us)].into_iter().all(is_latency) {
            return Err(DecodeError::Figures("'min_us', 'mean_us' or 'max_us' is no latency"));
        }
        let is_between =
            |mean_us: f64| min_us <= mean_us * (1.0 + ROUNDING) && mean_us <= max_us * (1.0 + ROUNDING);
        if min_us > max_us || !wire.mean_us.is_none_or(is_between) {
            return Err(DecodeError::Figures("'mean_us' is not between 'min_us' and 'max_us'"));
        }
        let (min_ns, max_ns) = (ns(min_us), ns(max_us));
        let sum_ns = match (wire.sum_ns.map(u128::from), wire.mean_us) {
            (None, None) => return Err(DecodeError::Figures("it has neither 'sum_ns' nor 'mean_us'")),
            (None, Some(mean_us)) => (mean_us * 1e3 * wire.count as f64).round() as u128,
            (Some(sum_ns), _) => {
                let count = u128::from(wire.count);
                if !(u128::from(min_ns) * count..=u128::from(max_ns) * count).contains(&sum_ns) {
                    return Err(DecodeError::Figures(
                        "'sum_ns' is not between 'min_us' and 'max_us', each times 'count'",
                    ));
                }
                sum_ns
            }
        };
        if wire.count == 0 {
            return Ok(Self::default());
        }
        let (count, over_range) = (wire.count, wire.over_range);
        Ok(Self::from_parts(cells, Totals { count, over_range, sum_ns, min_ns, max_ns }))
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn ns(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

/// Returns whether a field has its default value. Records and files leave out such a field.
pub fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire(SIGNIFICANT_DIGITS).serialize(serializer)
    }
}

/// Writes distributions in a short form. The figures are exact, but the cells have only one significant
/// digit: each octave (a factor of two) has 16 cells. The HDR text has a tenth of the usual length.
pub mod coarse {
    use super::{COARSE_DIGITS, Latency, Serialize, Serializer};

    /// Writes a distribution.
    ///
    /// # Errors
    /// Fails if the serializer fails.
    pub fn serialize<S: Serializer>(latency: &Latency, serializer: S) -> Result<S::Ok, S::Error> {
        latency.to_wire(COARSE_DIGITS).serialize(serializer)
    }

    /// Writes a distribution, or null if there is none.
    ///
    /// # Errors
    /// Fails if the serializer fails.
    pub fn optional<S: Serializer>(latency: &Option<Latency>, serializer: S) -> Result<S::Ok, S::Error> {
        latency.as_ref().map(|latency| latency.to_wire(COARSE_DIGITS)).serialize(serializer)
    }
}

/// Reads a distribution whose histogram may be missing. Without a histogram, the distribution [lacks its
/// cells](Latency::lacks_cells).
pub mod lean {
    use super::{Deserialize, Deserializer, Latency, LatencyJson};

    /// Reads a distribution.
    ///
    /// # Errors
    /// Fails if the input is no distribution.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Latency, D::Error> {
        let wire = LatencyJson::deserialize(deserializer)?;
        let whole = if wire.hdr.is_some() {
            Latency::from_wire(&wire)
        } else {
            Latency::with_cells(Vec::new(), &wire)
        };
        whole.map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_wire(&LatencyJson::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn a_distribution_is_the_same_after_writing_and_reading() {
        let before = latency_of((1..2_000_000).step_by(997).chain([70_000_000_000]));
        let text = serde_json::to_string(&before).unwrap();
        assert!(text.contains("\"hdr\":\"HISTF"), "{text}");
        let after: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(after, before);
    }

    #[test]
    fn a_missing_sum_is_computed_from_the_mean() {
        let before = latency_of([1, 2, 1_000_000_000, 1_000_000_000, 1_000_000_001]);
        let mut value = serde_json::to_value(&before).unwrap();
        assert_eq!(value["sum_ns"], 3_000_000_004_u64);
        value["mean_us"] = serde_json::json!(600_000.0);
        let sum = |value| serde_json::from_value::<Latency>(value).unwrap().sum_ns();
        assert_eq!(sum(value.clone()), 3_000_000_004);
        value.as_object_mut().unwrap().remove("sum_ns");
        assert_eq!(sum(value), 3_000_000_000);
    }

    #[test]
    fn a_percentile_without_enough_samples_is_left_out() {
        let value = serde_json::to_value(latency_of([3_000])).unwrap();
        assert_eq!((value.get("p50_us"), value.get("over_range")), (None, None));
        assert_eq!(value["max_us"], 3.0);
    }

    #[test]
    fn a_coarse_text_has_exact_figures_and_can_be_written_again() {
        let exact = latency_of((1..2_000_000).step_by(997));
        let written = coarse::serialize(&exact, serde_json::value::Serializer).unwrap();
        let fine = serde_json::to_value(&exact).unwrap();
        let length = |value: &serde_json::Value| value["hdr"].as_str().unwrap().len();
        assert!(length(&written) * 5 < length(&fine), "{written}");
        assert_eq!((&written["p99_us"], &written["max_us"]), (&fine["p99_us"], &fine["max_us"]));
        let back: Latency = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((back.count(), back.sum_ns(), back.min_ns()), (exact.count(), exact.sum_ns(), 1));
        let (p99, exact_p99) = (back.value_at_quantile(0.99) as f64, exact.value_at_quantile(0.99) as f64);
        assert!((exact_p99..exact_p99 * 1.07).contains(&p99), "{p99} for {exact_p99}");
        let again: Latency =
            serde_json::from_value(coarse::serialize(&back, serde_json::value::Serializer).unwrap()).unwrap();
        assert_eq!(again, back);
        assert_eq!(exact.coarse(), back);
    }

    #[test]
    fn a_damaged_text_is_refused_with_a_reason() {
        let mut value = serde_json::to_value(Latency::default()).unwrap();
        value["hdr"] = "HISTF!".into();
        let error = serde_json::from_value::<Latency>(value).unwrap_err();
        assert!(error.to_string().contains("not base64"), "{error}");
    }

    #[test]
    fn impossible_figures_are_refused_with_a_reason() {
        let good = serde_json::to_value(latency_of([3_000, 5_000, 70_000_000_000])).unwrap();
        for (name, value, part) in [
            ("max_us", serde_json::json!(0.5), "between"),
            ("min_us", serde_json::json!(1e9), "between"),
            ("mean_us", serde_json::json!(1.0), "between"),
            ("sum_ns", serde_json::json!(8_000), "'sum_ns'"),
            ("sum_ns", serde_json::json!(u64::MAX), "'sum_ns'"),
            ("min_us", serde_json::json!(-1.0), "no latency"),
            ("max_us", serde_json::json!(1e300), "no latency"),
            ("count", serde_json::json!(4), "'count'"),
            ("over_range", serde_json::json!(u64::MAX), "'count'"),
            ("mean_us", serde_json::json!(-1.0), "no latency"),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            let error = serde_json::from_value::<Latency>(bad).unwrap_err().to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}
