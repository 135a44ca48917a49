//! The exact figures of a distribution, and sums of histogram cells.

/// The exact figures of latencies in nanoseconds. By default, there are no latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Totals {
    /// The number of latencies, including latencies over range.
    pub(super) count: u64,
    /// The number of latencies above [`HIGHEST_NS`](super::HIGHEST_NS).
    pub(super) over_range: u64,
    /// The sum of all latencies.
    pub(super) sum_ns: u128,
    /// The shortest latency; `u64::MAX` if there is none.
    pub(super) min_ns: u64,
    /// The longest latency.
    pub(super) max_ns: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { count: 0, over_range: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Totals {
    /// Counts `n` latencies of `ns` each. The caller counts latencies over range.
    #[inline]
    pub(super) fn record_n(&mut self, ns: u64, n: u64) {
        self.count += n;
        self.sum_ns += u128::from(ns) * u128::from(n);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all latencies in `other`.
    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.over_range += other.over_range;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Replaces neighbours with the same value by one cell with the sum of their counts. The largest sum is `u64::MAX`.
pub(super) fn add_neighbours(cells: &mut Vec<(u64, u64)>) {
    cells.dedup_by(|later, kept| {
        let is_same = later.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(later.1);
        }
        is_same
    });
}

/// Adds the cells of `from` to `into`. Both lists are in ascending order. The function allocates no new list. A session
/// adds an interval to its total four times a second, and so many allocations would fragment the heap.
pub(super) fn merge_cells(into: &mut Vec<(u64, u64)>, from: &[(u64, u64)]) {
    let (mut old, mut new) = (into.len(), from.len());
    into.resize(old + new, (0, 0));
    // From the end, so that no cell is overwritten before it is moved.
    let mut end = into.len();
    while new > 0 {
        let added = from[new - 1];
        let last = old.checked_sub(1).map(|last| into[last]).filter(|cell| cell.0 >= added.0);
        let is_same = last.is_some_and(|cell| cell.0 == added.0);
        end -= 1;
        into[end] = match last {
            Some(cell) if is_same => (cell.0, cell.1 + added.1),
            Some(cell) => cell,
            None => added,
        };
        old -= usize::from(last.is_some());
        new -= usize::from(last.is_none() || is_same);
    }
    into.drain(old..end);
}
