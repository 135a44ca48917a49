//! Cuts the values of a workload out of pools of bytes. The lower bits of a random number decide the position of a
//! value in its pool. The upper bits decide the value's size.

use std::sync::Arc;

use super::{Pool, SPREAD};
use crate::workload::{Content, Size, ValueKind, Workload, chooser::share, value_kind::JSON};

/// The number of bytes that are copied at a time for a small value.
const BLOCK: usize = 64;

/// The values of a workload, by the numbers of their kinds. Values are cut out of pools of bytes, which all
/// copies share.
#[derive(Debug, Clone)]
pub struct Values {
    kinds: Arc<[Cutter]>,
    seed: u64,
}

/// Cuts the values of one kind out of a pool.
#[derive(Debug)]
struct Cutter {
    sizes: Sizes,
    pool: Pool,
    /// The text before and after the bytes from the pool.
    frame: Option<[&'static [u8]; 2]>,
}

/// The sizes of values without the text around the values.
#[derive(Debug)]
enum Sizes {
    Fixed(u32),
    /// The lowest size, and the number of consecutive sizes.
    Range(u32, u64),
    /// The sizes, with cumulative sums of their weights.
    Weights(Vec<(u64, u32)>),
}

/// A value: the position and the size of its bytes in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueCut {
    /// The number of the value's kind.
    pub(in crate::workload) kind: u16,
    offset: u32,
    size: u32,
}

impl ValueCut {
    /// Creates a value that is not cut out of a pool.
    #[inline]
    pub(in crate::workload) fn whole(kind: u16, length: usize) -> Self {
        Self { kind, offset: 0, size: length as u32 }
    }

    /// Returns the size in bytes of the value, without the text around the value.
    #[inline]
    pub(in crate::workload) fn size(self) -> usize {
        self.size as usize
    }
}

impl Values {
    /// Creates the values of a workload. A value has `value_size` bytes, unless its kind defines the size. The same
    /// seed gives the same values.
    pub fn new(workload: &Workload, value_size: u32, seed: u64) -> Self {
        Self::made(workload, value_size, seed, &[])
    }

    /// Creates the values for another workload or value size. Pools that stay the same are reused.
    #[must_use]
    pub fn again(&self, workload: &Workload, value_size: u32) -> Self {
        Self::made(workload, value_size, self.seed, &self.kinds)
    }

    fn made(workload: &Workload, value_size: u32, seed: u64, known: &[Cutter]) -> Self {
        let used = &workload.compiled().values;
        let kinds: Vec<_> = workload.value_kinds().collect();
        let largest_of = |content| {
            let alike = used.iter().map(|kind| &kinds[usize::from(*kind)]);
            let alike = alike.filter(|kind| kind.content.pool() == content);
            alike.map(|kind| *kind.size.bounds(value_size).end() as usize).max().unwrap_or(0)
        };
        let mut cutters = Vec::<Cutter>::new();
        for (number, kind) in kinds.iter().enumerate() {
            let pool = if used.contains(&(number as u16)) {
                let (content, largest) = (kind.content.pool(), largest_of(kind.content.pool()));
                let mut known = known.iter().chain(&cutters).map(|cutter| &cutter.pool);
                let is_same = |pool: &&Pool| pool.content == content && pool.bytes.len() == largest + SPREAD;
                known.find(is_same).cloned().unwrap_or_else(|| Pool::new(content, largest, seed))
            } else {
                Pool::none()
            };
            cutters.push(Cutter::new(kind, value_size, pool));
        }
        Self { kinds: cutters.into(), seed }
    }

    /// Returns whether all values are cut out of the pools of `other`.
    #[cfg(test)]
    pub fn shares_pools(&self, other: &Self) -> bool {
        let pools =
            |values: &Self| values.kinds.iter().map(|kind| Arc::as_ptr(&kind.pool.bytes)).collect::<Vec<_>>();
        pools(self) == pools(other)
    }

    /// Returns the size of the values of a kind, or `None` if the sizes differ.
    pub(in crate::workload) fn fixed_size(&self, kind: u16) -> Option<usize> {
        let cutter = &self.kinds[usize::from(kind)];
        match cutter.sizes {
            Sizes::Fixed(size) => Some(size as usize + cutter.around()),
            _ => None,
        }
    }

