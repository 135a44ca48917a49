//! The types of value. Each knows its size in bytes without walking over its members.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;

use super::SortedSet;

/// What one member costs beside its own bytes; a rough figure, pointers and table share.
pub(super) const MEMBER_OVERHEAD: usize = 32;

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
    /// The type's name, as TYPE says it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::SortedSet(_) => "zset",
            Self::Stream(_) => "stream",
        }
    }

    /// Bytes that it holds.
    pub fn size(&self) -> usize {
        match self {
            Self::String(bytes) => bytes.capacity(),
            Self::List(list) => list.bytes + list.items.len() * MEMBER_OVERHEAD,
            Self::Hash(hash) => hash.bytes + hash.fields.len() * 2 * MEMBER_OVERHEAD,
            Self::Set(set) => set.bytes + set.members.len() * MEMBER_OVERHEAD,
            Self::SortedSet(set) => set.bytes() + set.members() * 3 * MEMBER_OVERHEAD,
            Self::Stream(stream) => stream.bytes + stream.entries.len() * 2 * MEMBER_OVERHEAD,
        }
    }

    /// Whether it is a collection without members, which Redis removes. Strings and streams may be empty.
    pub fn is_emptied(&self) -> bool {
        match self {
            Self::String(_) | Self::Stream(_) => false,
            Self::List(list) => list.items.is_empty(),
            Self::Hash(hash) => hash.fields.is_empty(),
            Self::Set(set) => set.members.is_empty(),
            Self::SortedSet(set) => set.members() == 0,
        }
    }
}

/// A type of value.
pub trait Kind: Default {
    /// The value as this type, if it is of it.
    fn of(value: &Value) -> Option<&Self>;
    /// The same to change.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// A value of this type.
    fn wrap(self) -> Value;
    /// How many bytes or members there are.
    fn len(&self) -> usize;
}

macro_rules! kinds {
    ($($variant:ident, $type:ty, $len:expr;)*) => {$(
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

            fn len(&self) -> usize {
                let len: fn(&Self) -> usize = $len;
                len(self)
            }
        }
    )*};
}

kinds! {
    String, Vec<u8>, Vec::len;
    List, List, |list| list.items.len();
    Hash, Hash, |hash| hash.fields.len();
    Set, Set, |set| set.members.len();
    SortedSet, SortedSet, SortedSet::members;
    Stream, Stream, |stream| stream.entries.len();
}

/// A list of byte strings.
#[derive(Debug, Default)]
pub struct List {
    items: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl List {
    /// Adds at the head.
    pub fn push_front(&mut self, item: &[u8]) {
        self.bytes += item.len();
        self.items.push_front(item.into());
    }

    /// Adds at the tail.
    pub fn push_back(&mut self, item: &[u8]) {
        self.bytes += item.len();
        self.items.push_back(item.into());
    }

    /// Takes the head.
    pub fn pop_front(&mut self) -> Option<Box<[u8]>> {
        let item = self.items.pop_front()?;
        self.bytes -= item.len();
        Some(item)
    }

    /// Takes the tail.
    pub fn pop_back(&mut self) -> Option<Box<[u8]>> {
        let item = self.items.pop_back()?;
        self.bytes -= item.len();
        Some(item)
    }

    /// The items `from..to`, which must lie inside.
    pub fn range(&self, from: usize, to: usize) -> impl Iterator<Item = &[u8]> {
        self.items.range(from..to).map(|item| &**item)
    }
}

/// Fields and their values.
#[derive(Debug, Default)]
pub struct Hash {
    fields: HashMap<Box<[u8]>, Box<[u8]>>,
    bytes: usize,
}

impl Hash {
    /// Sets a field; whether it is new.
    pub fn set(&mut self, field: &[u8], value: &[u8]) -> bool {
        self.bytes += value.len();
        if let Some(old) = self.fields.get_mut(field) {
            self.bytes -= old.len();
            *old = value.into();
            return false;
        }
        self.bytes += field.len();
        self.fields.insert(field.into(), value.into());
        true
    }

    /// A field's value.
    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        self.fields.get(field).map(|value| &**value)
    }

    /// Removes a field; whether it was there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        let Some(value) = self.fields.remove(field) else { return false };
        self.bytes -= field.len() + value.len();
        true
    }

    /// All fields and values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(field, value)| (&**field, &**value))
    }
}

