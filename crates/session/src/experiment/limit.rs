//! A limit of the latency as text: `p99<1ms`.

use std::{fmt, str::FromStr};

use super::WordsError;
use crate::{
    compare::LatencyBound,
    stats::{Latency, PERCENTILES},
    units::parse_duration,
};

/// An upper bound of a latency percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The percentile: `p99`, or `max`.
    level: &'static str,
    /// The share of the latencies that must be below the bound, from 0 to 1.
    quantile: f64,
    below_ns: u64,
    /// The bound as the user wrote it.
    below: String,
}

/// The name and the quantile of the longest latency.
const MAX: (&str, f64) = ("max", 1.0);

fn known() -> impl Iterator<Item = (&'static str, f64)> {
    PERCENTILES.iter().map(|percentile| (percentile.name, percentile.quantile)).chain([MAX])
}

fn levels() -> String {
    known().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Limit {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        let (level, below) = text
            .split_once('<')
            .ok_or_else(|| WordsError::of(format!("'{text}' is not a limit; write for example p99<1ms")))?;
        let (level, below) = (level.trim(), below.trim());
        let (level, quantile) = known().find(|(name, _)| *name == level).ok_or_else(|| {
            WordsError::of(format!("'{level}' is not a percentile; give one of {}", levels()))
        })?;
        // If the bound in nanoseconds does not fit into 64 bits, no latency exceeds it.
        let below_ns = u64::try_from(parse_duration(below)?.as_nanos()).unwrap_or(u64::MAX);
        if below_ns == 0 {
            return Err(WordsError::of("the limit must be above 0"));
        }
        Ok(Self { level, quantile, below_ns, below: below.replace(' ', "") })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}<{}", self.level, self.below)
    }
}

impl Limit {
    /// Returns whether enough of these latencies are below the bound; false without any latencies.
    pub fn holds(&self, latency: &Latency) -> bool {
        self.holds_without(latency, &Latency::default())
    }

    /// Returns whether enough of these latencies are below the bound. All latencies in `left_out` count as below the
    /// bound.
    pub(super) fn holds_without(&self, latency: &Latency, left_out: &Latency) -> bool {
        let most = latency.count() as f64 * (1.0 - self.quantile);
        let beyond = latency.count_from(self.below_ns).saturating_sub(left_out.count_from(self.below_ns));
        !latency.is_empty() && beyond as f64 <= most + 1e-9
    }

    /// Returns the limit's percentile of these latencies, in microseconds; `None` with too few samples.
    pub fn level_us(&self, latency: &Latency) -> Option<f64> {
        let ns = if self.quantile < 1.0 {
            latency.percentile(self.quantile)
        } else {
            (!latency.is_empty()).then(|| latency.max_ns())
        };
        ns.map(|ns| ns as f64 / 1e3)
    }

    /// Returns the limit as the bound of a latency.
    pub fn bound(&self) -> LatencyBound {
        LatencyBound { words: self.to_string(), quantile: self.quantile, ns: self.below_ns }
    }

    /// Returns the number of samples that the percentile needs.
    pub fn enough(&self) -> u64 {
        if self.quantile < 1.0 { (11.0 / (1.0 - self.quantile)).ceil() as u64 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn a_limit_is_a_percentile_and_an_upper_bound() {
        let limit: Limit = " p99.9 < 1.5 ms".parse().unwrap();
        assert_eq!(
            (limit.to_string(), limit.below_ns, limit.enough()),
            ("p99.9<1.5ms".into(), 1_500_000, 11_000)
        );
        for (text, expected) in [
            ("p99", "'p99' is not a limit; write for example p99<1ms"),
            ("p98<1ms", "'p98' is not a percentile; give one of p50, p90, p95, p99, p99.9, p99.99, max"),
            ("p99<1", "'1' is not a duration such as 100us, "),
            ("p99<0ms", "the limit must be above 0"),
        ] {
            let error = text.parse::<Limit>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn it_holds_if_enough_latencies_are_below_it() {
        let latency = latency_of((0..1000).map(|n| if n < 990 { 900_000 } else { 1_100_000 }));
        let holds = |text: &str| text.parse::<Limit>().unwrap().holds(&latency);
        assert!(holds("p99<1ms") && holds("max<2ms"));
        assert!(!holds("p99.9<1ms") && !holds("max<1ms") && !holds("p50<900us"));
        let limit: Limit = "max<1ms".parse().unwrap();
        assert_eq!((limit.level_us(&latency), limit.level_us(&Latency::default())), (Some(1100.0), None));
        assert!(!limit.holds(&Latency::default()), "nothing was seen");
    }
}
