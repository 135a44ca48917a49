//! Operations of one kind that follow each other in a batch: their bytes are counted together.

use crate::workload::OpId;

/// A run of them, in bytes that are counted from their beginning.
#[derive(Default)]
pub(super) struct Run {
    op: Option<OpId>,
    from: usize,
    /// Where the last of them ends.
    to: usize,
}

impl Run {
    /// The next operation ends behind so many bytes. The run before it with its bytes, if that was of another kind.
    #[inline]
    pub(super) fn follow(&mut self, op: OpId, to: usize) -> Option<(OpId, usize)> {
        let ended = if self.op == Some(op) { None } else { self.end() };
        (self.op, self.to) = (Some(op), to);
        ended
    }

    /// No more of them follow. Which they were, with their bytes.
    #[inline]
    pub(super) fn end(&mut self) -> Option<(OpId, usize)> {
        let ended = self.op.take().map(|op| (op, self.to - self.from));
        self.from = self.to;
        ended
    }

    /// How many bytes the runs have so far.
    #[inline]
    pub(super) fn to(&self) -> usize {
        self.to
    }
}
