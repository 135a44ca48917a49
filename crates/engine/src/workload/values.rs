//! The values that a load writes, cut out of pools of bytes.
//!
//! ```text
//!  ValueKind (data) ── in a step ──► used by operations ── the knob's size, a seed ──► Values: one pool for each content
//!                                                                                       └─ number ─► ValueCut
//! ```
//!
//! This file checks the kinds of values of a workload, and computes the largest number of value bytes in an operation.
//!
//! For each size, the pool contains as many different values as positions at which a value can begin.

mod cutting;

pub(super) use self::cutting::ValueCut;
pub use self::cutting::Values;

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Content, ValueKind, Workload, WorkloadError, chooser::share, step::CommandStep};

impl Workload {
    /// Returns the maximum number of value bytes in an operation or in a step of the prefill, if the load's value size
    /// is `value_size`. The result is 0 if the workload sends no values.
    pub fn most_value_bytes(&self, value_size: u32) -> u64 {
        let traced = self.trace.as_ref().map_or(0, |trace| trace.largest);
        let kinds: Vec<_> = self.value_kinds().collect();
        let largest = |kind: u16| u64::from(*kinds[usize::from(kind)].size.bounds(value_size).end());
        let asked = self.active_compiled().map(|operation| operation.steps.as_slice());
        let of = |steps: &[CommandStep]| steps.iter().flat_map(CommandStep::values).map(largest).sum();
        asked.chain(self.compiled().prefill.chunks(1)).map(of).max().unwrap_or(0).max(traced)
    }

    /// Returns whether all requests are HTTP requests, which consist of a method and a path.
    pub fn is_by_http(&self) -> bool {
        let mut steps = self.operations.iter().flat_map(|operation| &operation.steps);
        !self.operations.is_empty()
            && steps.all(|step| step.split_whitespace().nth(1).is_some_and(|path| path.starts_with('/')))
    }

    /// Returns whether an operation with a weight above 0 draws a key.
    pub fn draws_keys(&self) -> bool {
        self.active_steps().flat_map(CommandStep::fragments).any(|fragment| fragment.draws().is_some())
    }

    /// Returns whether the workload sends values, and all kinds of these values define their sizes. The load's value
    /// size has no effect on such a workload.
    pub fn has_own_sizes(&self) -> bool {
        let kinds: Vec<_> = self.value_kinds().collect();
        let used = &self.compiled().values;
        self.trace.is_some()
            || !used.is_empty() && used.iter().all(|kind| !kinds[usize::from(*kind)].size.is_knobs())
    }

    /// Returns whether the workload or its prefill sends values.
    pub fn sends_values(&self) -> bool {
        !self.compiled().values.is_empty()
    }

    /// Checks all kinds of values for a load with the value size `value_size`.
    ///
    /// # Errors
    /// Fails if a kind is invalid. The error names the first invalid kind, with the reason.
    pub fn check_values(&self, value_size: u32) -> Result<(), WorkloadError> {
        self.values.iter().try_for_each(|(name, kind)| kind.check_named(name, value_size))
    }
}

impl ValueKind {
    /// Checks the kind of values called `name` for a load with the value size `value_size`.
    pub(in crate::workload) fn check_named(&self, name: &str, value_size: u32) -> Result<(), WorkloadError> {
        self.check(value_size).map_err(|cause| invalid!("the values '{name}' are invalid: {cause}"))
    }
}

/// A pool is larger than its largest value by this number of bytes. A value can begin at any of the first
/// `SPREAD` bytes of the pool.
pub(super) const SPREAD: usize = 64 * 1024;

/// The 64 possible bytes of a printable value. Each byte has six bits of entropy, and neither compression nor
/// deduplication finds repetitions.
const ALPHABET: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// The length of a section of compressible bytes, in bytes. The first bytes of a section are random. The remaining
/// bytes are all equal.
const SECTION_LENGTH: f64 = 128.0;
/// deflate compresses the equal bytes of a section to this number of bytes.
const EQUAL_BYTES_COST: f64 = 1.5;

