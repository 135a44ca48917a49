//! Counts the replies to the batch of requests that a connection of the load has sent. An operation may have
//! several replies.

use super::replies::{Replies, ReplyResult};
use crate::workload::OpId;

/// A batch whose requests are being encoded.
pub(super) struct BatchBuffers<'a> {
    /// The operations of the batch.
    pub(super) operations: &'a mut Vec<OpId>,
    /// The due time of each operation, in ns. The list is empty in a closed loop.
    pub(super) dues: &'a mut Vec<u64>,
}

/// The answered part of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BatchProgress {
    /// How many operations have received all their replies.
    pub(super) whole: u32,
    /// How many replies the first incomplete operation has received, if the operation has several replies.
    pub(super) replies: u16,
    /// Whether a reply to the first incomplete operation was an error.
    pub(super) has_failed: bool,
    /// Whether a reply to the first incomplete operation was a miss.
    pub(super) has_missed: bool,
    /// Whether the server refused a request only for now, for example because it loads its data. An operation may have
    /// several steps, which are requests that are sent one after the other. For an operation with several steps, only
    /// the last written step counts.
    pub(super) is_refused: bool,
}

impl BatchProgress {
    /// Counts a single reply. The reply is an error, or cannot be counted together with other replies. Returns
    /// whether the reply completes an operation that had no error.
    pub(super) fn take_part(&mut self, op: OpId, found: Option<ReplyResult>, replies: &mut Replies) -> bool {
        if let Some(found) = found {
            self.has_missed |= replies.count_part(op, self.replies, found);
        }
        self.replies += 1;
        if self.replies < replies.replies_of(op) {
            return false;
        }
        self.replies = 0;
        let has_failed = std::mem::take(&mut self.has_failed);
        if has_failed {
            self.has_missed = false;
            self.whole += 1;
            replies.end_failed(op);
        }
        !has_failed
    }

    /// Returns the index of the operation that gets the next reply.
    #[inline]
    pub(super) fn place(self) -> usize {
        self.whole as usize
    }
}
