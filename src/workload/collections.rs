//! About how much memory a hash, a list, a set or a sorted set takes in Redis and Valkey, by the number and the lengths of its
//! elements.
//!
//! ```text
//!  few and short   one listpack: 7 B, and for each element its bytes and 2 to 6 of its own
//!  else            a table: for each element an entry, a place among the buckets, and its texts, each rounded up to what the
//!                  allocator has
//! ```
//! Sources: the layouts in listpack.c, dict.h, sds.h, quicklist.h and server.h of Redis 7.2, where a 64-bit pointer has 8 bytes;
//! jemalloc's size classes with Redis' quantum of 8 bytes; and the usual limits of config.c.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    KeyNames, MemoryPreview, Workload,
    key_form::SetNames,
    now,
    step::{Fragment, Step},
};
use crate::protocol::Dialect;

/// What Redis and Valkey need beside a string's name and its value, about: the entry of the table, the object, two headers of
/// strings, and what the allocator rounds up to.
const REDIS_OVERHEAD: f64 = 90.0;
/// The same of memcached: the header of an item, the number for CAS, and its place in the table.
const MEMCACHED_OVERHEAD: f64 = 64.0;

/// A kind of keys that have elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Collection {
    Hash,
    List,
    Set,
    SortedSet,
}

/// What stands beside the name and the elements of a key: an entry of the table of keys and its place there, an object, and
/// the header and rounding of the name.
const OF_KEY: f64 = 66.0;
/// `hash-max-listpack-entries`: more fields are a table.
const FIELDS_IN_LISTPACK: f64 = 512.0;
/// `set-max-listpack-entries` and `zset-max-listpack-entries`; before 7.2 no set of texts was a listpack.
const MEMBERS_IN_LISTPACK: f64 = 128.0;
/// `*-max-listpack-value`: longer ones make a table of all.
const LONGEST_IN_LISTPACK: f64 = 64.0;
/// `list-max-listpack-size -2`: bytes of a node of a list.
const OF_NODE: f64 = 8192.0;
/// The headers of a listpack, and its end.
const LISTPACK: f64 = 7.0;
/// A score in a listpack, where it is a number of a few digits.
const SCORE: f64 = 6.0;
/// An entry of a table, and its place among buckets that are half to wholly full.
const OF_ENTRY: f64 = 24.0 + 12.0;
/// A node of a skip list: three words, and 1.33 levels of two.
const OF_SKIP_NODE: f64 = 24.0 + 21.3;
/// A table, without its buckets.
const TABLE: f64 = 56.0;

impl Collection {
    /// What a command adds elements to, how many words stand before these, and how many each has.
    fn of(command: &str) -> Option<(Self, usize, usize)> {
        Some(match command {
            "HSET" | "HMSET" => (Self::Hash, 2, 2),
            "LPUSH" | "RPUSH" => (Self::List, 2, 1),
            "SADD" => (Self::Set, 2, 1),
            "ZADD" => (Self::SortedSet, 2, 2),
            _ => return None,
        })
    }

    /// Bytes that so many `elements` of a key take, whose words have these lengths in the mean: field and value, score and
    /// member, or the element.
    fn bytes(self, elements: f64, words: &[f64]) -> f64 {
        // Of a sorted set only the member is a text.
        let texts = if self == Self::SortedSet { words.get(1..).unwrap_or_default() } else { words };
        let packed = |texts: &[f64]| texts.iter().map(|length| length + of_listpack(*length)).sum::<f64>();
        if self == Self::List {
            let nodes = (elements * packed(texts) / OF_NODE).ceil().max(1.0);
            return 40.0
                + nodes * 32.0
                + allocated((elements * packed(texts) + nodes * LISTPACK) / nodes) * nodes;
        }
        let is_short = texts.iter().all(|length| *length <= LONGEST_IN_LISTPACK);
        let score = if self == Self::SortedSet { SCORE } else { 0.0 };
        let most = if self == Self::Hash { FIELDS_IN_LISTPACK } else { MEMBERS_IN_LISTPACK };
        if elements <= most && is_short {
            return allocated(LISTPACK + elements * (packed(texts) + score));
        }
        let texts: f64 = texts.iter().map(|length| of_text(*length)).sum();
        let node = if self == Self::SortedSet { OF_SKIP_NODE } else { 0.0 };
        TABLE + elements * (OF_ENTRY + node + texts)
    }
}

/// What a prefill adds to the keys of a set.
#[derive(Default)]
struct Added {
    elements: f64,
    /// The bytes of all first words of elements, of all second ones.
    words: Vec<f64>,
}

/// How long words are in the mean.
struct Lengths<'a> {
    names: &'a [SetNames],
    /// Of values, by their kinds.
    values: Vec<f64>,
}

