//! Records that are handed on together.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{error::DatasetError, fields::Fields};

/// Some records, and how many of them are taken.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) fields: Fields,
    /// Portions of a record.
    width: usize,
    pub(super) records: usize,
    next: AtomicUsize,
}

impl Batch {
    /// None yet, of records of which so many portions are sent.
    pub(super) fn of(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Takes the next of its records; its place, unless all are taken.
    fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < self.records)
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.records
    }
}

/// The record that was taken last.
#[derive(Debug, Clone, Default)]
pub(in crate::workload) struct Taken {
    batch: Option<Arc<Batch>>,
    place: usize,
    failed: Option<DatasetError>,
    /// Whether the next one is not read yet.
    is_awaited: bool,
}

impl Taken {
    /// The portion with this number; nothing before a record was taken.
    #[inline]
    pub(in crate::workload) fn field(&self, number: usize) -> &[u8] {
        self.batch.as_ref().map_or(&[], |batch| batch.fields.get(self.place * batch.width + number))
    }

    /// Why none could be taken.
    #[inline]
    pub(in crate::workload) fn failure(&self) -> Option<&DatasetError> {
        self.failed.as_ref()
    }

    /// Whether the next one was to be taken, and is not read yet.
    #[inline]
    pub(in crate::workload) fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// Whether the next one is read.
    pub(super) fn await_next(&mut self, is_awaited: bool) {
        self.is_awaited = is_awaited;
    }

    /// Takes the next record of the batch of the last one, if there is one left.
    pub(super) fn advance(&mut self) -> bool {
        let next = self.batch.as_ref().and_then(|batch| batch.take());
        self.place = next.unwrap_or(self.place);
        next.is_some()
    }

    /// Goes on with another batch, or with none, and why.
    pub(super) fn follow(&mut self, batch: Result<Arc<Batch>, DatasetError>) {
        let failed = batch.as_ref().err().cloned();
        *self = Self { batch: batch.ok(), place: 0, failed, is_awaited: false };
    }
}