/// A set that can give a random member in constant time: members in a row, and a table of their places.
#[derive(Debug, Default)]
pub struct Set {
    members: Vec<Arc<[u8]>>,
    places: HashMap<Arc<[u8]>, usize>,
    bytes: usize,
}

impl Set {
    /// Adds a member; whether it is new.
    pub fn add(&mut self, member: &[u8]) -> bool {
        if self.contains(member) {
            return false;
        }
        let shared: Arc<[u8]> = member.into();
        self.bytes += member.len();
        self.places.insert(Arc::clone(&shared), self.members.len());
        self.members.push(shared);
        true
    }

    /// Whether `member` is in it.
    pub fn contains(&self, member: &[u8]) -> bool {
        self.places.contains_key(member)
    }

    /// Removes a member; whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let Some(place) = self.places.remove(member) else { return false };
        self.bytes -= member.len();
        self.members.swap_remove(place);
        // The last member has moved into the gap.
        if let Some(moved) = self.members.get(place) {
            self.places.insert(Arc::clone(moved), place);
        }
        true
    }

    /// Takes the member at `place`, which must be below [`Kind::len`].
    pub fn take(&mut self, place: usize) -> Arc<[u8]> {
        let member = Arc::clone(&self.members[place]);
        self.remove(&member);
        member
    }

    /// All members, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| &**member)
    }
}

/// The id of a stream's entry: milliseconds and a sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct StreamId {
    /// Milliseconds of Unix time, by default.
    pub ms: u64,
    /// Number within the millisecond.
    pub sequence: u64,
}

/// An append-only log of entries.
#[derive(Debug, Default)]
pub struct Stream {
    entries: VecDeque<(StreamId, Box<[u8]>)>,
    last: StreamId,
    bytes: usize,
}

impl Stream {
    /// Appends an entry, whose fields are joined in `fields`. The id must be above [`Self::last_id`].
    pub fn append(&mut self, id: StreamId, fields: Vec<u8>) {
        self.bytes += fields.len();
        self.last = id;
        self.entries.push_back((id, fields.into()));
    }

    /// Drops the oldest entries down to `length`.
    pub fn trim(&mut self, length: usize) {
        while self.entries.len() > length {
            self.bytes -= self.entries.pop_front().map_or(0, |(_, fields)| fields.len());
        }
    }

    /// The highest id ever given.
    pub fn last_id(&self) -> StreamId {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_its_places_through_removals() {
        let mut set = Set::default();
        for n in 0..100 {
            assert!(set.add(format!("m{n}").as_bytes()));
        }
        for n in (0..100).step_by(3) {
            assert!(set.remove(format!("m{n}").as_bytes()));
            assert!(!set.remove(format!("m{n}").as_bytes()));
        }
        for n in 0..100 {
            assert_eq!(set.contains(format!("m{n}").as_bytes()), n % 3 != 0);
        }
        while Kind::len(&set) > 0 {
            let member = set.take(set.len() / 2);
            assert!(!set.contains(&member));
        }
        assert_eq!(Value::Set(Box::new(set)).size(), 0);
    }

    #[test]
    fn sizes_come_back_to_zero_when_the_members_are_gone() {
        let mut hash = Hash::default();
        assert!(hash.set(b"f", b"value"));
        assert!(!hash.set(b"f", b"v"));
        assert_eq!(hash.bytes, 2);
        assert!(hash.remove(b"f"));
        let mut list = List::default();
        list.push_back(b"abc");
        list.push_front(b"de");
        assert_eq!((list.bytes, list.len()), (5, 2));
        assert_eq!((list.pop_back().unwrap().len(), list.pop_front().unwrap().len()), (3, 2));
        assert_eq!((Value::Hash(Box::new(hash)).size(), Value::List(Box::new(list)).size()), (0, 0));
    }

    #[test]
    fn a_value_is_small_and_refuses_the_wrong_type() {
        assert!(size_of::<Value>() <= 24, "{} bytes", size_of::<Value>());
        let value = b"a".to_vec().wrap();
        assert!(Vec::<u8>::of(&value).is_some() && List::of(&value).is_none());
    }
}