/// The words in texts, with the most frequent words first.
const WORDS: &str = "the of and to a in is that it was for on are as with his they at be this have from or one had by \
    word but not what all were we when your can said there use an each which she do how their if will up other about \
    out many then them these so some her would make like him into time has look two more write go see number no way \
    could people my than first water been call who oil its now find long down day did get come made may part over new \
    sound take only little work know place year live me back give most very after thing our just name good sentence man \
    think say great where help through much before line right too mean old any same tell boy follow came want show also \
    around form three small set put end does another well large must big even such because turn here why ask went men \
    read need land different home us move try kind hand picture again change off play spell air away animal house point \
    page letter mother answer found study still learn should world";

/// The pool of bytes for one content. Copies share the bytes.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) content: Content,
    pub(super) bytes: Arc<[u8]>,
    /// The positions at which a value can begin. If the list is empty, a value can begin at any of the first [`SPREAD`]
    /// bytes.
    pub(super) starts: Arc<[u16]>,
}

impl Pool {
    /// Creates an empty pool for a kind of values that is not sent.
    pub(super) fn none() -> Self {
        Self { content: Content::default(), bytes: Arc::new([]), starts: Arc::new([]) }
    }

    /// Creates a pool for values of up to `largest` bytes. The same seed gives the same pool.
    pub(super) fn new(content: Content, largest: usize, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut bytes = vec![0; largest + SPREAD];
        let mut starts = Vec::new();
        match content {
            Content::Printable | Content::Base64 => {
                random.fill_bytes(&mut bytes);
                let of_content = |byte: u8| match (content, byte) {
                    (Content::Base64, b'-') => b'+',
                    (Content::Base64, b'_') => b'/',
                    _ => byte,
                };
                bytes.iter_mut().for_each(|byte| *byte = of_content(ALPHABET[usize::from(*byte % 64)]));
            }
            Content::Random => random.fill_bytes(&mut bytes),
            Content::Text | Content::Json => starts = write_text(&mut bytes, &mut random),
            Content::Alike => bytes.fill(b'x'),
            Content::Compressible(share) => write_stretches(&mut bytes, share, &mut random),
        }
        Self { content, bytes: bytes.into(), starts: starts.into() }
    }

    /// Returns the position at which the value for this random number begins. The position depends on the lower bits,
    /// because the upper bits decide the value's size.
    #[inline]
    pub(super) fn offset(&self, draw: u64) -> usize {
        let offset = draw as usize % SPREAD;
        if self.starts.is_empty() {
            offset
        } else {
            usize::from(self.starts[offset * self.starts.len() / SPREAD])
        }
    }
}

/// Fills `bytes` with random words and spaces. Returns the positions of the words that begin in the first [`SPREAD`]
/// bytes.
fn write_text(bytes: &mut [u8], random: &mut Pcg64Mcg) -> Vec<u16> {
    let words: Vec<_> = WORDS.split_whitespace().collect();
    let (mut at, mut starts) = (0, Vec::new());
    while at < bytes.len() {
        starts.extend(u16::try_from(at));
        let common = share(random.next_u64(), words.len() as u64);
        let word = words[share(random.next_u64(), common + 1) as usize].as_bytes();
        let length = word.len().min(bytes.len() - at);
        bytes[at..at + length].copy_from_slice(&word[..length]);
        bytes[at + length..].iter_mut().take(1).for_each(|byte| *byte = b' ');
        at += length + 1;
    }
    starts
}

