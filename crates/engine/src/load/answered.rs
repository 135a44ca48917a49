//! A connection's batch: the operations requested, and how many replies have arrived, for operations with one or
//! several replies.

use super::replies::{Found, Replies};
use crate::workload::OpId;

/// A batch that is being put together.
pub(super) struct Batch<'a> {
    /// The operations of the batch.
    pub(super) operations: &'a mut Vec<OpId>,
    /// When each operation was due, in open loop.
    pub(super) dues: &'a mut Vec<u64>,
}

/// How much of a batch is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Answered {
    /// Operations that have all their replies.
    pub(super) whole: u32,
    /// Replies received for the next operation, if it has several.
    pub(super) replies: u16,
    /// Whether one of those replies was an error.
    pub(super) has_failed: bool,
}

impl Answered {
    /// Counts a reply that is an error, found nothing that counts, or is examined on its own. Returns whether it is
    /// the last reply of an operation without an error.
    pub(super) fn take_part(&mut self, op: OpId, found: Option<Found>, replies: &mut Replies) -> bool {
        if let Some(found) = found {
            replies.count_part(op, self.replies, found);
        }
        self.replies += 1;
        if self.replies < replies.replies_of(op) {
            return false;
        }
        self.replies = 0;
        let has_failed = std::mem::take(&mut self.has_failed);
        if has_failed {
            self.whole += 1;
            replies.end_failed(op);
        }
        !has_failed
    }

    /// Returns the index of the operation that the next reply belongs to.
    #[inline]
    pub(super) fn place(self) -> usize {
        self.whole as usize
    }
}
