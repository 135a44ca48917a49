//! The points of HdrHistogram's plot of a latency distribution. The plot shows the latency for each percentile, and
//! stretches the tail.
//!
//! ```text
//!   nines  0         1         2         3         4      = log10 1 / (1 - quantile)
//!   share  0 %      90 %      99 %    99.9 %   99.99 %
//! ```
//! Each further nine of the percentile (99 %, 99.9 %, …) has the same width. The slowest of a million requests is
//! therefore as easy to read as the median. The axis is the same as in
//! `hdrhistogram.github.io/HdrHistogram/plotFiles.html`.

use super::{Latency, latency::ENOUGH_ABOVE};

/// The largest number of nines on an axis: 6, for 99.9999 %.
pub const MOST_NINES: u32 = 6;
/// The smallest number of nines on an axis: 2, for 99 %.
const LEAST_NINES: u32 = 2;

/// Returns the quantile, 0 to 1, at position `nines` on the axis.
pub fn quantile_at(nines: f64) -> f64 {
    1.0 - 10_f64.powf(-nines.max(0.0))
}

/// Returns the position of a quantile on the axis. The position of quantile 1 is infinity.
pub fn nines_of(quantile: f64) -> f64 {
    -(1.0 - quantile.clamp(0.0, 1.0)).log10()
}

/// Returns how many nines an axis needs, so that it shows all percentiles that `count` samples support. The result is
/// from 2 to [`MOST_NINES`].
pub fn nines_for(count: u64) -> u32 {
    let supported = (count as f64 / ENOUGH_ABOVE).max(1.0).log10();
    ((supported - 1e-9).ceil().max(0.0) as u32).clamp(LEAST_NINES, MOST_NINES)
}

impl Latency {
    /// Returns the curve over an axis of `nines` nines, in `steps` steps. Each element is the latency in ns at the
    /// middle of a step. The element is `None` if fewer than ten samples are above this percentile.
    pub fn curve(&self, nines: u32, steps: usize) -> Vec<Option<u64>> {
        let step = f64::from(nines) / steps.max(1) as f64;
        let quantiles = (0..steps).map(|n| quantile_at((n as f64 + 0.5) * step));
        let mut cells = self.cells();
        let (mut seen, mut value_ns) = (0, self.min_ns());
        let mut at = |quantile: f64| {
            let rank = ((quantile * self.count() as f64).ceil() as u64).max(1);
            while seen < rank {
                let Some((ns, n)) = cells.next() else { return self.max_ns() };
                (seen, value_ns) = (seen + n, ns);
            }
            value_ns.clamp(self.min_ns(), self.max_ns())
        };
        quantiles.map(|quantile| self.is_supported(quantile).then(|| at(quantile))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn every_nine_has_the_same_width() {
        for (quantile, nines) in [(0.0, 0.0), (0.9, 1.0), (0.99, 2.0), (0.9999, 4.0)] {
            assert!((nines_of(quantile) - nines).abs() < 1e-9, "{quantile}");
            assert!((quantile_at(nines) - quantile).abs() < 1e-12, "{nines}");
        }
        assert_eq!([0, 1000, 1001, 100_000, u64::MAX].map(nines_for), [2, 2, 3, 4, 6]);
    }

    #[test]
    fn a_curve_agrees_with_the_percentiles() {
        let latency = latency_of((1..=20_000).map(|n| n * 1000));
        let curve = latency.curve(5, 50);
        for (n, value) in curve.iter().enumerate() {
            let quantile = quantile_at((n as f64 + 0.5) * 0.1);
            assert_eq!(*value, latency.percentile(quantile), "{quantile}");
        }
        assert!(curve[32].is_some() && curve[34].is_none(), "10 of 20000 lie above 99.95 %");
        assert!(curve.is_sorted_by_key(|value| value.unwrap_or(u64::MAX)));
    }

    #[test]
    fn an_empty_distribution_has_no_curve() {
        assert_eq!(Latency::default().curve(3, 4), [None; 4]);
        assert_eq!(latency_of([5; 20]).curve(2, 4), [Some(5), None, None, None]);
        assert_eq!(latency_of([5; 20]).curve(2, 0), []);
    }
}
