//! One database: keys, values, expiry.
//!
//! ```text
//! table: hash ─► place          places: [ entry │ free │ entry │ … ]          deadlines: (ms, place), in order
//! ```
//! An entry keeps its place for as long as its key lives. So SCAN's cursor is a place, and a key that is there from
//! the first call to the last is returned, whatever comes and goes meanwhile.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::entry::Entry;
use super::{Edit, Kind, Value};
use crate::demo::failure::Failure;

/// Keys sampled for the mean time to live.
const TTL_SAMPLE: usize = 100;

/// Keys and their values.
#[derive(Debug, Default)]
pub struct Database {
    table: HashTable<u32>,
    places: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// When keys expire, in ms since 1970, each with the place of its key.
    deadlines: BTreeSet<(u64, u32)>,
    hasher: DefaultHashBuilder,
    bytes: usize,
    now_ms: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Keys that went because their time was over.
    pub expired: u64,
    /// Times that a key was written to, whether its value became another or not.
    pub changes: u64,
}

impl Database {
    /// Tells the time, in ms since 1970, by which keys expire.
    pub fn set_now(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// The value of `key`; counts a hit or a miss.
    pub fn lookup(&mut self, key: &[u8]) -> Option<&Value> {
        match self.find_live(key) {
            Some(place) => {
                self.hits += 1;
                Some(self.value(place))
            }
            None => {
                self.misses += 1;
                None
            }
        }
    }

    /// The same as a value of type `T`.
    ///
    /// # Errors
    /// When it is of another.
    pub fn read<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&T>, Failure> {
        self.lookup(key).map(|value| T::of(value).ok_or(Failure::WrongType)).transpose()
    }

    /// The same, uncounted.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn peek<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&T>, Failure> {
        let Some(place) = self.find_live(key) else { return Ok(None) };
        T::of(self.value(place)).ok_or(Failure::WrongType).map(Some)
    }

