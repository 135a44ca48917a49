//! A distribution of latencies in little memory. redyno can store such a distribution for every 250 ms of a long
//! session.
//!
//! ```text
//! Latency ──of──► Compact ──add──► Blend ──take──► Latency
//!   8 bytes a cell  2 to 4 a bucket    dense            32 buckets an octave
//! ```
//! The counts, the sum, the minimum and the maximum are exact. Each octave (a factor of two) has 32 steps. A latency is
//! reported as the upper end of its step. The reported latency is therefore never too short, and at most 3.2 % too
//! long.

use super::{
    Latency,
    totals::{Cell, Totals, add_neighbours, merge_cells},
};

const FRACTION_BITS: u32 = 5;
/// The number of steps in an octave.
const STEPS: u64 = 1 << FRACTION_BITS;
/// The number of buckets, enough for all latencies below 2^37 ns. Every cell of a [`Recorder`](super::Recorder) is
/// below this limit.
const BUCKETS: usize = 33 * STEPS as usize;

fn bucket(ns: u64) -> u64 {
    if ns < STEPS {
        return ns;
    }
    let shift = ns.ilog2() - FRACTION_BITS;
    ((u64::from(shift) + 1) * STEPS + ((ns >> shift) & (STEPS - 1))).min(BUCKETS as u64 - 1)
}

/// Returns the longest latency in `bucket`, in ns.
fn upper(bucket: u64) -> u64 {
    if bucket < STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    ((STEPS + bucket % STEPS + 1) << shift) - 1
}

/// A distribution of latencies in coarser steps than [`Latency`]. By default, the distribution is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compact {
    /// The non-empty buckets, ascending. Each bucket consists of two numbers in LEB128 (seven bits per byte): the
    /// distance from the previous bucket, and the count.
    packed: Box<[u8]>,
    totals: Totals,
}

impl Compact {
    /// Converts `latency` to coarser steps.
    pub fn of(latency: &Latency) -> Self {
        let mut buckets = latency.cells().map(|(ns, n)| Cell::new(bucket(ns) as usize, n)).collect();
        add_neighbours(&mut buckets);
        Self { packed: pack(&buckets), totals: *latency.totals() }
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns how many latencies were counted, including latencies over range.
    pub fn count(&self) -> u64 {
        self.totals.count
    }

    /// Adds all latencies in `other`.
    pub fn merge(&mut self, other: &Self) {
        let mut buckets: Vec<_> = self.buckets().collect();
        merge_cells(&mut buckets, &other.buckets().collect::<Vec<_>>());
        self.packed = pack(&buckets);
        self.totals.add(&other.totals);
    }

    fn buckets(&self) -> impl Iterator<Item = Cell> {
        let (mut bytes, mut bucket) = (&*self.packed, 0);
        std::iter::from_fn(move || {
            bucket += unpack_number(&mut bytes)?;
            Some(Cell::new(bucket as usize, unpack_number(&mut bytes)?))
        })
    }

    /// Adds each latency to the count of one of `rows`. `ends_ns` contains the upper ends of the rows, ascending. A
    /// latency belongs to the first row with an upper end at or above the latency. If there is no such row, the latency
    /// belongs to the last row.
    ///
    /// If a row ends within a step, all latencies of this step count as the step's upper end.
    pub fn add_to_rows(&self, ends_ns: &[u64], rows: &mut [u64]) {
        let Some(last) = rows.len().checked_sub(1) else { return };
        let mut row = 0;
        for cell in self.buckets() {
            let ns = upper(cell.place() as u64).min(self.totals.max_ns);
            while row < last && ends_ns.get(row).is_some_and(|end| *end < ns) {
                row += 1;
            }
            rows[row] += cell.count();
        }
        rows[last] += self.totals.over_range;
    }
}

/// Converts `latency` to the coarser steps of a [`Compact`].
pub fn coarser(latency: &Latency) -> Latency {
    let cells = latency.cells().map(|(ns, n)| (upper(bucket(ns)), n));
    Latency::from_parts(cells, *latency.totals())
}

/// Encodes ascending buckets with their counts as bytes.
fn pack(buckets: &[Cell]) -> Box<[u8]> {
    let (mut bytes, mut before) = (Vec::new(), 0);
    for cell in buckets {
        pack_number((cell.place() - before) as u64, &mut bytes);
        pack_number(cell.count(), &mut bytes);
        before = cell.place();
    }
    bytes.into()
}

/// Appends a number in groups of seven bits, with the lowest group first.
#[inline]
pub(crate) fn pack_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Removes a [packed](pack_number) number from the front of `bytes`. Returns `None` at the end.
#[inline]
pub(crate) fn unpack_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
    }
}

