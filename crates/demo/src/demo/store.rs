//! The data of the built-in server: databases of keys and typed values, with expiry and an estimate of their
//! memory.
//!
//! The store uses no sockets, no protocol and no clock. The caller of the store sets the present time.
//!
//! For a large value, the estimate does not visit all members.

mod database;

pub use self::database::Database;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use indexmap::IndexSet;

/// The number of databases.
pub const DATABASES: usize = 16;

/// Returns empty databases.
pub fn databases() -> Vec<Database> {
    (0..DATABASES).map(|_| Database::default()).collect()
}

/// A hash map whose entries also have an index, from 0 without gaps.
pub type Map<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;

/// The estimated memory of one member in addition to its own bytes, for pointers and its share of the hash table.
const MEMBER: usize = 32;

/// A list of byte strings.
pub type List = VecDeque<Box<[u8]>>;
/// The fields of a hash, and their values.
pub type Hash = Map<Box<[u8]>, Box<[u8]>>;
/// A set that can return any of its members in constant time.
pub type Set = IndexSet<Box<[u8]>, foldhash::fast::RandomState>;

/// The value of a key.
#[derive(Debug)]
pub enum Value {
    /// A string.
    String(Vec<u8>),
    /// A list.
    List(Box<List>),
    /// The fields of a hash, and their values.
    Hash(Box<Hash>),
    /// A set.
    Set(Box<Set>),
    /// A sorted set.
    SortedSet(Box<SortedSet>),
    /// An append-only log.
    Stream(Box<Stream>),
}

impl Value {
    /// Returns the estimated size of the value in bytes. The estimate for a collection assumes that all members are as
    /// large as the first member.
    pub fn size(&self) -> usize {
        let all = |count: usize, first: Option<usize>| count * first.unwrap_or(0);
        match self {
            Self::String(bytes) => bytes.capacity(),
            Self::List(list) => all(list.len(), list.front().map(|item| item.len() + MEMBER)),
            Self::Hash(hash) => {
                let first = hash.first().map(|(field, value)| field.len() + value.len() + 2 * MEMBER);
                all(hash.len(), first)
            }
            Self::Set(set) => all(set.len(), set.first().map(|member| member.len() + MEMBER)),
            Self::SortedSet(set) => {
                all(set.scores.len(), set.scores.first().map(|(member, _)| member.len() + 3 * MEMBER))
            }
            Self::Stream(stream) => {
                all(stream.entries.len(), stream.entries.front().map(|(_, entry)| entry.len() + 2 * MEMBER))
            }
        }
    }

    /// Returns whether the value is an empty collection, which Redis removes. Returns false for strings and streams,
    /// which Redis keeps when they are empty.
    pub fn is_emptied(&self) -> bool {
        match self {
            Self::String(_) | Self::Stream(_) => false,
            collection => collection.size() == 0,
        }
    }
}

/// A type of value.
pub trait ValueType: Default {
    /// Returns the value as this type, or `None` if the value has another type.
    fn of(value: &Value) -> Option<&Self>;
    /// Returns a mutable reference to the value as this type, or `None` if the value has another type.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// Converts a value of this type to a [`Value`].
    fn wrap(self) -> Value;
}

macro_rules! kinds {
    ($($variant:ident $type:ty;)*) => {$(
        impl ValueType for $type {
            fn of(value: &Value) -> Option<&Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }

            fn wrap(self) -> Value {
                Value::$variant(self.into())
            }
        }
    )*};
}

kinds! {
    String Vec<u8>;
    List List;
    Hash Hash;
    Set Set;
    SortedSet SortedSet;
    Stream Stream;
}

/// A sorted set: members in the order of their scores, which are never NaN.
#[derive(Debug, Default)]
pub struct SortedSet {
    scores: Map<Arc<[u8]>, f64>,
    /// The members in the order of their scores. Members with the same score are sorted by their bytes.
    order: BTreeMap<(i64, Arc<[u8]>), f64>,
}

