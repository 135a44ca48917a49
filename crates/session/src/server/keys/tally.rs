//! Adds up sampled keys by prefix, and keeps the largest and the hottest keys. This module does no I/O.
//!
//! A prefix ends with a delimiter and contains no digit: `app:user:` for `app:user:17:name`. For a key without such a
//! prefix, the prefix is the text before the first digit: `key` for `key17`.
//!
//! An estimate multiplies the mean of the sample by the number of all keys in the database, N. The error is that of a
//! random sample of n keys without replacement: 1.96 · N · s · √((1 − n/N) / n). In this formula, s is the sample's
//! standard deviation. SCAN visits keys in the order of their hashes. This order does not depend on names and sizes.
//! (Cochran, Sampling Techniques, 2.6)

use std::{cmp::Reverse, collections::BTreeMap};

use super::{Estimate, KeyAmount, PrefixEstimate};
use crate::untrusted;

/// The bytes that end a part of a key.
const DELIMITERS: &[u8] = b":/|.";
/// The largest number of parts in a prefix.
const DEEPEST: usize = 4;
/// The largest number of prefixes that are counted. If there are more, redyno shortens all prefixes. Such prefixes are
/// probably key names without digits.
const MOST_PREFIXES: usize = 256;
/// At most this many keys, and this many prefixes, are shown.
pub(super) const MOST_SHOWN: usize = 10;
/// The number of standard errors on each side of a 95 % confidence interval.
const STANDARD_ERRORS: f64 = 1.96;

/// The server's replies about one key.
pub(super) struct Sampled {
    pub(super) bytes: u64,
    pub(super) has_ttl: bool,
    /// The counter of OBJECT FREQ.
    pub(super) frequency: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PrefixSum {
    keys: f64,
    without_ttl: f64,
    bytes: f64,
    squares: f64,
}

/// The sums of the sampled keys by prefix, and the largest and hottest keys so far.
pub(super) struct KeyTally {
    depth: usize,
    sums: BTreeMap<Vec<u8>, PrefixSum>,
    pub(super) sampled: u64,
    pub(super) largest: Top,
    pub(super) hottest: Top,
}

/// The keys with the largest amounts, the largest first.
#[derive(Debug, Default)]
pub(super) struct Top(pub(super) Vec<(u64, Vec<u8>)>);

impl Top {
    pub(super) fn add(&mut self, amount: u64, key: &[u8]) {
        if self.0.len() >= MOST_SHOWN && self.0.last().is_some_and(|(least, _)| *least >= amount) {
            return;
        }
        // A SCAN may return a key twice.
        self.0.retain(|(_, known)| known != key);
        self.0.push((amount, key.to_vec()));
        self.0.sort_by_key(|(amount, _)| Reverse(*amount));
        self.0.truncate(MOST_SHOWN);
    }

    /// Returns the keys for the screen.
    pub(super) fn seen(&self) -> Vec<KeyAmount> {
        let seen = |(amount, key): &(u64, Vec<u8>)| KeyAmount {
            key: untrusted::bytes(key),
            amount: *amount,
            kind: None,
        };
        self.0.iter().map(seen).collect()
    }
}

impl KeyTally {
    pub(super) fn new() -> Self {
        let (largest, hottest) = (Top::default(), Top::default());
        Self { depth: DEEPEST, sums: BTreeMap::new(), sampled: 0, largest, hottest }
    }

    pub(super) fn add(&mut self, key: &[u8], sampled: &Sampled) {
        self.sampled += 1;
        let bytes = sampled.bytes as f64;
        let sum = self.sum_of(key);
        sum.keys += 1.0;
        sum.without_ttl += f64::from(!sampled.has_ttl);
        sum.bytes += bytes;
        sum.squares += bytes * bytes;
        self.largest.add(sampled.bytes, key);
        // The counter of an unused key falls to 0.
        if let Some(frequency) = sampled.frequency.filter(|counter| *counter > 0) {
            self.hottest.add(frequency, key);
        }
    }

    fn sum_of(&mut self, key: &[u8]) -> &mut PrefixSum {
        let is_full = |tally: &Self| {
            tally.sums.len() >= MOST_PREFIXES && !tally.sums.contains_key(prefix(key, tally.depth))
        };
        while self.depth > 1 && is_full(self) {
            self.depth -= 1;
            for (longer, sum) in std::mem::take(&mut self.sums) {
                let shorter = self.sums.entry(shortened(&longer, self.depth).to_vec()).or_default();
                shorter.keys += sum.keys;
                shorter.without_ttl += sum.without_ttl;
                shorter.bytes += sum.bytes;
                shorter.squares += sum.squares;
            }
        }
        let prefix = if is_full(self) { b"" } else { prefix(key, self.depth) };
        self.sums.entry(prefix.to_vec()).or_default()
    }

