//! A connection's batch: what is asked, and how far the replies have come, to operations of one reply and of several.

use super::replies::{Found, Replies};
use crate::workload::OpId;

/// A batch that is being put together.
pub(super) struct Batch<'a> {
    /// What is asked.
    pub(super) operations: &'a mut Vec<OpId>,
    /// When each was due, in open loop.
    pub(super) dues: &'a mut Vec<u64>,
}

/// How much of a batch is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Answered {
    /// Operations that are answered whole.
    pub(super) whole: u32,
    /// Replies to the next one, which has several.
    pub(super) replies: u16,
    /// Whether one of those was an error.
    pub(super) has_failed: bool,
}

impl Answered {
    /// Takes a reply into account that is an error, which found nothing that counts, or is looked at by itself. Whether it is
    /// the last of a good operation.
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

    /// The place of the operation that the next reply belongs to.
    #[inline]
    pub(super) fn place(self) -> usize {
        self.whole as usize
    }
}
