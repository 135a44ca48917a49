//! Defines which parts of a dataset's record can be sent, and their placeholders.
//!
//! A [`RecordBatch`] contains records that the workers get together.
//!
//! [`FieldBuffer`] stores the fields of records one after the other in one block of memory.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::error::{DatasetError, RecordError};
use crate::untrusted;

/// A part of a record that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portion {
    /// The field with this name: `__field:NAME__`.
    Field(String),
    /// The bytes that the field with this name contains in base64: `__field:NAME:base64__`.
    Decoded(String),
    /// The whole record as a JSON object: `__record__`. For JSON lines, the line itself is sent.
    Whole,
    /// A body of several whole records for Elasticsearch's `_bulk`, with an index line before each record.
    /// `__bulk:100__` is a body of 100 records.
    Bulk(String),
}

const WHOLE: &str = "__record__";
const BULK: &str = "__bulk:";
/// The largest number of records in a body for `_bulk`.
const MOST: u64 = 1000;

impl Portion {
    /// Returns the part of a record that replaces the placeholder. Returns `None` for any other placeholder.
    pub(in crate::workload) fn of(placeholder: &str) -> Option<Self> {
        if placeholder == WHOLE {
            return Some(Self::Whole);
        }
        if let Some(count) = placeholder.strip_prefix(BULK).and_then(|count| count.strip_suffix("__")) {
            let is_count = count.parse().is_ok_and(|count| (1..=MOST).contains(&count));
            return is_count.then(|| Self::Bulk(count.to_owned()));
        }
        let name = placeholder.strip_prefix("__field:")?.strip_suffix("__")?;
        match name.strip_suffix(":base64") {
            Some(name) if !name.is_empty() => Some(Self::Decoded(name.to_owned())),
            _ => (!name.is_empty()).then(|| Self::Field(name.to_owned())),
        }
    }

    /// Returns the number of records that a request with these parts uses.
    pub(super) fn records(portions: &[Self]) -> u64 {
        let counts =
            portions.iter().filter_map(|it| if let Self::Bulk(count) = it { Some(count) } else { None });
        counts.filter_map(|count| count.parse().ok()).max().unwrap_or(1)
    }

    /// Returns the name of the field, or `None` for the whole record.
    pub(super) fn field(&self) -> Option<&String> {
        match self {
            Self::Field(name) | Self::Decoded(name) => Some(name),
            Self::Whole | Self::Bulk(_) => None,
        }
    }

    /// Returns the placeholder of the part, split into three pieces.
    pub(in crate::workload) fn placeholder(&self) -> [&str; 3] {
        match self {
            Self::Field(name) => ["__field:", name, "__"],
            Self::Decoded(name) => ["__field:", name, ":base64__"],
            Self::Whole => [WHOLE, "", ""],
            Self::Bulk(count) => [BULK, count, "__"],
        }
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.placeholder().concat())
    }
}

/// Appends a record as a JSON object with text fields only: `{"id":"1","title":"…"}`.
pub(super) fn push_object<'a>(
    line: u64,
    record: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    to: &mut FieldBuffer,
) -> Result<(), RecordError> {
    let text = |bytes| {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| RecordError::at(line, "JSON is UTF-8, and the record is not"))?;
        serde_json::to_string(text).map_err(|error| RecordError::at(line, error))
    };
    let mut known = BTreeSet::new();
    for (name, field) in record {
        if !known.insert(name) {
            let name = untrusted::bytes(name);
            let what = format!("the record has two fields '{name}', but a JSON object can have only one");
            return Err(RecordError::at(line, what));
        }
        let before = if known.len() == 1 { "{" } else { "," };
        to.extend([before, &text(name)?, ":", &text(field)?].concat().as_bytes());
    }
    to.extend(b"}");
    to.end();
    Ok(())
}

/// A batch of records, with the number of records that were already used.
#[derive(Debug, Default)]
pub(super) struct RecordBatch {
    pub(super) fields: FieldBuffer,
    /// The number of parts of each record.
    width: usize,
    pub(super) records: usize,
    next: AtomicUsize,
}

impl RecordBatch {
    /// Creates an empty batch for records with `width` parts each.
    pub(super) fn of(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Counts the next record of the batch as used. Returns the record's index, or `None` if all records are used.
    fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < self.records)
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.records
    }
}

/// The record of the current operation.
#[derive(Debug, Clone, Default)]
pub(in crate::workload) struct CurrentRecord {
    batch: Option<Arc<RecordBatch>>,
    place: usize,
    failed: Option<DatasetError>,
    /// Whether the next record is needed but has not been read yet.
    pub(in crate::workload) is_awaited: bool,
}

impl CurrentRecord {
    /// Returns part number `number` of the record. The result is empty before the first record.
    #[inline]
    pub(in crate::workload) fn field(&self, number: usize) -> &[u8] {
        self.batch.as_ref().map_or(&[], |batch| batch.fields.get(self.place * batch.width + number))
    }

    /// Returns the error if there is no further record.
    #[inline]
    pub(in crate::workload) fn failure(&self) -> Option<&DatasetError> {
        self.failed.as_ref()
    }

    /// Continues with the next record of the same batch. Returns false if the batch has no further record.
    pub(super) fn advance(&mut self) -> bool {
        let next = self.batch.as_ref().and_then(|batch| batch.take());
        self.place = next.unwrap_or(self.place);
        next.is_some()
    }

    /// Continues with another batch, or stores the error if there is no further batch.
    pub(super) fn follow(&mut self, batch: Result<Arc<RecordBatch>, DatasetError>) {
        let failed = batch.as_ref().err().cloned();
        *self = Self { batch: batch.ok(), place: 0, failed, is_awaited: false };
    }
}

/// The fields of a number of records.
#[derive(Debug, Default)]
pub(super) struct FieldBuffer {
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<usize>,
}

impl FieldBuffer {
    pub(super) fn push(&mut self, field: &[u8]) {
        self.extend(field);
        self.end();
    }

    /// Appends a piece to the field that is being added.
    pub(super) fn extend(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// Completes the field that is being added.
    pub(super) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Decodes base64 in the fields from number `first` on. `portions` shows which of these fields are base64.
    ///
    /// # Errors
    /// Fails if a field is not base64. The error is the name of the first such field.
    pub(super) fn decode<'a>(&mut self, first: usize, portions: &'a [Portion]) -> Result<(), &'a str> {
        if !portions.iter().any(|portion| matches!(portion, Portion::Decoded(_))) {
            return Ok(());
        }
        let encoded: Vec<_> = (first..self.count()).map(|place| self.get(place).to_vec()).collect();
        self.bytes.truncate(self.bytes.len() - encoded.iter().map(Vec::len).sum::<usize>());
        self.ends.truncate(first);
        for (field, portion) in encoded.iter().zip(portions) {
            match portion {
                Portion::Decoded(name) => self.push(&STANDARD.decode(field).map_err(|_| name.as_str())?),
                Portion::Field(_) | Portion::Whole | Portion::Bulk(_) => self.push(field),
            }
        }
        Ok(())
    }

    /// Removes all fields, but keeps the allocated memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the number of fields.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns all fields, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count()).map(|place| self.get(place))
    }

    /// Returns the field with this number.
    #[inline]
    pub(super) fn get(&self, place: usize) -> &[u8] {
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[from..self.ends[place]]
    }

    /// Returns the total number of bytes in all fields.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