    /// Returns the prefixes with the most memory. The figures are scaled to a database of `keys` keys.
    /// `is_complete` is true if all keys were sampled.
    pub(super) fn prefixes(&self, keys: u64, is_complete: bool) -> Vec<PrefixEstimate> {
        let n = self.sampled as f64;
        let all = if is_complete { n } else { (keys as f64).max(n) };
        let estimate = |sum: f64, squares: f64| {
            let mean = sum / n;
            let variance = (squares / n - mean * mean).max(0.0);
            let error = STANDARD_ERRORS * all * (variance * (1.0 - n / all) / n).sqrt();
            Estimate { value: all * mean, error }
        };
        let seen = |(prefix, sum): (&Vec<u8>, &PrefixSum)| PrefixEstimate {
            prefix: untrusted::bytes(prefix),
            // Each key counts as 1 or 0, so the sum of squares equals the sum.
            keys: estimate(sum.keys, sum.keys),
            memory: estimate(sum.bytes, sum.squares),
            without_ttl: sum.without_ttl / sum.keys,
        };
        let mut prefixes: Vec<_> = self.sums.iter().map(seen).collect();
        prefixes.sort_by(|a, b| b.memory.value.total_cmp(&a.memory.value));
        prefixes.truncate(MOST_SHOWN);
        prefixes
    }
}

/// Returns the prefix of a key, with at most `depth` parts. The result is empty if the key has no prefix.
fn prefix(key: &[u8], depth: usize) -> &[u8] {
    let digit = key.iter().position(u8::is_ascii_digit);
    let before = &key[..digit.unwrap_or(key.len())];
    let ends = before.iter().enumerate().filter(|(_, byte)| DELIMITERS.contains(byte));
    match (ends.take(depth).last(), digit) {
        (Some((end, _)), _) => &key[..=end],
        (None, Some(digit)) => &key[..digit],
        (None, None) => b"",
    }
}

/// Returns a prefix with at most `depth` parts.
fn shortened(longer: &[u8], depth: usize) -> &[u8] {
    if longer.iter().any(|byte| DELIMITERS.contains(byte)) { prefix(longer, depth) } else { longer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(bytes: u64) -> Sampled {
        Sampled { bytes, has_ttl: bytes.is_multiple_of(2), frequency: Some(bytes % 256) }
    }

    #[test]
    fn a_prefix_ends_before_the_part_with_an_identifier() {
        for (key, expected) in [
            ("app:user:17:name", "app:user:"),
            ("session:deadbeef", "session:"),
            ("key:000012", "key:"),
            ("key17", "key"),
            ("a:b:c:d:e:f", "a:b:c:d:"),
            ("page/en/index.html", "page/en/index."),
            ("config", ""),
            ("17", ""),
        ] {
            assert_eq!(prefix(key.as_bytes(), DEEPEST), expected.as_bytes(), "{key}");
        }
    }

    #[test]
    fn a_sample_is_scaled_with_an_error_and_a_complete_scan_has_no_error() {
        // 10 000 keys: 10 % are sessions of 300 bytes; the other keys have 101 bytes and no TTL.
        let key =
            |n: u64| if n % 10 == 3 { (format!("session:{n}"), 300) } else { (format!("cart:{n}"), 101) };
        let mut tally = KeyTally::new();
        let mut n = 1;
        for _ in 0..1000 {
            // A full period of a linear congruence modulo 10 000 is a random order.
            n = (n * 7621 + 1) % 10_000;
            let (key, bytes) = key(n);
            tally.add(key.as_bytes(), &sampled(bytes));
        }
        let [carts, sessions] = &tally.prefixes(10_000, false)[..] else { panic!("two prefixes") };
        assert_eq!((carts.prefix.as_str(), carts.without_ttl, sessions.without_ttl), ("cart:", 1.0, 0.0));
        for (estimate, truth) in
            [(sessions.keys, 1000.0), (sessions.memory, 300_000.0), (carts.memory, 909_000.0)]
        {
            assert!((estimate.value - truth).abs() <= 2.0 * estimate.error, "{estimate:?} of {truth}");
            assert!(estimate.error > 0.0 && estimate.error < 0.3 * truth, "{estimate:?} of {truth}");
        }
        let whole = &tally.prefixes(10_000, true)[1];
        assert_eq!((whole.keys.error, whole.keys.value, whole.memory.error), (0.0, whole.keys.value, 0.0));
        assert_eq!(whole.keys.value.fract(), 0.0);
    }

    #[test]
    fn many_prefixes_are_shortened_and_the_rest_is_counted_together() {
        let mut tally = KeyTally::new();
        for n in 0..2000_u32 {
            let name: String = n.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            tally.add(format!("user:{name}:mail:x").as_bytes(), &sampled(10));
        }
        let prefixes = tally.prefixes(2000, true);
        assert_eq!(
            (prefixes.len(), prefixes[0].prefix.as_str(), prefixes[0].keys.value),
            (1, "user:", 2000.0)
        );
        for n in 0..2000_u32 {
            let name: String = n.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            tally.add(format!("{name}:x").as_bytes(), &sampled(10));
        }
        assert_eq!(tally.sums.len(), MOST_PREFIXES + 1);
        let all: f64 = tally.sums.values().map(|sum| sum.keys).sum();
        assert_eq!(all, 4000.0);
    }

    #[test]
    fn the_largest_and_the_hottest_keys_are_listed_once() {
        let mut tally = KeyTally::new();
        for bytes in (0..100).chain([99]) {
            tally.add(format!("k:{bytes}").as_bytes(), &sampled(bytes));
        }
        let largest = tally.largest.seen();
        assert_eq!((largest.len(), largest[0].key.as_str(), largest[9].amount), (MOST_SHOWN, "k:99", 90));
        assert_eq!(tally.hottest.seen()[1].key, "k:98");
        let mut unused = KeyTally::new();
        unused.add(b"k:0", &sampled(0));
        assert_eq!((unused.largest.seen().len(), unused.hottest.seen().len()), (1, 0));
    }
}