/// Merges many [`Compact`] distributions into one [`Latency`], without an allocation per distribution.
pub struct Blend {
    dense: Box<[u64]>,
    totals: Totals,
}

impl Default for Blend {
    fn default() -> Self {
        Self { dense: vec![0; BUCKETS].into(), totals: Totals::default() }
    }
}

impl Blend {
    /// Adds a distribution to the sum.
    pub fn add(&mut self, part: &Compact) {
        part.buckets().for_each(|cell| self.dense[cell.place()] += cell.count());
        self.totals.add(&part.totals);
    }

    /// Returns all distributions that were added since the last call, as one distribution.
    pub fn take(&mut self) -> Latency {
        let counts = self.dense.iter_mut().zip(0..).map(|(n, bucket)| (bucket, std::mem::take(n)));
        let cells = counts.filter(|(_, n)| *n > 0).map(|(bucket, n)| (upper(bucket), n));
        Latency::from_parts(cells, std::mem::take(&mut self.totals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{HIGHEST_NS, fixture::latency_of};

    #[test]
    fn every_latency_comes_back_at_most_three_percent_too_long() {
        for ns in [0, 1, 31, 32, 63, 64, 127, 128, 300, 99_999, 1_234_567, HIGHEST_NS] {
            let back = upper(bucket(ns));
            assert!(back >= ns && back as f64 <= ns as f64 * 1.032, "{ns} came back as {back}");
        }
    }

    #[test]
    fn blending_keeps_the_exact_figures() {
        let (a, b) = (
            latency_of((1..5000).step_by(7)),
            latency_of((100..900_000).step_by(1013).chain([HIGHEST_NS * 2])),
        );
        let mut blend = Blend::default();
        blend.add(&Compact::of(&a));
        blend.add(&Compact::of(&b));
        let (both, exact) = (blend.take(), Latency::merged([&a, &b]));
        let figures = |l: &Latency| (l.count(), l.sum_ns(), l.min_ns(), l.max_ns(), l.over_range());
        assert_eq!(figures(&both), figures(&exact));
        for quantile in [0.1, 0.5, 0.9] {
            let (coarse, fine) =
                (both.value_at_quantile(quantile) as f64, exact.value_at_quantile(quantile) as f64);
            assert!(coarse >= fine * 0.999 && coarse <= fine * 1.033, "{quantile}: {coarse} for {fine}");
        }
        assert!(blend.take().is_empty(), "the next begins empty");
    }

    #[test]
    fn merging_and_blending_give_the_same_distribution() {
        let (a, b) = (
            Compact::of(&latency_of((1..5000).step_by(7))),
            Compact::of(&latency_of((100..900_000).step_by(1013))),
        );
        let mut blend = Blend::default();
        blend.add(&a);
        blend.add(&b);
        let mut merged = a.clone();
        merged.merge(&b);
        let mut again = Blend::default();
        again.add(&merged);
        assert_eq!(again.take(), blend.take());
        blend.add(&Compact::of(&latency_of([7, 99_999])));
        assert_eq!(coarser(&latency_of([7, 99_999])), blend.take());
    }

    #[test]
    fn every_latency_is_in_one_row() {
        let compact = Compact::of(&latency_of([5_000, 50_000, 60_000, 5_000_000, HIGHEST_NS * 2]));
        let mut rows = [0; 3];
        compact.add_to_rows(&[10_000, 100_000, 1_000_000], &mut rows);
        assert_eq!(rows, [1, 2, 2]);
    }
}
