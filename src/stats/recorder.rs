//! The dense histogram that a measuring thread writes into.
//!
//! It never allocates after its creation. It does not know what a percentile is: reading is [`Latency`]'s job.

use hdrhistogram::Histogram;

use super::Latency;

/// The highest latency that is kept in the cells: 60 s. What is longer is over range.
pub const HIGHEST_NS: u64 = 60_000_000_000;

pub(super) const SIGNIFICANT_DIGITS: u8 = 3;

/// Counts latencies: 1 ns to 60 s with three significant digits, 216 KiB of cells.
///
/// Minimum, maximum and sum are kept exactly beside the cells, and values above the range are counted on their
/// own, so nothing is clamped.
#[derive(Debug, Clone)]
pub struct Recorder {
    cells: Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    over_range: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        Self { cells: empty_cells(), sum_ns: 0, min_ns: u64::MAX, max_ns: 0, over_range: 0 }
    }

    /// Counts one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Counts `n` latencies of `ns` nanoseconds each.
    #[inline]
    pub fn record_n(&mut self, ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        // The last cells reach beyond it: they double in width at powers of two.
        if ns > HIGHEST_NS || self.cells.record_n(ns, n).is_err() {
            self.over_range += n;
        }
        self.sum_ns += u128::from(ns) * u128::from(n);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.cells.add(&other.cells).expect("all recorders have the same range");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.over_range += other.over_range;
    }

    /// Whether nothing was counted since the last [`reset`](Self::reset).
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.over_range == 0
    }

    /// Forgets everything, and keeps the memory.
    pub fn reset(&mut self) {
        if self.is_empty() {
            return;
        }
        self.cells.reset();
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.over_range = 0;
    }

    /// What was counted, in its compact form.
    pub fn latency(&self) -> Latency {
        if self.is_empty() {
            return Latency::default();
        }
        let cells = self.cells.iter_recorded().map(|c| (c.value_iterated_to(), c.count_at_value())).collect();
        Latency::from_parts(cells, self.over_range, self.sum_ns, self.min_ns, self.max_ns)
    }
}

impl Latency {
    /// That of these few latencies, in nanoseconds.
    pub fn of(latencies_ns: &[u64]) -> Self {
        if latencies_ns.is_empty() {
            return Self::default();
        }
        let mut recorder = Recorder::new();
        latencies_ns.iter().for_each(|ns| recorder.record(*ns));
        recorder.latency()
    }
}

/// The layout of cells that every distribution in redyno has.
pub(super) fn empty_cells() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .expect("1 ns to 60 s at 3 digits is a valid range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_values_come_back_within_three_digits() {
        for ns in [1, 137, 3_000, 999_999, 5_000_000_000] {
            let mut recorder = Recorder::new();
            recorder.record(ns);
            let back = recorder.latency().value_at_quantile(0.5);
            assert!(back.abs_diff(ns) as f64 <= ns as f64 * 0.001, "{ns} came back as {back}");
        }
    }

    #[test]
    fn a_value_above_the_range_is_counted_with_its_true_maximum() {
        let mut recorder = Recorder::new();
        recorder.record(70_000_000_000);
        let latency = recorder.latency();
        assert_eq!((latency.count(), latency.over_range(), latency.max_ns()), (1, 1, 70_000_000_000));
        assert_eq!(latency.value_at_quantile(0.99), 70_000_000_000);
    }

    #[test]
    fn over_range_begins_right_above_a_minute() {
        let mut recorder = Recorder::new();
        for ns in [HIGHEST_NS, HIGHEST_NS + 1, 65_000_000_000] {
            recorder.record(ns);
        }
        let latency = recorder.latency();
        assert_eq!((latency.count(), latency.over_range(), latency.max_ns()), (3, 2, 65_000_000_000));
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        let (mut at_once, mut one_by_one) = (Recorder::new(), Recorder::new());
        for ns in [7, 70_000_000_000] {
            at_once.record_n(ns, 3);
            (0..3).for_each(|_| one_by_one.record(ns));
        }
        at_once.record_n(1, 0);
        assert_eq!(at_once.latency(), one_by_one.latency());
    }

    #[test]
    fn a_reset_recorder_is_as_new() {
        let mut recorder = Recorder::new();
        recorder.record(70_000_000_000);
        recorder.record(5);
        recorder.reset();
        assert!(recorder.is_empty());
        assert_eq!(recorder.latency(), Latency::default());
    }

    #[test]
    fn merging_recorders_loses_nothing() {
        let (mut one, mut two) = (Recorder::new(), Recorder::new());
        one.record(10);
        two.record(70_000_000_000);
        one.merge(&two);
        let merged = one.latency();
        assert_eq!((merged.count(), merged.min_ns(), merged.over_range()), (2, 10, 1));
    }
}
