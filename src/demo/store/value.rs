//! The types of value. Each knows its size in bytes without walking over its members.

use std::collections::VecDeque;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;

use super::SortedSet;
use crate::demo::failure::Failure;

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
            Self::SortedSet(set) => set.bytes() + set.len() * 3 * MEMBER_OVERHEAD,
            Self::Stream(stream) => stream.bytes + stream.entries.len() * 2 * MEMBER_OVERHEAD,
        }
    }

    /// Whether it is a collection without members, which Redis removes. Strings and streams may be empty.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::String(_) | Self::Stream(_) => false,
            Self::List(list) => list.items.is_empty(),
            Self::Hash(hash) => hash.fields.is_empty(),
            Self::Set(set) => set.members.is_empty(),
            Self::SortedSet(set) => set.len() == 0,
        }
    }
}

/// Borrowing a value as one type fails with WRONGTYPE when it has another.
macro_rules! borrow_as {
    ($($variant:ident, $type:ty, $shared:ident, $mutable:ident;)*) => {
        impl Value {
            $(
                #[doc = concat!("The value as a ", stringify!($variant), ", else WRONGTYPE.")]
                pub fn $shared(&self) -> Result<&$type, Failure> {
                    if let Self::$variant(value) = self { Ok(value) } else { Err(Failure::WrongType) }
                }

                #[doc = concat!("The value as a ", stringify!($variant), " to change, else WRONGTYPE.")]
                pub fn $mutable(&mut self) -> Result<&mut $type, Failure> {
                    if let Self::$variant(value) = self { Ok(value) } else { Err(Failure::WrongType) }
                }
            )*
        }
    };
}

borrow_as! {
    String, Vec<u8>, as_string, as_string_mut;
    List, List, as_list, as_list_mut;
    Hash, Hash, as_hash, as_hash_mut;
    Set, Set, as_set, as_set_mut;
    SortedSet, SortedSet, as_sorted_set, as_sorted_set_mut;
    Stream, Stream, as_stream, as_stream_mut;
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

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
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

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// All fields and values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(field, value)| (&**field, &**value))
    }
}

/// A set that can give a random member in constant time: members in a row, and a table of their places.
#[derive(Debug, Default)]
pub struct Set {
    members: Vec<Box<[u8]>>,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    bytes: usize,
}

impl Set {
    /// Adds a member; whether it is new.
    pub fn add(&mut self, member: &[u8]) -> bool {
        if self.contains(member) {
            return false;
        }
        let place = u32::try_from(self.members.len()).expect("a set of 2^32 members does not fit in memory");
        self.bytes += member.len();
        self.members.push(member.into());
        let (members, hasher) = (&self.members, &self.hasher);
        self.places.insert_unique(hasher.hash_one(member), place, |place| {
            hasher.hash_one(&*members[*place as usize])
        });
        true
    }

    /// Whether `member` is in it.
    pub fn contains(&self, member: &[u8]) -> bool {
        let hash = self.hasher.hash_one(member);
        self.places.find(hash, |place| &*self.members[*place as usize] == member).is_some()
    }

    /// Removes a member; whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let hash = self.hasher.hash_one(member);
        match self.places.find_entry(hash, |place| &*self.members[*place as usize] == member) {
            Ok(entry) => {
                let (place, _) = entry.remove();
                self.close_gap(place);
                true
            }
            Err(_) => false,
        }
    }

    /// Takes the member at `place`, which must be below [`Self::len`].
    pub fn take(&mut self, place: usize) -> Box<[u8]> {
        let member = self.members[place].clone();
        self.remove(&member);
        member
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// All members, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| &**member)
    }

    /// Moves the last member to `place`, whose own has lost its entry in the table.
    fn close_gap(&mut self, place: u32) {
        let gone = self.members.swap_remove(place as usize);
        self.bytes -= gone.len();
        if let Some(moved) = self.members.get(place as usize) {
            let old_place = self.members.len() as u32;
            let hash = self.hasher.hash_one(&**moved);
            if let Some(entry) = self.places.find_mut(hash, |candidate| *candidate == old_place) {
                *entry = place;
            }
        }
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

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
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
        while set.len() > 0 {
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
        let value = Value::String(b"a".to_vec());
        assert!(value.as_string().is_ok());
        assert_eq!(value.as_list().unwrap_err(), Failure::WrongType);
    }
}
