//! One database of the built-in server: keys, their values and their expiry times.
//!
//! ```text
//! entries: [ key, value │ key, value │ … ]     the last one takes the place of a removed one
//!              0            1                  SCAN goes from the end to the beginning
//! ```
//! SCAN therefore returns every key that exists from the first call to the last call, even if other keys are added or
//! removed in between. SCAN has visited a moved entry before the move, or visits the entry later at its new index.

use super::{Map, Value, ValueType};
use crate::{
    demo::reply::ReplyError,
    protocol::{SLOTS, key_slot},
};

/// The estimated memory of a key in addition to the bytes of the key and its value: the entry and its share of the hash
/// table.
const OVERHEAD: usize = 72;

/// Keys and their values.
#[derive(Debug, Default)]
pub struct Database {
    entries: Map<Box<[u8]>, KeyEntry>,
    /// The number of keys with an expiry time.
    pub volatile: usize,
    /// The index at which the next search for expired keys begins.
    swept: usize,
    /// The estimated size of all keys and values in bytes.
    pub bytes: usize,
    /// The number of keys in each slot of a cluster. The list is empty if keys are not counted by slot.
    in_slots: Vec<usize>,
    now_ms: u64,
    /// The number of reads that found their key.
    pub hits: u64,
    /// The number of reads that did not find their key.
    pub misses: u64,
    /// The number of keys that were removed because they had expired.
    pub expired: u64,
    /// The expired keys that the server must still report to clients. `None` if no client tracks keys.
    pub expired_keys: Option<Vec<Box<[u8]>>>,
    /// The number of writes to keys, including writes that did not change the value.
    pub changes: u64,
}

/// The entry of a key.
#[derive(Debug)]
struct KeyEntry {
    value: Value,
    /// The expiry time of the key, as Unix time in ms, or 0 if the key does not expire.
    expires_ms: u64,
}

impl Database {
    /// Counts the keys of each slot of a cluster from now on; the database must be empty.
    pub fn count_slots(&mut self) {
        self.in_slots = vec![0; usize::from(SLOTS)];
    }

    /// Returns the number of keys in a slot, if they are counted.
    pub fn in_slot(&self, slot: u16) -> usize {
        self.in_slots.get(usize::from(slot)).copied().unwrap_or(0)
    }

    /// Checks the next `count` keys from `cursor` on, and moves the keys of the given slots to `target`. The cursor is
    /// 0 in the first call. Returns the next cursor, which is 0 after the last key.
    pub fn move_slots(&mut self, target: &mut Self, slots: &[u16], (cursor, count): (u64, usize)) -> u64 {
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        let next = self.scan(cursor, count, |key| {
            if slots.contains(&key_slot(key)) {
                keys.push(key.into());
            }
        });
        for key in keys {
            let Some(place) = self.entries.get_index_of(&key) else { continue };
            let at_ms = self.entries[place].expires_ms;
            if let Some(entry) = self.take_at(place) {
                let place = target.insert(&key, entry.value);
                target.set_deadline(place, at_ms);
            }
        }
        next
    }

    /// Sets the present time in ms since 1970: keys with an earlier expiry time have expired.
    pub fn set_now(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// Returns whether the key exists, and counts a keyspace hit or miss.
    pub fn lookup(&mut self, key: &[u8]) -> bool {
        self.find_counted(key).is_some()
    }

    /// Returns the value of `key` without counting a keyspace hit or miss.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn peek<T: ValueType>(&mut self, key: &[u8]) -> Result<Option<&T>, ReplyError> {
        let found = self.find(key);
        self.of_type(found)
    }

    fn of_type<T: ValueType>(&self, found: Option<usize>) -> Result<Option<&T>, ReplyError> {
        found.map(|place| T::of(&self.entries[place].value).ok_or(ReplyError::WRONG_TYPE)).transpose()
    }

