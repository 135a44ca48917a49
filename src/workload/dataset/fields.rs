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
        self.bytes.extend_from_slice(field);
        self.ends.push(self.bytes.len());
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