/// Fills `bytes` with sections of random bytes followed by equal bytes. Deflate compresses the result to `share` of its
/// size.
fn write_stretches(bytes: &mut [u8], share: f64, random: &mut Pcg64Mcg) {
    let by_chance = if share < 1.0 { share * SECTION_LENGTH - EQUAL_BYTES_COST } else { SECTION_LENGTH };
    let mut owed = 0.0;
    for stretch in bytes.chunks_mut(SECTION_LENGTH as usize) {
        owed += by_chance;
        let whole = owed as usize;
        owed -= whole as f64;
        let (first, alike) = stretch.split_at_mut(whole.min(stretch.len()));
        random.fill_bytes(first);
        alike.fill(b'.');
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::ZlibEncoder};

    use super::*;
    use crate::workload::Operation;

    fn of(values: &[(&str, &str)], steps: &[&str]) -> Workload {
        let values = values.iter().map(|(name, kind)| ((*name).to_owned(), kind.parse().unwrap()));
        let operations = steps.iter().map(|step| Operation::command(step, 1)).collect();
        Workload { values: values.collect(), operations, ..Workload::default() }
    }

    #[test]
    fn only_sent_kinds_count_for_the_maximum_of_value_bytes() {
        let workload =
            of(&[("a", "64..1024"), ("b", "text")], &["SET k {a}", "HSET k f {b} g {value}", "PING"]);
        assert_eq!(workload.most_value_bytes(100), 1024);
        assert_eq!(workload.most_value_bytes(1000), 2000);
    }

    #[test]
    fn a_workload_has_its_own_sizes_if_no_value_has_the_size_of_the_knob() {
        let own = |kinds: &[(&str, &str)], steps: &[&str]| of(kinds, steps).has_own_sizes();
        assert!(own(&[("a", "64"), ("b", "text")], &["SET k {a}"]));
        assert!(own(&[("value", "64")], &["SET k {value}"]));
        assert!(!own(&[("a", "64"), ("b", "text")], &["SET k {a}", "SET k {b}"]));
        assert!(!own(&[("a", "64")], &["SET k {value}"]) && !own(&[("a", "64")], &["PING"]));
    }

    /// Returns the compression ratio that deflate reaches for values of `size` bytes.
    fn compressed(content: Content, size: usize) -> f64 {
        let pool = Pool::new(content, size, 7);
        let one = |n: u64| {
            let offset = pool.offset(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&pool.bytes[offset..offset + size]).unwrap();
            encoder.finish().unwrap().len()
        };
        (0..20).map(one).sum::<usize>() as f64 / 20.0 / size as f64
    }

    #[test]
    fn contents_have_their_compression_ratio() {
        for share in [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
            for (size, off) in [(1024, 0.08), (4096, 0.03), (100_000, 0.02)] {
                let made = compressed(Content::Compressible(share), size);
                assert!((made - share).abs() < off, "{size} bytes to {share}: {made}");
            }
        }
        for (content, from, to) in
            [(Content::Printable, 0.74, 0.78), (Content::Random, 1.0, 1.01), (Content::Text, 0.3, 0.5)]
        {
            let made = compressed(content, 10_000);
            assert!((from..to).contains(&made), "{content}: {made}");
        }
    }

    #[test]
    fn values_that_are_alike_are_one_letter() {
        assert!(Pool::new(Content::Base64, 10, 7).bytes.iter().all(|byte| !b"-_".contains(byte)));
        assert!(Pool::new(Content::Alike, 10, 7).bytes.iter().all(|byte| *byte == b'x'));
    }

    #[test]
    fn random_values_contain_all_bytes_and_printable_values_64() {
        let count = |content| {
            let pool = Pool::new(content, 1, 7);
            pool.bytes.iter().collect::<std::collections::HashSet<_>>().len()
        };
        assert_eq!((count(Content::Random), count(Content::Printable)), (256, 64));
        assert!(Pool::new(Content::Printable, 9, 3).bytes.iter().all(u8::is_ascii_graphic));
    }

    #[test]
    fn texts_begin_with_a_whole_word() {
        let pool = Pool::new(Content::Text, 40, 7);
        let words: Vec<_> = WORDS.split_whitespace().collect();
        for draw in 0..2000 {
            let offset = pool.offset(draw * 37);
            let text = std::str::from_utf8(&pool.bytes[offset..offset + 40]).unwrap();
            let mut inner: Vec<_> = text.split(' ').collect();
            inner.pop();
            assert!(inner.iter().all(|word| words.contains(word)), "{text:?}");
        }
        let offsets: std::collections::HashSet<_> = (0..65_536).map(|draw| pool.offset(draw)).collect();
        assert!(offsets.len() > 10_000 && offsets.len() == pool.starts.len(), "{}", offsets.len());
        assert!(offsets.iter().max() > Some(&65_000));
    }
}
