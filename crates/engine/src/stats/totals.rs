//! The exact figures of a distribution, the layout of its histogram cells, and sums of cells.

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

/// Below this value in ns, each cell is 1 ns wide.
const FINE: u64 = 2048;
/// The number of cells in each octave above [`FINE`].
const HALF: usize = FINE as usize / 2;

/// Returns the index of the cell for `ns`, from the octave and the eleven leading bits of `ns`.
pub(super) const fn place(ns: u64) -> usize {
    let octave = (ns | (FINE - 1)).ilog2() - (FINE.ilog2() - 1);
    octave as usize * HALF + (ns >> octave) as usize
}

/// Returns the longest latency of a cell.
pub(super) fn longest(place: usize) -> u64 {
    let octave = (place / HALF).saturating_sub(1);
    (((place - octave * HALF + 1) as u64) << octave) - 1
}

/// A non-empty cell of a histogram in eight bytes. A session keeps millions of cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cell(u64);

impl Cell {
    /// The largest count. No session reaches this number. A larger sum is this number.
    pub(super) const MOST: u64 = (1 << 48) - 1;

    /// Creates the cell at `place` with a count. A layout has at most 2^16 cells.
    pub(super) const fn new(place: usize, count: u64) -> Self {
        let count = if count < Self::MOST { count } else { Self::MOST };
        Self((place as u64) << 48 | count)
    }

    /// Returns the index of the cell in its layout.
    pub(super) const fn place(self) -> usize {
        (self.0 >> 48) as usize
    }

    /// Returns how many values are in the cell.
    pub(super) const fn count(self) -> u64 {
        self.0 & Self::MOST
    }

    fn add(&mut self, other: Self) {
        *self = Self::new(self.place(), self.count() + other.count());
    }
}

/// Replaces neighbours at the same place by one cell with the sum of their counts.
pub(super) fn add_neighbours(cells: &mut Vec<Cell>) {
    cells.dedup_by(|later, kept| {
        let is_same = later.place() == kept.place();
        if is_same {
            kept.add(*later);
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
pub(super) fn merge_cells(into: &mut Vec<Cell>, from: &[Cell]) {
    if into.is_empty() {
        return into.extend_from_slice(from);
    }
    let cells = into.as_mut_slice();
    let (mut old, mut missing) = (cells.len(), 0);
    for &cell in from.iter().rev() {
        old = up_to(cells, old, cell.place());
        if old > 0 && cells[old - 1].place() == cell.place() {
            old -= 1;
            cells[old].add(cell);
        } else {
            missing += 1;
        }
    }
    old = into.len();
    // A session keeps hundreds of long lists that grow slowly. If their space doubled, a large part would be unused.
    if old >= LONG && into.capacity() < old + missing {
        into.reserve_exact(missing + old / 8);
    }
    into.resize(old + missing, Cell::default());
    let cells = into.as_mut_slice();
    // From the end, so that no cell is overwritten before it is moved.
    for &added in from.iter().rev() {
        if missing == 0 {
            return;
        }
        let kept = up_to(cells, old, added.place());
        if kept < old {
            cells.copy_within(kept..old, kept + missing);
            old = kept;
        }
        if old == 0 || cells[old - 1].place() != added.place() {
            missing -= 1;
            cells[old + missing] = added;
        }
    }
}

/// Returns how many of the first `end` cells are at most at this place. The function searches from the end, so it finds
/// a place near the end quickly. If two merged lists have mostly the same places, the place is at the end.
fn up_to(cells: &[Cell], end: usize, place: usize) -> usize {
    let (mut low, mut high, mut step) = (0, end, 1);
    while step <= high {
        if cells[high - step].place() <= place {
            low = high - step + 1;
            break;
        }
        high -= step;
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if cells[middle].place() <= place {
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
        let mut cells = vec![Cell::new(5, Cell::MOST - 1)];
        merge_cells(&mut cells, &[Cell::new(5, 2)]);
        assert_eq!(cells, [Cell::new(5, u64::MAX)]);
        assert_eq!((cells[0].place(), cells[0].count()), (5, Cell::MOST));
    }

    #[test]
    fn merged_cells_have_the_sum_of_both_counts() {
        // Each list has the multiples of a step in a range.
        let cells = |step: usize, from: usize, to: usize| -> Vec<_> {
            (from..to).map(|n| Cell::new(n * step, n as u64 + 1)).collect()
        };
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
                let all = into.iter().chain(from);
                all.for_each(|cell| *sums.entry(cell.place()).or_insert(0) += cell.count());
                let mut merged = into.clone();
                merge_cells(&mut merged, from);
                let sums: Vec<_> = sums.into_iter().map(|(place, count)| Cell::new(place, count)).collect();
                assert_eq!(merged, sums, "{into:?} and {from:?}");
            }
        }
    }
}
