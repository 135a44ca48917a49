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
    /// The shortest latency. `u64::MAX` if there are no latencies.
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
    /// Counts `n` latencies of `ns` each. The caller must count latencies over range.
    #[inline]
    pub(super) fn record_n(&mut self, ns: u64, n: u64) {
        self.count += n;
        self.sum_ns += u128::from(ns) * u128::from(n);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all latencies in `other`. The largest sum is `u64::MAX`, which only a hostile recording reaches.
    pub(super) fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.over_range = self.over_range.saturating_add(other.over_range);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
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

/// A list of at least this number of cells gets space for only an eighth more cells when it grows.
const LONG: usize = 512;

/// Adds the cells of `from` to `into`. Both lists are in ascending order. The function allocates no new list. A session
/// adds an interval to its total four times a second. Allocating a list each time would fragment the heap. If `from` is
/// much shorter than `into`, the function does not read most cells of `into`. The session of a fleet, for example, adds
/// the histograms of 1000 agents to one histogram.
pub(super) fn merge_cells(into: &mut Vec<(u64, u64)>, from: &[(u64, u64)]) {
    if into.is_empty() {
        return into.extend_from_slice(from);
    }
    let cells = into.as_mut_slice();
    let (mut old, mut missing) = (cells.len(), 0);
    for &(value, count) in from.iter().rev() {
        old = up_to(cells, old, value);
        if old > 0 && cells[old - 1].0 == value {
            old -= 1;
            cells[old].1 = cells[old].1.saturating_add(count);
        } else {
            missing += 1;
        }
    }
    old = into.len();
    // A session keeps hundreds of long lists that grow slowly. If their space doubled, a large part would be unused.
    if old >= LONG && into.capacity() < old + missing {
        into.reserve_exact(missing + old / 8);
    }
    into.resize(old + missing, (0, 0));
    let cells = into.as_mut_slice();
    // From the end, so that no cell is overwritten before it is moved.
    for added in from.iter().rev() {
        if missing == 0 {
            return;
        }
        let kept = up_to(cells, old, added.0);
        if kept < old {
            cells.copy_within(kept..old, kept + missing);
            old = kept;
        }
        if old == 0 || cells[old - 1].0 != added.0 {
            missing -= 1;
            cells[old + missing] = *added;
        }
    }
}

/// Returns how many of the first `end` cells have at most this value. The function searches from the end, so it finds a
/// value near the end quickly. If two merged lists have mostly the same values, the value is at the end.
fn up_to(cells: &[(u64, u64)], end: usize, value: u64) -> usize {
    let (mut low, mut high, mut step) = (0, end, 1);
    while step <= high {
        if cells[high - step].0 <= value {
            low = high - step + 1;
            break;
        }
        high -= step;
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if cells[middle].0 <= value {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_sum_above_the_largest_number_is_the_largest_number() {
        let mut cells = vec![(5, u64::MAX - 1)];
        merge_cells(&mut cells, &[(5, 2)]);
        assert_eq!(cells, [(5, u64::MAX)]);
    }

    #[test]
    fn merged_cells_have_the_sum_of_both_counts() {
        // Each list has the multiples of a step in a range.
        let cells = |step: u64, from: u64, to: u64| (from..to).map(|n| (n * step, n + 1)).collect::<Vec<_>>();
        let lists = [
            vec![],
            cells(1, 0, 40),
            cells(3, 0, 40),
            cells(7, 2, 4),
            cells(1, 90, 140),
            cells(5, 39, 40),
            cells(2, 10, 11),
        ];
        for into in &lists {
            for from in &lists {
                let mut sums = BTreeMap::new();
                into.iter()
                    .chain(from)
                    .for_each(|(value, count)| *sums.entry(*value).or_insert(0_u64) += count);
                let mut merged = into.clone();
                merge_cells(&mut merged, from);
                assert_eq!(merged, sums.into_iter().collect::<Vec<_>>(), "{into:?} and {from:?}");
            }
        }
    }
}
