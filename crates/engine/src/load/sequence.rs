//! Sends operations of the load that consist of several requests (steps). Each step is sent after the reply
//! to the step before it.
//!
//! ```text
//!  A1 B C1 ──► all replies ──► A2 C2 ──► all replies ──► idle        a batch: A and C have two steps, B has one
//! ```
//! The first steps of all operations of a batch are written together. After the replies to all first steps have
//! arrived, all second steps are written together. The latency of an operation begins with its first step. The
//! latency ends with the reply to the last step of this operation. After an error, the client still sends the
//! remaining steps, so that the server receives all counted requests. On memcached, a step may send the CAS value
//! from the previous reply. If the previous reply has no CAS value, the step sends 0, which is not a valid CAS value.

use super::{
    answered::BatchProgress,
    replies::{Replies, ReplyResult},
};
use crate::workload::{OpId, OutgoingRequests, Values};

/// The progress of a batch in which some operations have several steps.
#[derive(Debug)]
pub(super) struct Sequence {
    /// The remaining requests: all second steps, then all third steps, and so on.
    later: std::vec::IntoIter<OutgoingRequests>,
    /// The values of the steps, separate from the other bytes, or `None` after the last step is written.
    values: Option<Values>,
    /// The number of the last written step, from 0.
    step: u16,
    /// The time when the second step was written, in ns.
    second_ns: u64,
    /// The number of operations in the whole batch.
    pub(super) batch: u32,
    /// For each operation of the last written step, whether the operation had an error in an earlier step.
    /// The list is empty during the first step.
    failed: Vec<bool>,
    /// For each operation of the last written step, whether the operation had a miss in an earlier step. The list is
    /// empty during the first step.
    missed: Vec<bool>,
    /// The CAS value (item number) in the current reply.
    cas: u64,
    /// Operations with a next step that is not written yet, in the order of the batch.
    waiting: Vec<PendingStep>,
}

/// An operation with a next step that is not written yet.
#[derive(Debug)]
struct PendingStep {
    op: OpId,
    /// The due time of the operation, in ns, or `None` in a closed loop.
    due_ns: Option<u64>,
    has_failed: bool,
    has_missed: bool,
    /// The CAS value (item number) in the operation's reply.
    cas: u64,
}

impl Sequence {
    /// Creates the state of a batch of `batch` operations. The first steps of the operations are already written.
    /// `later` contains the other steps. `values` contains the values of all steps.
    pub(super) fn new(batch: u32, later: Vec<OutgoingRequests>, values: &Values) -> Self {
        let (later, values) = (later.into_iter(), Some(values.clone()));
        let [failed, missed] = [Vec::new(), Vec::new()];
        Self { later, values, step: 0, second_ns: 0, batch, failed, missed, cas: 0, waiting: Vec::new() }
    }

    /// Returns whether the worker must write another step after the current replies.
    pub(super) fn has_next_step(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Stores the CAS value (item number) from the current reply.
    pub(super) fn take_cas(&mut self, cas: u64) {
        self.cas = cas;
    }

    /// Counts the reply to a step of an operation. The reply arrived at `now_ns`. `found` is `None` if the
    /// reply is an error. Returns whether the reply completes the operation without an error.
    pub(super) fn take_step(
        &mut self,
        (op, due_ns, now_ns): (OpId, Option<u64>, u64),
        found: Option<ReplyResult>,
        answered: &mut BatchProgress,
        replies: &mut Replies,
    ) -> bool {
        let is_last = self.step + 1 >= replies.replies_of(op);
        if let Some(found) = found {
            answered.has_missed |= replies.count_part(op, self.step, found);
            let response_ns = due_ns.map(|due_ns| now_ns.saturating_sub(due_ns));
            match self.step {
                0 => replies.record_first_step(op, response_ns, answered.has_missed),
                _ if is_last => replies.record_later_steps(op, now_ns.saturating_sub(self.second_ns)),
                _ => {}
            }
        }
        answered.has_missed |= self.missed.get(answered.place()) == Some(&true);
        let cas = std::mem::take(&mut self.cas);
        let next_has_failed = self.has_failed(answered.place() + 1);
        let has_failed = std::mem::replace(&mut answered.has_failed, next_has_failed);
        if !is_last {
            answered.whole += 1;
            let has_missed = std::mem::take(&mut answered.has_missed);
            self.waiting.push(PendingStep { op, due_ns, has_failed, has_missed, cas });
            return false;
        }
        if has_failed {
            answered.has_missed = false;
            answered.whole += 1;
            replies.end_failed(op);
        }
        !has_failed
    }

    /// Returns whether the operation with index `place` in the last written step had an error in an earlier step.
    fn has_failed(&self, place: usize) -> bool {
        self.failed.get(place).copied().unwrap_or(false)
    }

    /// Moves on to the next step at `now_ns`, and fills `operations` and `dues` with the operations of this
    /// step. Returns the requests and values that the worker must write.
    pub(super) fn next(
        &mut self,
        operations: &mut Vec<OpId>,
        dues: &mut Vec<u64>,
        answered: &mut BatchProgress,
        now_ns: u64,
    ) -> Option<(OutgoingRequests, Values)> {
        let mut next = self.later.next()?;
        next.put_in(|place, out| {
            out.extend_from_slice(itoa::Buffer::new().format(self.waiting[place].cas).as_bytes());
        });
        let is_last = self.later.as_slice().is_empty();
        let values = if is_last { self.values.take() } else { self.values.clone() };
        self.step += 1;
        if self.step == 1 {
            self.second_ns = now_ns;
        }
        operations.clear();
        dues.clear();
        self.failed.clear();
        self.missed.clear();
        for PendingStep { op, due_ns, has_failed, has_missed, .. } in self.waiting.drain(..) {
            operations.push(op);
            dues.extend(due_ns);
            self.failed.push(has_failed);
            self.missed.push(has_missed);
        }
        *answered = BatchProgress { has_failed: self.has_failed(0), ..BatchProgress::default() };
        Some((next, values?))
    }

    /// Returns all incomplete operations, each with a flag that says whether the operation had an error. The incomplete
    /// operations are the `unanswered` operations of the last written step, and the operations that wait for their next
    /// step.
    pub(super) fn unanswered(
        &self,
        unanswered: &[OpId],
        answered: BatchProgress,
    ) -> impl Iterator<Item = (OpId, bool)> {
        let written = unanswered.iter().enumerate().map(move |(n, op)| match n {
            0 => (*op, answered.has_failed),
            _ => (*op, self.has_failed(answered.place() + n)),
        });
        written.chain(self.waiting.iter().map(|waiting| (waiting.op, waiting.has_failed)))
    }
}
