//! The histogram of a measuring thread, which counts latencies.
//!
//! The histogram allocates memory only when it is created. A [`Latency`] computes percentiles.

use hdrhistogram::Histogram;

use super::{
    Latency,
    totals::{Totals, longest, place},
};

/// The longest latency that has a cell: 60 s. Longer latencies are counted as over range.
pub const HIGHEST_NS: u64 = 60_000_000_000;

pub(super) const SIGNIFICANT_DIGITS: u8 = 3;

const CELLS: usize = place(HIGHEST_NS) + 1;
/// Empty cells. Most cells between the shortest and the longest latency are empty. Whole blocks of cells are compared
/// with this block.
static EMPTY: [u64; 64] = [0; 64];

/// Counts latencies from 1 ns to 60 s with three significant digits, in the cells of HdrHistogram.
///
/// The minimum, the maximum and the sum are exact. Values above the range are counted separately. The cells
/// take 213 KiB of address space, but pages without any count use no memory. The cells of an octave take 8
/// KiB.
#[derive(Debug, Clone)]
pub struct Recorder {
    cells: Box<[u64]>,
    totals: Totals,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Creates an empty recorder.
    pub fn new() -> Self {
        // For this size, the system provides zeroed pages only when they are written.
        Self { cells: vec![0; CELLS].into(), totals: Totals::default() }
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
        // The last cell also contains values beyond the range.
        match self.cells.get_mut(place(ns)) {
            Some(cell) if ns <= HIGHEST_NS => *cell += n,
            _ => self.totals.over_range += n,
        }
        self.totals.record_n(ns, n);
    }

    /// Returns the range of cells from the shortest latency to the longest.
    fn touched(&self) -> std::ops::Range<usize> {
        let Totals { count, over_range, min_ns, max_ns, .. } = self.totals;
        if count == over_range { 0..0 } else { place(min_ns)..place(max_ns.min(HIGHEST_NS)) + 1 }
    }

    /// Adds all latencies in `other`.
    pub fn merge(&mut self, other: &Self) {
        let touched = other.touched();
        for (mine, theirs) in self.cells[touched.clone()].iter_mut().zip(&other.cells[touched]) {
            *mine += theirs;
        }
        self.totals.add(&other.totals);
    }

    /// Returns whether nothing was counted since the last [`reset`](Self::reset).
    pub fn is_empty(&self) -> bool {
        self.totals.count == 0
    }

    /// Clears all counts, and keeps the memory.
    pub fn reset(&mut self) {
        let touched = self.touched();
        for block in self.cells[touched].chunks_mut(EMPTY.len()) {
            block.copy_from_slice(&EMPTY[..block.len()]);
        }
        self.totals = Totals::default();
    }

    /// Returns the counts as a compact distribution.
    pub fn latency(&self) -> Latency {
        let (touched, mut cells) = (self.touched(), Vec::new());
        let starts = touched.clone().step_by(EMPTY.len());
        for (start, block) in starts.zip(self.cells[touched].chunks(EMPTY.len())) {
            if block != &EMPTY[..block.len()] {
                let counts = (start..).zip(block).filter(|(_, n)| **n > 0);
                cells.extend(counts.map(|(place, n)| (longest(place), *n)));
            }
        }
        Latency::from_parts(cells, self.totals)
    }
}

impl Latency {
    /// Creates a distribution of these latencies, in nanoseconds.
    pub fn of(latencies_ns: &[u64]) -> Self {
        let mut recorder = Recorder::new();
        latencies_ns.iter().for_each(|ns| recorder.record(*ns));
        recorder.latency()
    }
}

/// Creates an empty histogram with redyno's layout of cells.
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

    /// Merges, files and percentiles all use these cells.
    #[test]
    fn cells_are_those_of_an_hdr_histogram() {
        let octaves =
            (0..36).flat_map(|octave| [(1 << octave) - 1, 1 << octave, (1 << octave) + (1 << octave) / 3]);
        let spread = (0..20_000_u64).map(|n| n * n * n * 7 % HIGHEST_NS);
        let all: Vec<u64> = octaves.chain(spread).chain([0, 2047, 2048, 2049, HIGHEST_NS]).collect();
        let (mut recorder, mut known) = (Recorder::new(), empty_cells());
        for ns in all {
            recorder.record(ns);
            known.record(ns).unwrap();
        }
        let known: Vec<_> =
            known.iter_recorded().map(|c| (c.value_iterated_to(), c.count_at_value())).collect();
        assert_eq!(recorder.latency().cells().collect::<Vec<_>>(), known);
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
    fn values_above_a_minute_are_over_range() {
        let mut recorder = Recorder::new();
        for ns in [HIGHEST_NS, HIGHEST_NS + 1, 65_000_000_000] {
            recorder.record(ns);
        }
        let latency = recorder.latency();
        assert_eq!((latency.count(), latency.over_range(), latency.max_ns()), (3, 2, 65_000_000_000));
    }

    #[test]
    fn counting_many_at_once_equals_counting_one_by_one() {
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