    /// Returns the value of a kind for the random number `draw`, and the value's total size.
    #[inline]
    pub(in crate::workload) fn draw(&self, kind: u16, draw: u64) -> (ValueCut, usize) {
        let cutter = &self.kinds[usize::from(kind)];
        let size = match &cutter.sizes {
            Sizes::Fixed(size) => *size,
            Sizes::Range(from, count) => from + share(draw, *count) as u32,
            Sizes::Weights(upto) => weighted(upto, draw),
        };
        let cut = ValueCut { kind, offset: cutter.pool.offset(draw) as u32, size };
        (cut, cut.size() + cutter.around())
    }

    /// Appends a value that has at most `at_most` bytes and no text around it. Returns whether the value was appended.
    #[inline(always)]
    pub(in crate::workload) fn append_bare(&self, cut: ValueCut, at_most: usize, out: &mut Vec<u8>) -> bool {
        let Cutter { pool, frame, .. } = &self.kinds[usize::from(cut.kind)];
        let (from, size) = (cut.offset as usize, cut.size());
        let is_bare = frame.is_none() && size <= at_most;
        if is_bare {
            // A copy of a fixed size takes a few vector moves, but a copy of the exact size would take a function call.
            match pool.bytes[from..].first_chunk::<BLOCK>() {
                Some(block) if size <= BLOCK => {
                    let start = out.len();
                    out.extend_from_slice(block);
                    out.truncate(start + size);
                }
                _ => out.extend_from_slice(&pool.bytes[from..from + size]),
            }
        }
        is_bare
    }

    /// Returns the text before and after the value, or `None` if there is no such text.
    #[inline]
    pub(in crate::workload) fn frame(&self, cut: ValueCut) -> Option<[&'static [u8]; 2]> {
        self.kinds[usize::from(cut.kind)].frame
    }

    /// Returns the bytes of the value in the pool.
    #[inline]
    pub(in crate::workload) fn bytes(&self, cut: ValueCut) -> &[u8] {
        let (from, size) = (cut.offset as usize, cut.size());
        &self.kinds[usize::from(cut.kind)].pool.bytes[from..from + size]
    }
}

fn weighted(upto: &[(u64, u32)], draw: u64) -> u32 {
    let (total, last) = upto.last().copied().unwrap_or_default();
    let drawn = share(draw, total);
    upto.get(upto.partition_point(|(sum, _)| *sum <= drawn)).map_or(last, |(_, size)| *size)
}

impl Cutter {
    fn new(kind: &ValueKind, value_size: u32, pool: Pool) -> Self {
        let frame = (kind.content == Content::Json).then_some(JSON);
        let mut cutter = Self { sizes: Sizes::Fixed(0), pool, frame };
        let around = cutter.around() as u32;
        let bounds = kind.size.bounds(value_size);
        let (from, to) = (bounds.start() - around, bounds.end() - around);
        cutter.sizes = match &kind.size {
            _ if from == to => Sizes::Fixed(from),
            Size::Weights(weights) => {
                let mut sum = 0;
                let asked = weights.iter().filter(|(_, weight)| **weight > 0).map(|(size, weight)| {
                    sum += u64::from(*weight);
                    (sum, size - around)
                });
                Sizes::Weights(asked.collect())
            }
            _ => Sizes::Range(from, u64::from(to - from) + 1),
        };
        cutter
    }

    /// Returns the number of bytes of the text around a value.
    #[inline]
    fn around(&self) -> usize {
        self.frame.map_or(0, |[before, behind]| before.len() + behind.len())
    }
}

