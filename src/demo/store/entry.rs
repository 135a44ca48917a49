//! A key with its value, as they lie in a database.

use super::Value;
use super::key::Key;

/// What a key costs beside its own and its value's bytes: the entry and its share of the table.
const OVERHEAD: usize = 72;

/// A key and its value, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Entry {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Value,
    /// Unix time in ms; 0 when it does not expire.
    pub expires_ms: u64,
    /// Bytes counted for this entry.
    pub charged: usize,
}

impl Entry {
    /// An entry that never expires and that nothing is counted for yet.
    pub fn new(key: &[u8], value: Value) -> Self {
        Self { key: Key::new(key), value, expires_ms: 0, charged: 0 }
    }

    /// Counts its bytes anew; what was counted before, and what now.
    pub fn charge(&mut self) -> (usize, usize) {
        let size = OVERHEAD + self.key.bytes().len() + self.value.size();
        (std::mem::replace(&mut self.charged, size), size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_cache_line() {
        assert_eq!(size_of::<Option<Entry>>(), 64);
    }
}