impl Workload {
    /// About how much memory its prefill takes. Elements that are drawn twice are counted twice.
    pub(super) fn prefill_memory(
        &self,
        keyspace: u64,
        names: &KeyNames,
        value_size: u32,
        dialect: Dialect,
    ) -> MemoryPreview {
        let overhead = if dialect.is_resp() { REDIS_OVERHEAD } else { MEMCACHED_OVERHEAD };
        let (_, names) = self.sets(keyspace, names);
        let values = self.value_kinds().map(|kind| kind.size.mean(value_size)).collect();
        let lengths = Lengths { names: &names, values };
        let (mut bytes, mut strings) = (0.0, BTreeSet::new());
        let mut collections: BTreeMap<(u16, Collection), Added> = BTreeMap::new();
        for filled in self.fillings(keyspace) {
            let runs = (filled.numbers.end - filled.numbers.start) as f64;
            let command = filled.step.command().filter(|_| dialect.is_resp());
            let collection = command.and_then(|command| Collection::of(&command)).zip(key_of(&filled.step));
            let Some(((collection, before, each), set)) = collection else {
                strings.insert(filled.set);
                bytes += runs * lengths.behind_key(&filled.step);
                continue;
            };
            let added = collections.entry((set, collection)).or_default();
            added.words.resize(each, 0.0);
            for element in filled.step.0.get(before..).unwrap_or_default().chunks(each) {
                added.elements += runs;
                let of_words = element.iter().map(|word| runs * lengths.of_word(word, true));
                added.words.iter_mut().zip(of_words).for_each(|(all, word)| *all += word);
            }
        }
        let keys = |set: u16| {
            let numbers = self.keys.values().nth(set.into()).map(|keys| keys.numbers(keyspace));
            numbers.map_or(0.0, |numbers| (numbers.end - numbers.start) as f64)
        };
        bytes += strings.iter().map(|set| keys(*set) * (lengths.of_name(*set) + overhead)).sum::<f64>();
        for ((set, collection), added) in &collections {
            let (keys, elements) = (keys(*set), added.elements);
            let words: Vec<_> = added.words.iter().map(|bytes| bytes / elements).collect();
            bytes += keys * (OF_KEY + lengths.of_name(*set) + collection.bytes(elements / keys, &words));
        }
        MemoryPreview { bytes, overhead, has_collections: !collections.is_empty() }
    }
}

/// The set that the key of a command is of.
fn key_of(step: &Step) -> Option<u16> {
    match step.0.get(1)?.as_slice() {
        [Fragment::Key(set) | Fragment::Given(set) | Fragment::New(set) | Fragment::Same(set)] => Some(*set),
        _ => None,
    }
}

impl Lengths<'_> {
    /// Of the name of a key.
    fn of_name(&self, set: u16) -> f64 {
        let names = &self.names[usize::from(set)];
        names.key(names.form.named(0)).len() as f64
    }

    /// Of a word; of the key that the step is run for only where it `is_element`.
    fn of_word(&self, word: &[Fragment], is_element: bool) -> f64 {
        let length = |fragment: &Fragment| match fragment {
            Fragment::Text(text) => text.len() as f64,
            Fragment::Given(set) if is_element => self.of_name(*set),
            // Of a record nothing is known before it is read, nor of a reply.
            Fragment::Given(_) | Fragment::OfRecord(_) | Fragment::Cas => 0.0,
            Fragment::Key(set) | Fragment::New(set) | Fragment::Same(set) => self.of_name(*set),
            Fragment::Value(kind) => self.values[usize::from(*kind)],
            Fragment::Number(_, to) => to.to_string().len() as f64,
            Fragment::Now => now::unix_ms().to_string().len() as f64,
        };
        word.iter().map(length).sum()
    }

    /// Of what stands behind the command, the key that it is run for left out.
    fn behind_key(&self, step: &Step) -> f64 {
        step.0.iter().skip(1).map(|word| self.of_word(word, false)).sum()
    }
}

/// What an element of a listpack has beside its bytes: its length, before and behind it.
fn of_listpack(length: f64) -> f64 {
    match length {
        ..64.0 => 2.0,
        ..126.0 => 3.0,
        ..4096.0 => 4.0,
        _ => 8.0,
    }
}

/// A text in memory, with its header and the zero behind it.
fn of_text(length: f64) -> f64 {
    allocated(
        length
            + if length < 32.0 {
                2.0
            } else if length < 256.0 {
                4.0
            } else {
                6.0
            },
    )
}

/// What the allocator gives for so many bytes: steps of 8 up to 64, then four between two powers of two.
fn allocated(bytes: f64) -> f64 {
    let step = if bytes <= 64.0 { 8.0 } else { 2_f64.powf((bytes - 1.0).log2().floor() - 2.0) };
    (bytes / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_gives_what_its_classes_have() {
        let given = [1.0, 8.0, 9.0, 64.0, 65.0, 81.0, 128.0, 129.0, 4097.0].map(allocated);
        assert_eq!(given, [8.0, 8.0, 16.0, 64.0, 80.0, 96.0, 128.0, 160.0, 5120.0]);
    }
}
