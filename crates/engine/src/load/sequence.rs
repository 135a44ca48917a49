//! Operations whose steps wait for one another.
//!
//! ```text
//!  A1 B C1 ──► all replies ──► A2 C2 ──► all replies ──► idle        a batch: A and C have two steps, B has one
//! ```
//! The first steps of a batch are written at once, then the second steps at once when all of them are answered. An operation
//! begins with its first step and is over with the reply to its last; each has its own end. An error does not end it: what
//! is left of it is asked all the same, so that the server is asked what was counted. A step may send the number of the item
//! that the reply to the one before brought; that of no item is 0, which none has.

use super::{
    answered::Answered,
    replies::{Found, Replies},
};
use crate::workload::{OpId, Outgoing, Values};

/// How far a batch is whose operations, some at least, have steps that wait for one another.
#[derive(Debug)]
pub(super) struct Sequence {
    /// What is to be written: the second steps, the third, ...
    later: std::vec::IntoIter<Outgoing>,
    /// Where the values lie that are left out in these; let go with the last of them.
    values: Option<Values>,
    /// The number of the step that was written last, from 0 on.
    step: u16,
    /// Operations of the whole batch.
    batch: u32,
    /// Whether each operation that was written last has had an error before; none has had where it is empty.
    failed: Vec<bool>,
    /// The number of the item that the next reply has.
    cas: u64,
    /// Those whose next step is to be written, in their order.
    waiting: Vec<Waiting>,
}

/// An operation that waits for its next step to be written.
#[derive(Debug)]
struct Waiting {
    op: OpId,
    /// When it was due, in open loop.
    due_ns: Option<u64>,
    has_failed: bool,
    /// The number of the item that it was answered with.
    cas: u64,
}

impl Sequence {
    /// A batch of so many operations whose first steps are written, and these later; their values are in `values`.
    pub(super) fn new(batch: u32, later: Vec<Outgoing>, values: &Values) -> Self {
        let (later, values) = (later.into_iter(), Some(values.clone()));
        Self { later, values, step: 0, batch, failed: Vec::new(), cas: 0, waiting: Vec::new() }
    }

    /// Operations of the whole batch.
    pub(super) fn batch(&self) -> u32 {
        self.batch
    }

    /// Whether a step is to be written when what was written is answered.
    pub(super) fn goes_on(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the number of an item into account that the next reply has.
    pub(super) fn take_cas(&mut self, cas: u64) {
        self.cas = cas;
    }

    /// Takes the reply to a step of an operation into account, which found something or is an error. Whether it is the last
    /// of a good operation.
    pub(super) fn take_step(
        &mut self,
        (op, due_ns): (OpId, Option<u64>),
        found: Option<Found>,
        answered: &mut Answered,
        replies: &mut Replies,
    ) -> bool {
        if let Some(found) = found {
            replies.count_part(op, self.step, found);
        }
        let cas = std::mem::take(&mut self.cas);
        let next_has_failed = self.has_failed(answered.place() + 1);
        let has_failed = std::mem::replace(&mut answered.has_failed, next_has_failed);
        if self.step + 1 < replies.replies_of(op) {
            answered.whole += 1;
            self.waiting.push(Waiting { op, due_ns, has_failed, cas });
            return false;
        }
        if has_failed {
            answered.whole += 1;
            replies.end_failed(op);
        }
        !has_failed
    }

    /// Whether the operation at this place of those that were written last has had an error before that.
    fn has_failed(&self, place: usize) -> bool {
        self.failed.get(place).copied().unwrap_or(false)
    }

    /// Goes on to the next step, of `operations` with these `dues`: what is to be written, and its values.
    pub(super) fn next(
        &mut self,
        operations: &mut Vec<OpId>,
        dues: &mut Vec<u64>,
        answered: &mut Answered,
    ) -> Option<(Outgoing, Values)> {
        let mut next = self.later.next()?;
        next.put_in(|place, out| {
            out.extend_from_slice(itoa::Buffer::new().format(self.waiting[place].cas).as_bytes());
        });
        let is_last = self.later.as_slice().is_empty();
        let values = if is_last { self.values.take() } else { self.values.clone() };
        self.step += 1;
        operations.clear();
        dues.clear();
        self.failed.clear();
        for Waiting { op, due_ns, has_failed, .. } in self.waiting.drain(..) {
            operations.push(op);
            dues.extend(due_ns);
            self.failed.push(has_failed);
        }
        *answered = Answered { has_failed: self.has_failed(0), ..Answered::default() };
        Some((next, values?))
    }

    /// The operations that are not answered whole, and whether each has had an error: of those that were written last the
    /// ones that are `unanswered`, and those that wait.
    pub(super) fn unanswered(
        &self,
        unanswered: &[OpId],
        answered: Answered,
    ) -> impl Iterator<Item = (OpId, bool)> {
        let written = unanswered.iter().enumerate().map(move |(n, op)| match n {
            0 => (*op, answered.has_failed),
            _ => (*op, self.has_failed(answered.place() + n)),
        });
        written.chain(self.waiting.iter().map(|waiting| (waiting.op, waiting.has_failed)))
    }
}
