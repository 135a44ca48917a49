//! Lists, hashes, sets and streams. Each counts the bytes of its members.

use std::collections::VecDeque;

use indexmap::IndexSet;

use super::Map;

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its first item.
    Head,
    /// Its last.
    Tail,
}

/// A list of byte strings.
#[derive(Debug, Default)]
pub struct List {
    pub(super) items: VecDeque<Box<[u8]>>,
    pub(super) bytes: usize,
}

impl List {
    /// Adds an item.
    pub fn push(&mut self, end: End, item: &[u8]) {
        self.bytes += item.len();
        match end {
            End::Head => self.items.push_front(item.into()),
            End::Tail => self.items.push_back(item.into()),
        }
    }

    /// Takes an item.
    pub fn pop(&mut self, end: End) -> Option<Box<[u8]>> {
        let item = match end {
            End::Head => self.items.pop_front(),
            End::Tail => self.items.pop_back(),
        }?;
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
    pub(super) fields: Map<Box<[u8]>, Box<[u8]>>,
    pub(super) bytes: usize,
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
        let Some(value) = self.fields.swap_remove(field) else { return false };
        self.bytes -= field.len() + value.len();
        true
    }

    /// All fields and values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(field, value)| (&**field, &**value))
    }
}

/// A set that can give any of its members in constant time.
#[derive(Debug, Default)]
pub struct Set {
    pub(super) members: IndexSet<Box<[u8]>, foldhash::fast::RandomState>,
    pub(super) bytes: usize,
}

impl Set {
    /// Adds a member; whether it is new.
    pub fn add(&mut self, member: &[u8]) -> bool {
        let is_new = !self.contains(member);
        if is_new {
            self.bytes += member.len();
            self.members.insert(member.into());
        }
        is_new
    }

    /// Whether `member` is in it.
    pub fn contains(&self, member: &[u8]) -> bool {
        self.members.contains(member)
    }

    /// Removes a member; whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let was_there = self.members.swap_remove(member);
        self.bytes -= if was_there { member.len() } else { 0 };
        was_there
    }

    /// Takes the member at `place`, if there are more.
    pub fn take(&mut self, place: usize) -> Option<Box<[u8]>> {
        let member = self.members.swap_remove_index(place)?;
        self.bytes -= member.len();
        Some(member)
    }

    /// All members, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| &**member)
    }
}

/// An append-only log of entries.
#[derive(Debug, Default)]
pub struct Stream {
    /// The fields of each and their values, joined.
    pub(super) entries: Vec<Box<[u8]>>,
    /// The id of the last: milliseconds of Unix time, and a number within that.
    last: (u64, u64),
    pub(super) bytes: usize,
}

impl Stream {
    /// Appends an entry at `now_ms`; its id, which is above all others.
    pub fn append<'a>(&mut self, now_ms: u64, fields: impl Iterator<Item = &'a [u8]>) -> (u64, u64) {
        let entry = fields.collect::<Vec<_>>().concat();
        self.bytes += entry.len();
        self.entries.push(entry.into());
        let (ms, sequence) = self.last;
        self.last = if now_ms > ms { (now_ms, 0) } else { (ms, sequence + 1) };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_to_zero_when_the_members_are_gone() {
        let mut hash = Hash::default();
        assert!(hash.set(b"f", b"value") && !hash.set(b"f", b"v"));
        assert_eq!(hash.bytes, 2);
        assert!(hash.remove(b"f") && !hash.remove(b"f"));
        let mut list = List::default();
        list.push(End::Tail, b"abc");
        list.push(End::Head, b"de");
        assert_eq!((list.bytes, list.items.len()), (5, 2));
        assert_eq!(list.pop(End::Tail).as_deref(), Some(&b"abc"[..]));
        assert_eq!(list.pop(End::Head).as_deref(), Some(&b"de"[..]));
        let mut set = Set::default();
        assert!(set.add(b"abc") && !set.add(b"abc") && set.add(b"de"));
        assert!(set.remove(b"abc") && !set.remove(b"abc"));
        assert_eq!((set.bytes, set.take(0).as_deref(), set.take(0)), (2, Some(&b"de"[..]), None));
        assert_eq!((hash.bytes, list.bytes, set.bytes), (0, 0, 0));
    }
}