/// Converts a score to an integer. The integers have the same order as the scores. Minus zero and zero give
/// the same integer.
fn rank(score: f64) -> i64 {
    let bits = (score + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

impl SortedSet {
    /// Sets the score of `member`, and returns whether the member is new. The score must not be NaN.
    pub fn set(&mut self, member: &[u8], score: f64) -> bool {
        let member: Arc<[u8]> = member.into();
        let old = self.scores.insert(Arc::clone(&member), score);
        if let Some(old) = old {
            self.order.remove(&(rank(old), Arc::clone(&member)));
        }
        self.order.insert((rank(score), member), score);
        old.is_none()
    }

    /// Removes the member with the lowest score.
    pub fn pop_first(&mut self) -> Option<(Arc<[u8]>, f64)> {
        let ((_, member), score) = self.order.pop_first()?;
        self.scores.swap_remove(&member);
        Some((member, score))
    }

    /// Returns the members and their scores, by ascending score.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], f64)> {
        self.order.iter().map(|((_, member), score)| (&**member, *score))
    }
}

/// An append-only log of entries.
#[derive(Debug, Default)]
pub struct Stream {
    /// The entries. Each entry has an id and an encoded array of its fields and values.
    entries: VecDeque<(EntryId, Box<[u8]>)>,
    /// The id of the last entry.
    last: EntryId,
    /// The consumer groups of the stream, by name.
    pub groups: Map<Box<[u8]>, ConsumerGroup>,
}

/// A consumer group of a stream.
#[derive(Debug, Default)]
pub struct ConsumerGroup {
    /// The ID of the last entry that was delivered to a consumer.
    pub last: EntryId,
    /// The entries that are not acknowledged, each with its consumer and the Unix time of its delivery, in ms.
    pub pending: BTreeMap<EntryId, (Box<[u8]>, u64)>,
}

impl ConsumerGroup {
    /// Records that a consumer got these entries, which are in ascending order.
    pub fn hand_over(&mut self, ids: &[EntryId], reader: &[u8], now_ms: u64) {
        self.last = ids.last().map_or(self.last, |id| self.last.max(*id));
        self.pending.extend(ids.iter().map(|id| (*id, (reader.into(), now_ms))));
    }
}

/// The id of an entry of a stream: Unix time in milliseconds, and a number within this millisecond.
pub type EntryId = (u64, u64);

impl Stream {
    /// Returns the id of the last entry, even if this entry was removed by `cut_to`.
    pub fn last(&self) -> EntryId {
        self.last
    }

    /// Appends an entry at `now_ms`, and returns its id, which is greater than the ids of all earlier entries.
    pub fn append(&mut self, now_ms: u64, fields: Box<[u8]>) -> EntryId {
        let (ms, sequence) = self.last;
        self.last = if now_ms > ms { (now_ms, 0) } else { (ms, sequence + 1) };
        self.entries.push_back((self.last, fields));
        self.last
    }

    /// Removes the oldest entries until there are at most `most`.
    pub fn cut_to(&mut self, most: usize) {
        self.entries.drain(..self.entries.len().saturating_sub(most));
    }

    /// Returns the entries from the id `first` to `last`, in order.
    pub fn within(&self, first: EntryId, last: EntryId) -> impl DoubleEndedIterator<Item = (EntryId, &[u8])> {
        let end = self.entries.partition_point(|(id, _)| *id <= last);
        let first = self.entries.partition_point(|(id, _)| *id < first);
        self.entries.range(first.min(end)..end).map(|(id, fields)| (*id, &**fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_small_and_refuses_the_wrong_type() {
        assert!(size_of::<Value>() <= 24, "{} bytes", size_of::<Value>());
        let value = b"a".to_vec().wrap();
        assert!(Vec::<u8>::of(&value).is_some() && List::of(&value).is_none());
        assert!(List::default().wrap().is_emptied() && !Vec::default().wrap().is_emptied());
    }

    #[test]
    fn members_are_sorted_by_score_and_then_by_name() {
        let mut set = SortedSet::default();
        let scores = [-f64::INFINITY, -1e300, -1.5, -1e-320, 0.0, 1e-320, 2.0, f64::INFINITY];
        for (n, score) in scores.into_iter().enumerate().rev() {
            assert!(set.set(&[n as u8], score));
        }
        assert!(set.iter().map(|(_, score)| score).eq(scores));
        assert!(set.set(b"b", -0.0) && set.set(b"a", 0.0) && !set.set(b"b", 0.0));
        let zeros: Vec<&[u8]> =
            set.iter().filter(|(_, score)| *score == 0.0).map(|(member, _)| member).collect();
        assert_eq!(zeros, [&[4][..], b"a", b"b"]);
    }

    #[test]
    fn a_popped_member_is_removed() {
        let mut set = SortedSet::default();
        assert!(set.set(b"c", 1.0) && set.set(b"a", 0.0) && !set.set(b"c", -5.0));
        let (member, score) = set.pop_first().unwrap();
        assert_eq!((&*member, score), (&b"c"[..], -5.0));
        assert!(set.iter().eq([(&b"a"[..], 0.0)]) && set.scores.len() == 1);
    }
}