    /// The value of `key` to change.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn edit<T: Kind>(&mut self, key: &[u8]) -> Result<Option<Edit<'_, T>>, Failure> {
        let Some(place) = self.find_live(key) else { return Ok(None) };
        Edit::new(self, place).map(Some)
    }

    /// The value of `key` to change, made where there is none.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn edit_or_new<T: Kind>(&mut self, key: &[u8]) -> Result<Edit<'_, T>, Failure> {
        let place = match self.find_live(key) {
            Some(place) => place,
            None => self.insert(key, T::default().wrap()),
        };
        Edit::new(self, place)
    }

    /// Sets `key` to a string and makes it live forever. Its old buffer is used again.
    pub fn set_string(&mut self, key: &[u8], value: &[u8]) {
        self.changes += 1;
        let Some(place) = self.find(key) else {
            self.insert(key, Value::String(value.to_vec()));
            return;
        };
        self.set_deadline(place, 0);
        let entry = self.entry_mut(place);
        match &mut entry.value {
            // A buffer that is far too large is let go.
            Value::String(old) if old.capacity() <= 2 * value.len() + 64 => {
                old.clear();
                old.extend_from_slice(value);
            }
            other => *other = Value::String(value.to_vec()),
        }
        self.charge(place);
    }

    /// Removes `key`; whether it was there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some(place) = self.find_live(key) else { return false };
        self.vacate(place);
        self.changes += 1;
        true
    }

    /// When `key` expires, in ms since 1970; `Some(None)` if never, `None` if there is no such key.
    pub fn deadline(&mut self, key: &[u8]) -> Option<Option<u64>> {
        let place = self.find_live(key)?;
        let at_ms = self.entry_mut(place).expires_ms;
        Some((at_ms > 0).then_some(at_ms))
    }

    /// Makes `key` expire at `at_ms`, or never; whether there is such a key. A moment that has passed removes it.
    pub fn expire_at(&mut self, key: &[u8], at_ms: Option<u64>) -> bool {
        let Some(place) = self.find_live(key) else { return false };
        self.changes += 1;
        match at_ms {
            Some(at_ms) if at_ms <= self.now_ms => self.vacate(place),
            _ => self.set_deadline(place, at_ms.unwrap_or(0)),
        }
        true
    }

    /// Visits up to `count` places from `cursor` on; the cursor to go on from, 0 at the end.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8])) -> u64 {
        let start = usize::try_from(cursor).unwrap_or(usize::MAX).min(self.places.len());
        let end = start.saturating_add(count).min(self.places.len());
        for entry in self.places[start..end].iter().flatten() {
            if entry.expires_ms == 0 || entry.expires_ms > self.now_ms {
                visit(entry.key.bytes());
            }
        }
        if end == self.places.len() { 0 } else { end as u64 }
    }

    /// Removes keys whose time is over, at most `limit`.
    pub fn expire_due(&mut self, limit: usize) {
        for _ in 0..limit {
            match self.deadlines.first() {
                Some(&(at_ms, place)) if at_ms <= self.now_ms => {
                    self.expired += 1;
                    self.vacate(place);
                }
                _ => return,
            }
        }
    }

    /// Removes every key.
    pub fn clear(&mut self) {
        self.changes += self.len() as u64;
        self.table = HashTable::new();
        self.places = Vec::new();
        self.free = Vec::new();
        self.deadlines.clear();
        self.bytes = 0;
    }

    /// Sets the counts of hits, misses and expired keys to zero.
    pub fn reset_counters(&mut self) {
        (self.hits, self.misses, self.expired) = (0, 0, 0);
    }

    /// How many keys there are, those included whose time is over but that nobody has removed yet.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// How many keys expire.
    pub fn volatile_len(&self) -> usize {
        self.deadlines.len()
    }

    /// Mean time to live in ms of the keys that expire soonest; 0 if there is none.
    pub fn mean_ttl_ms(&self) -> u64 {
        let sample =
            self.deadlines.iter().take(TTL_SAMPLE).map(|(at_ms, _)| at_ms.saturating_sub(self.now_ms));
        sample.clone().sum::<u64>() / (sample.count() as u64).max(1)
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn find(&self, key: &[u8]) -> Option<u32> {
        let same =
            |place: &u32| self.places[*place as usize].as_ref().is_some_and(|entry| entry.key.bytes() == key);
        self.table.find(self.hasher.hash_one(key), same).copied()
    }

    /// Finds a key and removes it instead if its time is over.
    fn find_live(&mut self, key: &[u8]) -> Option<u32> {
        let place = self.find(key)?;
        let at_ms = self.entry_mut(place).expires_ms;
        if at_ms > 0 && at_ms <= self.now_ms {
            self.expired += 1;
            self.vacate(place);
            return None;
        }
        Some(place)
    }

    /// The value at an occupied place.
    pub(super) fn value(&self, place: u32) -> &Value {
        let entry = self.places[place as usize].as_ref();
        &entry.expect("a place in the table holds an entry").value
    }

    /// The same, to change; the change must end with [`Self::settle`].
    pub(super) fn value_mut(&mut self, place: u32) -> &mut Value {
        &mut self.entry_mut(place).value
    }

    /// Counts a value's bytes anew after a change, or removes it if it was emptied.
    pub(super) fn settle(&mut self, place: u32) {
        self.changes += 1;
        if self.value(place).is_emptied() {
            self.vacate(place);
        } else {
            self.charge(place);
        }
    }

    fn entry_mut(&mut self, place: u32) -> &mut Entry {
        self.places[place as usize].as_mut().expect("a place in the table holds an entry")
    }

    fn insert(&mut self, key: &[u8], value: Value) -> u32 {
        let entry = Entry::new(key, value);
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(entry);
                place
            }
            None => {
                self.places.push(Some(entry));
                u32::try_from(self.places.len() - 1).expect("2^32 keys do not fit in memory")
            }
        };
        let (places, hasher) = (&self.places, &self.hasher);
        let hash_of = |place: &u32| {
            hasher.hash_one(places[*place as usize].as_ref().map_or(&[][..], |entry| entry.key.bytes()))
        };
        self.table.insert_unique(hasher.hash_one(key), place, hash_of);
        self.charge(place);
        place
    }

    fn vacate(&mut self, place: u32) {
        self.set_deadline(place, 0);
        let Some(entry) = self.places[place as usize].take() else { return };
        self.bytes -= entry.charged;
        if let Ok(found) =
            self.table.find_entry(self.hasher.hash_one(entry.key.bytes()), |other| *other == place)
        {
            found.remove();
        }
        self.free.push(place);
    }

    fn set_deadline(&mut self, place: u32, at_ms: u64) {
        let entry = self.entry_mut(place);
        let old = std::mem::replace(&mut entry.expires_ms, at_ms);
        if old > 0 {
            self.deadlines.remove(&(old, place));
        }
        if at_ms > 0 {
            self.deadlines.insert((at_ms, place));
        }
    }

    fn charge(&mut self, place: u32) {
        let (old, new) = self.entry_mut(place).charge();
        self.bytes = self.bytes + new - old;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_scan_returns_every_key_that_stays_whatever_comes_and_goes() {
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
        assert_eq!((database.deadline(b"c"), database.mean_ttl_ms()), (Some(None), 1000));
        database.set_now(2000);
        assert!(database.lookup(b"a").is_none());
        assert_eq!((database.len(), database.expired, database.misses), (2, 1, 1));
        database.expire_due(10);
        assert_eq!((database.len(), database.expired, database.volatile_len()), (1, 2, 0));
        assert!(!database.expire_at(b"b", None));
        assert!(database.expire_at(b"c", Some(1)), "a moment that has passed removes the key");
        assert_eq!((database.len(), database.bytes()), (0, 0));
    }

    proptest! {
        #[test]
        fn it_behaves_like_a_map_and_its_bytes_come_back_to_zero(
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
            prop_assert_eq!(database.bytes(), 0);
        }
    }
}
