//! A finished distribution of latencies: the non-empty histogram cells in order, and the exact count, sum, minimum and
//! maximum.
//!
//! A quarter of a second of load fills only a few hundred of the 27 000 cells of a [`Recorder`](super::Recorder). This
//! form is therefore small enough to be stored for every interval of a session. The form can also be merged quickly.

use super::totals::{Cell, Totals, add_neighbours, longest, merge_cells, place};

/// The percentiles that redyno records, shows on the screen and exports, with their names.
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
    /// The percentile's name on screen, `p99.9`.
    pub name: &'static str,
    /// The share of samples at or below the percentile, 0 to 1.
    pub quantile: f64,
}

/// The number of samples that must be above a percentile, so that the percentile is meaningful.
pub(super) const ENOUGH_ABOVE: f64 = 10.0;

/// A distribution of latencies in nanoseconds. By default, the distribution is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    /// The non-empty cells of the layout of a [`Recorder`](super::Recorder), ascending.
    cells: Vec<Cell>,
    totals: Totals,
}

impl Latency {
    /// Builds a distribution from ascending pairs of (value in ns, count), and from the exact figures.
    pub(super) fn from_parts(values: impl IntoIterator<Item = (u64, u64)>, totals: Totals) -> Self {
        let mut cells = values.into_iter().map(|(ns, n)| Cell::new(place(ns), n)).collect();
        add_neighbours(&mut cells);
        cells.shrink_to_fit();
        Self { cells, totals }
    }

    /// Returns the exact figures.
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns how many latencies were counted, including latencies over range.
    pub fn count(&self) -> u64 {
        self.totals.count
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.totals.count == 0
    }

    /// Returns the exact shortest latency, or 0 if the distribution is empty.
    pub fn min_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.totals.min_ns }
    }

    /// Returns the longest latency, or 0 if the distribution is empty. The value is exact even if it is over
    /// range.
    pub fn max_ns(&self) -> u64 {
        self.totals.max_ns
    }

    /// Returns the exact arithmetic mean, or 0 if the distribution is empty.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.totals.sum_ns as f64 / self.totals.count as f64 }
    }

    /// Returns the exact sum of all latencies.
    pub fn sum_ns(&self) -> u128 {
        self.totals.sum_ns
    }

    /// Returns how many latencies were longer than [`HIGHEST_NS`](super::HIGHEST_NS).
    pub fn over_range(&self) -> u64 {
        self.totals.over_range
    }

    /// Returns the non-empty cells as ascending pairs of (highest value of the cell in ns, count). Values over range
    /// are in no cell.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + Clone {
        self.cells.iter().map(|cell| (longest(cell.place()), cell.count()))
    }

    /// Returns the percentile for the share `quantile` (0 to 1) by the definition of HdrHistogram. The percentile is
    /// the smallest recorded value with at least this share of all samples at or below it. The result is never above
    /// the true maximum, and is 0 for an empty distribution.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let Totals { count, min_ns, max_ns, .. } = self.totals;
        let rank = ((quantile * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        for cell in &self.cells {
            seen += cell.count();
            if seen >= rank {
                return longest(cell.place()).clamp(min_ns, max_ns);
            }
        }
        max_ns
    }

    /// Returns [`value_at_quantile`](Self::value_at_quantile) for a percentile in percent (0 to 100).
    pub fn value_at_percent(&self, percent: f64) -> u64 {
        self.value_at_quantile(quantile_of_percent(percent))
    }

    /// Returns how many latencies are at or above `ns`, including latencies over range.
    pub fn count_from(&self, ns: u64) -> u64 {
        let below = self.cells().take_while(|cell| cell.0 < ns);
        below.fold(self.count(), |rest, cell| rest.saturating_sub(cell.1))
    }

    /// Returns [`value_at_quantile`](Self::value_at_quantile) if at least ten samples are above this value. Otherwise
    /// returns `None`. For example, the p99.9 of 100 samples would be their maximum.
    pub fn percentile(&self, quantile: f64) -> Option<u64> {
        self.is_supported(quantile).then(|| self.value_at_quantile(quantile))
    }

    /// Returns whether at least ten samples lie above `quantile`.
    pub(super) fn is_supported(&self, quantile: f64) -> bool {
        // In binary, 1 - 0.9999 is not exactly 0.0001. Even so, exactly 10 samples above must be enough.
        self.count() as f64 * (1.0 - quantile) > ENOUGH_ABOVE - 1e-6
    }

    /// Adds all latencies in `other`. The merge is exact, because all distributions have the same layout of cells.
    pub fn merge(&mut self, other: &Self) {
        merge_cells(&mut self.cells, &other.cells);
        self.totals.add(&other.totals);
    }

    /// Merges many distributions into one.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.merge(part);
        }
        all
    }
}

/// Returns a percentile in percent as a share. The function shifts the decimal point in the text, because a division
/// would be inexact. In binary, 99.9 / 100 is slightly more than 0.999, and would select the next sample.
pub fn quantile_of_percent(percent: f64) -> f64 {
    format!("{percent}e-2").parse().unwrap_or(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn a_percentile_in_percent_has_the_rank_of_its_share() {
        let latency = latency_of(1..=1000);
        let percents = [50.0, 99.0, 99.9, 99.99, 100.0];
        assert_eq!(percents.map(|percent| latency.value_at_percent(percent)), [500, 990, 999, 1000, 1000]);
    }

    #[test]
    fn an_empty_distribution_has_no_percentile() {
        let empty = Latency::default();
        assert_eq!((empty.percentile(0.5), empty.value_at_quantile(0.5), empty.mean_ns()), (None, 0, 0.0));
    }

    #[test]
    fn a_percentile_needs_ten_samples_above_it() {
        assert_eq!(latency_of(0..999).percentile(0.99), None);
        assert!(latency_of(0..1000).percentile(0.99).is_some());
        assert!(latency_of((0..100_000).map(|_| 5)).percentile(0.9999).is_some());
    }

    #[test]
    fn quantiles_agree_with_a_sorted_list() {
        let latency = latency_of(1..=1000);
        for (quantile, value) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1000)] {
            assert_eq!(latency.value_at_quantile(quantile), value);
        }
    }

    #[test]
    fn merging_equals_recording_together() {
        let (left, right) = ((1..5000).step_by(7), (100..900_000).step_by(1013));
        let mut merged = latency_of(left.clone());
        merged.merge(&latency_of(right.clone()));
        assert_eq!(merged, latency_of(left.chain(right)));
    }

    #[test]
    fn merging_in_any_order_equals_recording_together() {
        let parts = [vec![5], vec![1, 9], vec![5, 9, 2], vec![100, 1], vec![3, 5, 200], vec![0], vec![7, 8]];
        for first in 0..parts.len() {
            let order = parts.iter().cycle().skip(first).take(parts.len());
            let mut merged = Latency::default();
            order.clone().for_each(|part| merged.merge(&latency_of(part.iter().copied())));
            assert_eq!(merged, latency_of(order.flatten().copied()));
        }
    }

    #[test]
    fn merging_with_nothing_changes_nothing() {
        let mut latency = latency_of([4, 5]);
        latency.merge(&Latency::default());
        assert_eq!(latency, latency_of([4, 5]));
        assert_eq!(Latency::merged([&Latency::default(), &latency_of([4, 5])]), latency_of([4, 5]));
    }
}