impl Content {
    /// Returns the content of the pool for values with this content. JSON values are cut out of a pool of
    /// text.
    fn pool(self) -> Self {
        if self == Self::Json { Self::Text } else { self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use rand::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::workload::Operation;

    fn workload(kinds: &[&str]) -> Workload {
        let kinds = kinds.iter().enumerate();
        let values: BTreeMap<_, _> =
            kinds.map(|(n, kind)| (format!("v{n}"), kind.parse().unwrap())).collect();
        let operations =
            values.keys().map(|name| Operation::command(&format!("ECHO {{{name}}}"), 1)).collect();
        Workload { values, operations, ..Workload::default() }
    }

    fn whole(values: &Values, kind: u16, draw: u64) -> Vec<u8> {
        let (cut, length) = values.draw(kind, draw);
        let [before, behind] = values.frame(cut).unwrap_or_default();
        let whole = [before, values.bytes(cut), behind].concat();
        assert_eq!(whole.len(), length);
        whole
    }

    fn drawn(kind: &str, n: usize) -> Vec<Vec<u8>> {
        let values = Values::new(&workload(&[kind]), 32, 1);
        let mut random = Pcg64Mcg::seed_from_u64(3);
        (0..n).map(|_| whole(&values, 0, random.next_u64())).collect()
    }

    fn shares(values: &[Vec<u8>]) -> BTreeMap<usize, f64> {
        let mut shares = BTreeMap::new();
        for value in values {
            *shares.entry(value.len()).or_default() += 1.0 / values.len() as f64;
        }
        shares
    }

    #[test]
    fn values_have_their_size_and_differ() {
        for kind in
            ["100", "100 text", "100 json", "100 random", "100 compressible 0.9", "100..100", "100:3,64:0"]
        {
            let all = drawn(kind, 1000);
            assert!(all.iter().all(|value| value.len() == 100), "{kind}");
            let distinct = all.iter().collect::<HashSet<_>>().len();
            assert!(distinct > 900, "{kind}: {distinct} of 1000");
        }
        let printable = drawn("printable", 100);
        assert!(printable.iter().flatten().all(u8::is_ascii_graphic) && printable[0].len() == 32);
        let letters: HashSet<_> = printable[0].iter().collect();
        assert!(letters.len() > 15, "a value repeats {} letters", letters.len());
    }

    #[test]
    fn all_sizes_of_a_range_are_equally_likely() {
        let shares = shares(&drawn("64..73", 100_000));
        assert_eq!(shares.keys().copied().collect::<Vec<_>>(), (64..=73).collect::<Vec<_>>());
        assert!(shares.values().all(|share| (share - 0.1).abs() < 0.005), "{shares:?}");
    }

    #[test]
    fn sizes_are_drawn_by_their_weights() {
        let shares = shares(&drawn("64:9,4k:1,7:0", 100_000));
        assert_eq!(shares.keys().copied().collect::<Vec<_>>(), [64, 4096]);
        assert!((shares[&64] - 0.9).abs() < 0.005, "{shares:?}");
    }

    #[test]
    fn each_json_object_has_exactly_its_size() {
        let all = drawn("11..40 json", 2000);
        for value in &all {
            let json: serde_json::Value = serde_json::from_slice(value).unwrap();
            assert_eq!(json["text"].as_str().map(str::len), Some(value.len() - 11));
        }
        let sizes: HashSet<_> = all.iter().map(Vec::len).collect();
        assert_eq!(sizes, (11..=40).collect());
    }

    #[test]
    fn size_and_position_of_a_value_are_independent() {
        let values = Values::new(&workload(&["100..101"]), 32, 1);
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut halves = [[0_u32; 2]; 2];
        for _ in 0..40_000 {
            let (cut, length) = values.draw(0, random.next_u64());
            halves[length - 100][usize::from(cut.offset as usize >= SPREAD / 2)] += 1;
        }
        assert!(halves.iter().flatten().all(|n| n.abs_diff(10_000) < 400), "{halves:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_values_and_pools_are_shared() {
        let of = |seed| whole(&Values::new(&workload(&["8"]), 32, seed), 0, 5);
        assert!(of(1) == of(1) && of(1) != of(2));
        let values = Values::new(&workload(&["text", "64 json", "9 text", "9"]), 32, 1);
        let pool = |values: &Values, kind: usize| Arc::as_ptr(&values.kinds[kind].pool.bytes);
        assert!(
            std::ptr::eq(pool(&values, 0), pool(&values, 1))
                && std::ptr::eq(pool(&values, 0), pool(&values, 2))
        );
        assert_eq!(values.kinds[0].pool.bytes.len(), 64 + SPREAD);
        assert_eq!(values.kinds.last().unwrap().pool.bytes.len(), 0, "no operation sends plain values");
        let again = values.again(&workload(&["64 text", "9"]), 128);
        assert!(
            std::ptr::eq(pool(&values, 0), pool(&again, 0))
                && std::ptr::eq(pool(&values, 3), pool(&again, 1))
        );
        let larger = values.again(&workload(&["65 text"]), 32);
        assert_eq!(larger.kinds[0].pool.bytes.len(), 65 + SPREAD);
    }
}
