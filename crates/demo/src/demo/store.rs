//! The data: databases of keys and typed values, with expiry and a count of bytes.
//!
//! Pure: no sockets, no own clock (the time is a parameter), no protocol.
//!
//! The types of value. Each knows about how many bytes it has without visiting its members.

mod database;

pub use self::database::Database;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use indexmap::IndexSet;

/// A map with numbered entries, from 0 without gaps.
pub type Map<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;

/// The memory of one member in addition to its own bytes; an approximation for pointers and its share of the table.
const MEMBER: usize = 32;

/// A list of byte strings.
pub type List = VecDeque<Box<[u8]>>;
/// Fields and their values.
pub type Hash = Map<Box<[u8]>, Box<[u8]>>;
/// A set that can return any of its members in constant time.
pub type Set = IndexSet<Box<[u8]>, foldhash::fast::RandomState>;

/// The value of a key.
#[derive(Debug)]
pub enum Value {
    /// Bytes.
    String(Vec<u8>),
    /// A list.
    List(Box<List>),
    /// Fields and their values.
    Hash(Box<Hash>),
    /// Members.
    Set(Box<Set>),
    /// Members by score.
    SortedSet(Box<SortedSet>),
    /// An append-only log.
    Stream(Box<Stream>),
}

impl Value {
    /// Returns the value's bytes; for a collection, as if all members had the size of the first.
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
                all(stream.entries.len(), stream.entries.first().map(|entry| entry.len() + 2 * MEMBER))
            }
        }
    }

    /// Returns whether the value is an empty collection, which Redis removes. Strings and streams may be empty.
    pub fn is_emptied(&self) -> bool {
        match self {
            Self::String(_) | Self::Stream(_) => false,
            collection => collection.size() == 0,
        }
    }
}

/// A type of value.
pub trait Kind: Default {
    /// Returns the value as this type, if it has this type.
    fn of(value: &Value) -> Option<&Self>;
    /// Returns the value as this type, mutable.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// Wraps this in a value.
    fn wrap(self) -> Value;
}

macro_rules! kinds {
    ($($variant:ident $type:ty;)*) => {$(
        impl Kind for $type {
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

/// Members sorted by their scores, which are never NaN.
#[derive(Debug, Default)]
pub struct SortedSet {
    scores: Map<Arc<[u8]>, f64>,
    /// The scores as ranks; members of equal score are sorted by their bytes.
    order: BTreeMap<(i64, Arc<[u8]>), f64>,
}

/// Returns a whole number in the same order as `score`, as in `f64::total_cmp`; minus zero equals zero.
fn rank(score: f64) -> i64 {
    let bits = (score + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

impl SortedSet {
    /// Sets the score of `member` (not NaN); returns whether it is new.
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

    /// Members and scores in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], f64)> {
        self.order.iter().map(|((_, member), score)| (&**member, *score))
    }
}

/// An append-only log of entries.
#[derive(Debug, Default)]
pub struct Stream {
    /// The fields and values of each entry, joined.
    entries: Vec<Box<[u8]>>,
    /// The id of the last entry: milliseconds of Unix time, and a number within that.
    last: (u64, u64),
}

impl Stream {
    /// Appends an entry at `now_ms`; returns its id, which is greater than all others.
    pub fn append<'a>(&mut self, now_ms: u64, fields: impl Iterator<Item = &'a [u8]>) -> (u64, u64) {
        self.entries.push(fields.collect::<Vec<_>>().concat().into());
        let (ms, sequence) = self.last;
        self.last = if now_ms > ms { (now_ms, 0) } else { (ms, sequence + 1) };
        self.last
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
    fn members_come_out_by_score_and_then_by_name() {
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
    fn what_is_taken_is_gone() {
        let mut set = SortedSet::default();
        assert!(set.set(b"c", 1.0) && set.set(b"a", 0.0) && !set.set(b"c", -5.0));
        let (member, score) = set.pop_first().unwrap();
        assert_eq!((&*member, score), (&b"c"[..], -5.0));
        assert!(set.iter().eq([(&b"a"[..], 0.0)]) && set.scores.len() == 1);
    }
}
