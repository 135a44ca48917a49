//! A finished distribution: sorted cells that hold something, and the exact figures beside them.
//!
//! A quarter of a second of load fills a few hundred of the 27 000 cells of a [`Recorder`](super::Recorder), so
//! this form is small enough to keep for every interval of a session, and quick to merge.

use std::cmp::Ordering;

/// The percentiles that records, screens and exports show, with their names.
pub const PERCENTILES: [Percentile; 6] = [
    Percentile { name: "p50", quantile: 0.50 },
    Percentile { name: "p90", quantile: 0.90 },
    Percentile { name: "p95", quantile: 0.95 },
    Percentile { name: "p99", quantile: 0.99 },
    Percentile { name: "p99.9", quantile: 0.999 },
    Percentile { name: "p99.99", quantile: 0.9999 },
];

/// A named percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Its name on screen, `p99.9`.
    pub name: &'static str,
    /// The share of samples at or below it, 0 to 1.
    pub quantile: f64,
}

/// How many samples must lie above a percentile for it to mean something.
pub(super) const ENOUGH_ABOVE: f64 = 10.0;

/// A distribution of latencies in nanoseconds; the default is the empty one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    /// Cells that hold something, as (highest value that counts as equal, count), ascending.
    cells: Box<[(u64, u64)]>,
    over_range: u64,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Latency {
    /// From ascending cells of the common layout and the exact figures beside them.
    pub(super) fn from_parts(
        cells: Box<[(u64, u64)]>,
        over_range: u64,
        sum_ns: u128,
        min_ns: u64,
        max_ns: u64,
    ) -> Self {
        let count = cells.iter().map(|(_, n)| n).sum::<u64>() + over_range;
        Self { cells, over_range, count, sum_ns, min_ns, max_ns }
    }

    /// How many latencies were counted, those over range included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The shortest latency, exact; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// The longest latency, exact, also above the range; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The arithmetic mean, exact; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The sum of all latencies, exact.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// How many latencies were longer than [`HIGHEST_NS`](super::HIGHEST_NS).
    pub fn over_range(&self) -> u64 {
        self.over_range
    }

    /// The cells that hold something: (highest value that counts as equal in ns, count), ascending. Values
    /// over range are in no cell.
    pub fn cells(&self) -> &[(u64, u64)] {
        &self.cells
    }

    /// The smallest recorded value with at least the share `quantile` (0 to 1) of all samples at or below it,
    /// as HdrHistogram defines it; never above the true maximum. 0 when empty.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for &(value_ns, n) in &self.cells {
            seen += n;
            if seen >= rank {
                return value_ns.clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// [`value_at_quantile`](Self::value_at_quantile) where at least ten samples lie above it, else `None`: a
    /// p99.9 of 100 samples is their maximum by another name.
    pub fn percentile(&self, quantile: f64) -> Option<u64> {
        self.is_told(quantile).then(|| self.value_at_quantile(quantile))
    }

    /// Whether at least ten samples lie above `quantile`.
    pub(super) fn is_told(&self, quantile: f64) -> bool {
        // 1 - 0.9999 is a hair more than 0.0001 in binary; a count of exactly 10 above must pass.
        self.count as f64 * (1.0 - quantile) > ENOUGH_ABOVE - 1e-6
    }

    /// Adds everything in `other`. Loses nothing: both have the same layout of cells.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        self.cells = merged_cells(&self.cells, &other.cells);
        self.over_range += other.over_range;
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// One distribution out of many.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.merge(part);
        }
        all
    }
}

fn merged_cells(left: &[(u64, u64)], right: &[(u64, u64)]) -> Box<[(u64, u64)]> {
    let mut cells = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        match left[l].0.cmp(&right[r].0) {
            Ordering::Less => {
                cells.push(left[l]);
                l += 1;
            }
            Ordering::Greater => {
                cells.push(right[r]);
                r += 1;
            }
            Ordering::Equal => {
                cells.push((left[l].0, left[l].1 + right[r].1));
                l += 1;
                r += 1;
            }
        }
    }
    cells.extend_from_slice(&left[l..]);
    cells.extend_from_slice(&right[r..]);
    cells.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Recorder;

    fn of(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut recorder = Recorder::new();
        for value in values {
            recorder.record(value);
        }
        recorder.latency()
    }

    #[test]
    fn an_empty_distribution_has_no_percentile() {
        let empty = Latency::default();
        assert_eq!((empty.percentile(0.5), empty.value_at_quantile(0.5), empty.mean_ns()), (None, 0, 0.0));
    }

    #[test]
    fn a_percentile_needs_ten_samples_above_it() {
        assert_eq!(of(0..999).percentile(0.99), None);
        assert!(of(0..1000).percentile(0.99).is_some());
        assert!(of((0..100_000).map(|_| 5)).percentile(0.9999).is_some());
    }

    #[test]
    fn quantiles_agree_with_a_sorted_list() {
        let latency = of(1..=1000);
        for (quantile, value) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1000)] {
            assert_eq!(latency.value_at_quantile(quantile), value);
        }
    }

    #[test]
    fn merging_is_recording_together() {
        let (left, right) = ((1..5000).step_by(7), (100..900_000).step_by(1013));
        let mut merged = of(left.clone());
        merged.merge(&of(right.clone()));
        assert_eq!(merged, of(left.chain(right)));
    }

    #[test]
    fn merging_with_nothing_changes_nothing() {
        let mut latency = of([4, 5]);
        latency.merge(&Latency::default());
        assert_eq!(latency, of([4, 5]));
        assert_eq!(Latency::merged([&Latency::default(), &of([4, 5])]), of([4, 5]));
    }
}