    /// Returns the value of `key`, and counts a keyspace hit or miss.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn read<T: ValueType>(&mut self, key: &[u8]) -> Result<Option<&T>, ReplyError> {
        let found = self.find_counted(key);
        self.of_type(found)
    }

    /// Calls `act` with the value of `key` if the key exists, and returns the result. A collection that becomes empty
    /// is removed.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn change<T: ValueType, R>(
        &mut self,
        key: &[u8],
        act: impl FnOnce(&mut T) -> R,
    ) -> Result<Option<R>, ReplyError> {
        self.find(key).map(|place| self.change_at(place, act)).transpose()
    }

    /// Calls `act` with the value of `key` and returns the result. A key that does not exist is first created with an
    /// empty value.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn change_or_new<T: ValueType, R>(
        &mut self,
        key: &[u8],
        act: impl FnOnce(&mut T) -> R,
    ) -> Result<R, ReplyError> {
        let place = self.find(key).unwrap_or_else(|| self.insert(key, T::default().wrap()));
        self.change_at(place, act)
    }

    fn change_at<T: ValueType, R>(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut T) -> R,
    ) -> Result<R, ReplyError> {
        let value = &mut self.entries[place].value;
        let before = value.size();
        let done = act(T::of_mut(value).ok_or(ReplyError::WRONG_TYPE)?);
        self.bytes = self.bytes + value.size() - before;
        self.changes += 1;
        if value.is_emptied() {
            self.remove_at(place);
        }
        Ok(done)
    }

    /// Sets `key` to a string and removes its expiry time. The buffer of an old string is reused.
    pub fn set_string(&mut self, key: &[u8], new: &[u8]) {
        self.changes += 1;
        let Some(place) = self.entries.get_index_of(key) else {
            self.insert(key, Value::String(new.to_vec()));
            return;
        };
        self.set_deadline(place, 0);
        let value = &mut self.entries[place].value;
        let before = value.size();
        match &mut *value {
            // A buffer that is far too large is freed.
            Value::String(old) if old.capacity() <= 2 * new.len() + 64 => {
                old.clear();
                old.extend_from_slice(new);
            }
            other => *other = Value::String(new.to_vec()),
        }
        self.bytes = self.bytes + value.size() - before;
    }

    /// Removes `key`, and returns whether the key existed.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some(place) = self.find(key) else { return false };
        self.remove_at(place);
        self.changes += 1;
        true
    }

    /// Returns the expiry time of `key` in ms since 1970. Returns `Some(None)` if the key never expires, and `None` if
    /// the key does not exist.
    pub fn deadline(&mut self, key: &[u8]) -> Option<Option<u64>> {
        let at_ms = self.find(key).map(|place| self.entries[place].expires_ms)?;
        Some((at_ms > 0).then_some(at_ms))
    }

    /// Sets the expiry time of `key`, or removes the expiry time if `at_ms` is `None`. Returns whether the key exists.
    /// A time in the past removes the key.
    pub fn expire_at(&mut self, key: &[u8], at_ms: Option<u64>) -> bool {
        let Some(place) = self.find(key) else { return false };
        self.changes += 1;
        match at_ms {
            Some(at_ms) if at_ms <= self.now_ms => self.remove_at(place),
            _ => self.set_deadline(place, at_ms.unwrap_or(0)),
        }
        true
    }

    /// Calls `visit` for up to `count` keys from `cursor` on. The cursor is 0 in the first call. Returns the next
    /// cursor, which is 0 after the last key.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8])) -> u64 {
        let all = self.entries.len();
        let end = if cursor == 0 { all } else { usize::try_from(cursor).unwrap_or(all).min(all) };
        let begin = end.saturating_sub(count);
        for (key, entry) in &self.entries.as_slice()[begin..end] {
            if !self.is_over(entry) {
                visit(key);
            }
        }
        begin as u64
    }

    /// Checks the next `count` keys, and removes the expired keys among them.
    pub fn sweep(&mut self, count: usize) {
        if self.volatile == 0 {
            return;
        }
        for _ in 0..count.min(self.entries.len()) {
            self.swept = if self.swept < self.entries.len() { self.swept } else { 0 };
            match self.entries.get_index(self.swept) {
                Some((_, entry)) if self.is_over(entry) => self.expire(self.swept),
                _ => self.swept += 1,
            }
        }
    }

    /// Removes every key.
    pub fn clear(&mut self) {
        self.changes += self.len() as u64;
        self.entries = Map::default();
        (self.volatile, self.bytes) = (0, 0);
        self.in_slots.fill(0);
    }

    /// Sets the counts of hits, misses and expired keys to zero.
    pub fn reset_counters(&mut self) {
        (self.hits, self.misses, self.expired) = (0, 0, 0);
    }

    /// Returns the number of keys, including expired keys that are not removed yet.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_over(&self, entry: &KeyEntry) -> bool {
        entry.expires_ms > 0 && entry.expires_ms <= self.now_ms
    }

    /// Returns the index of a key. An expired key is removed and not returned.
    fn find(&mut self, key: &[u8]) -> Option<usize> {
        let place = self.entries.get_index_of(key)?;
        if self.is_over(&self.entries[place]) {
            self.expire(place);
            return None;
        }
        Some(place)
    }

    fn find_counted(&mut self, key: &[u8]) -> Option<usize> {
        let found = self.find(key);
        match found {
            Some(_) => self.hits += 1,
            None => self.misses += 1,
        }
        found
    }

    fn expire(&mut self, place: usize) {
        self.expired += 1;
        if let (Some(expired), Some((key, _))) = (&mut self.expired_keys, self.entries.get_index(place)) {
            expired.push(key.clone());
        }
        self.remove_at(place);
    }

    fn insert(&mut self, key: &[u8], value: Value) -> usize {
        self.bytes += OVERHEAD + key.len() + value.size();
        if !self.in_slots.is_empty() {
            self.in_slots[usize::from(key_slot(key))] += 1;
        }
        self.entries.insert_full(key.into(), KeyEntry { value, expires_ms: 0 }).0
    }

    fn remove_at(&mut self, place: usize) {
        drop(self.take_at(place));
    }

    fn take_at(&mut self, place: usize) -> Option<KeyEntry> {
        self.set_deadline(place, 0);
        let (key, entry) = self.entries.swap_remove_index(place)?;
        self.bytes -= OVERHEAD + key.len() + entry.value.size();
        if !self.in_slots.is_empty() {
            self.in_slots[usize::from(key_slot(&key))] -= 1;
        }
        Some(entry)
    }

    fn set_deadline(&mut self, place: usize, at_ms: u64) {
        let old = std::mem::replace(&mut self.entries[place].expires_ms, at_ms);
        self.volatile += usize::from(at_ms > 0);
        self.volatile -= usize::from(old > 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_scan_returns_every_key_that_stays_while_others_are_added_and_removed() {
        let mut database = Database::default();
        for n in 0..1000 {
            database.set_string(format!("stay:{n}").as_bytes(), b"v");
            database.set_string(format!("go:{n}").as_bytes(), b"v");
        }
        let (mut cursor, mut round, mut seen) = (0, 0, BTreeMap::new());
        loop {
            cursor = database.scan(cursor, 7, |key| *seen.entry(key.to_vec()).or_insert(0) += 1);
            database.remove(format!("go:{round}").as_bytes());
            database.set_string(format!("new:{round}").as_bytes(), b"v");
            round += 1;
            if cursor == 0 {
                break;
            }
            assert!(round < 10_000, "the scan does not end");
        }
        for n in 0..1000 {
            assert_eq!(seen.get(format!("stay:{n}").as_bytes()), Some(&1), "stay:{n}");
        }
    }

    #[test]
    fn keys_expire_when_read_and_when_swept() {
        let mut database = Database::default();
        database.set_now(1000);
        for key in [b"a", b"b", b"c"] {
            database.set_string(key, b"v");
        }
        assert!(database.expire_at(b"a", Some(2000)) && database.expire_at(b"b", Some(2000)));
        assert_eq!(database.deadline(b"a"), Some(Some(2000)));
        assert_eq!((database.deadline(b"c"), database.volatile), (Some(None), 2));
        database.set_now(2000);
        assert!(!database.lookup(b"a"));
        assert_eq!((database.len(), database.expired, database.misses), (2, 1, 1));
        database.sweep(10);
        assert_eq!((database.len(), database.expired, database.volatile), (1, 2, 0));
        assert!(!database.expire_at(b"b", None));
        assert!(database.expire_at(b"c", Some(1)), "a moment that has passed removes the key");
        assert_eq!((database.len(), database.bytes), (0, 0));
    }

    proptest! {
        #[test]
        fn the_database_behaves_like_a_map_and_its_bytes_return_to_zero(
            steps in prop::collection::vec((0..3u8, 0..20u8, prop::collection::vec(any::<u8>(), 0..100)), 0..200),
        ) {
            let (mut database, mut model) = (Database::default(), BTreeMap::new());
            for (step, key, value) in steps {
                match step {
                    0 => {
                        database.set_string(&[key], &value);
                        model.insert(key, value);
                    }
                    1 => prop_assert_eq!(database.remove(&[key]), model.remove(&key).is_some()),
                    _ => {
                        prop_assert_eq!(database.read::<Vec<u8>>(&[key]).unwrap(), model.get(&key));
                    }
                }
                prop_assert_eq!(database.len(), model.len());
            }
            for key in model.keys() {
                database.remove(&[*key]);
            }
            prop_assert_eq!(database.bytes, 0);
        }
    }
}
