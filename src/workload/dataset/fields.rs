//! Fields, one after the other in one piece of memory.

/// The fields of some records.
#[derive(Debug, Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Fields {
    pub(super) fn push(&mut self, field: &[u8]) {
        self.extend(field);
        self.end();
    }

    /// Adds a piece of the next one.
    pub(super) fn extend(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// All pieces of the next one are there.
    pub(super) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Forgets them, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// All of them, one after the other.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count()).map(|place| self.get(place))
    }

    /// The field with this number.
    #[inline]
    pub(super) fn get(&self, place: usize) -> &[u8] {
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[from..self.ends[place]]
    }

    /// How many bytes they have together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
