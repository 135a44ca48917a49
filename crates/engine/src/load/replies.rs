//! Counts the replies of the load, and their latencies, after each read of a socket.

use super::{ErrorKind, IntervalBuffer};
use crate::{
    endpoint::NodeNumber,
    protocol::{Reply, ReplyParts},
    workload::{Expected, Misses, OpId},
};

/// The number of bits of [`Replies::touched`].
const TOUCHED: usize = u64::BITS as usize;

/// The result of a reply without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyResult {
    /// The reply contains data.
    Something,
    /// The reply is a null or an empty list.
    Nothing,
    /// The reply says that another client changed the data.
    Conflict,
}

impl ReplyResult {
    /// Returns the result of a reply, or `None` if the reply is an error.
    pub(super) fn of(reply: Reply) -> Option<Self> {
        match reply {
            Reply::Value => Some(Self::Something),
            Reply::Nil => Some(Self::Nothing),
            Reply::Conflict => Some(Self::Conflict),
            Reply::Error(_) => None,
        }
    }
}

/// The counts of one operation without an error in a single read of a socket. The fields from `replies` on
/// are the rules for counting the operation's replies.
pub(super) struct ReadCounts {
    good: u32,
    /// The bytes of the operations' last replies.
    bytes: u32,
    /// Operations that were answered with a null.
    nulls: u32,
    /// The number of replies that the operation has.
    replies: u16,
    /// Whether the replies are examined one by one.
    by_replies: bool,
    /// Whether the operation waits for each reply before it sends its next request.
    is_sequence: bool,
    /// Whether a null counts as a miss and every other reply as a hit.
    has_misses: bool,
    /// Whether the first reply is compared with an expected reply.
    is_compared: bool,
}

impl ReadCounts {
    /// Returns an empty count for an operation.
    pub(super) fn none(expected: &Expected) -> Self {
        Self {
            good: 0,
            bytes: 0,
            nulls: 0,
            replies: expected.requests.len() as u16,
            by_replies: !matches!(&*expected.requests, [only] if only.misses != Misses::NullOrConflict),
            is_sequence: expected.is_sequence,
            has_misses: matches!(&*expected.requests, [only] if only.misses == Misses::Null),
            is_compared: expected.is_compared,
        }
    }
}

/// Counts the replies of one read of a socket. The replies have the same arrival time. The requests of these replies
/// have the same write time, and belong to the same segment of the session. [`settle`](Self::settle) therefore counts
/// all replies without an error together.
pub(super) struct Replies<'a> {
    in_flight: &'a mut u64,
    buffer: &'a mut IntervalBuffer,
    taken: &'a mut [ReadCounts],
    /// Bit n is set if `taken` has a non-empty entry at an index that equals n modulo 64.
    touched: u64,
    service_ns: u64,
    /// Whether the requests waited for a core of the load generator for at least half of their latency.
    pub(super) held: bool,
    /// The node that sent the replies, or `None` without a cluster.
    pub(super) node: Option<NodeNumber>,
    /// Whether the requests had due times, which only an open loop has.
    is_open: bool,
}

impl<'a> Replies<'a> {
    /// Creates a counter that adds to `buffer`. The replies arrived `service_ns` after the write of their requests.
    #[inline]
    pub(super) fn new(
        in_flight: &'a mut u64,
        buffer: &'a mut IntervalBuffer,
        taken: &'a mut [ReadCounts],
        service_ns: u64,
    ) -> Self {
        Self { in_flight, buffer, taken, touched: 0, service_ns, held: false, node: None, is_open: false }
    }

    /// Counts bytes that were read.
    #[inline]
    pub(super) fn count_bytes(&mut self, n: usize) {
        self.buffer.bytes_in += n as u64;
        if let Some(node) = self.node {
            self.buffer.by_node.read(node, n as u64);
        }
    }

    /// Counts bytes of replies to an operation.
    #[inline]
    pub(super) fn count_bytes_of(&mut self, op: OpId, n: usize) {
        self.buffer.counts[op.index()].bytes_in += n as u64;
    }

    /// Returns the parts of replies that are needed: elements for hits and misses, or numbers for a later request.
    #[inline]
    pub(super) fn parts(&self) -> ReplyParts {
        self.buffer.operations.parts
    }

    /// Returns whether the replies to an operation must be examined one by one. An operation needs this if it has
    /// several replies, or if conflicts are possible.
    #[inline]
    pub(super) fn by_replies(&self, op: OpId) -> bool {
        self.taken[op.index()].by_replies
    }

    /// Returns `n` if the first reply to this operation is compared with an expected reply, and `None` otherwise.
    #[inline]
    pub(super) fn compares(&self, op: OpId, n: usize) -> Option<usize> {
        self.taken[op.index()].is_compared.then_some(n)
    }

    /// Returns how many replies an operation has.
    pub(super) fn replies_of(&self, op: OpId) -> u16 {
        self.taken[op.index()].replies
    }

    /// Returns whether the replies to an operation are counted without being examined or compared.
    #[inline]
    pub(super) fn are_only_counted(&self, op: OpId) -> bool {
        let taken = &self.taken[op.index()];
        !taken.by_replies && !taken.is_compared
    }

    /// Counts `n` operations of a closed loop that were answered without an error. The last replies to these
    /// operations have `bytes` bytes in total. `nulls` of these replies are null.
    #[inline]
    pub(super) fn take_all_good(&mut self, op: OpId, [n, nulls, bytes]: [u32; 3]) {
        let taken = &mut self.taken[op.index()];
        taken.good += n;
        taken.bytes += bytes;
        taken.nulls += nulls;
        self.touched |= 1 << (op.index() % TOUCHED);
    }

    /// Returns whether an operation waits for each reply before it sends its next request.
    pub(super) fn is_sequence(&self, op: OpId) -> bool {
        self.taken[op.index()].is_sequence
    }

    /// Counts an operation that was answered without an error. The operation's last reply has `bytes` bytes.
    /// `is_null` says whether this reply is a null. In an open loop, `response_ns` is the time since the operation
    /// was due.
    #[inline]
    pub(super) fn take_good(&mut self, op: OpId, bytes: usize, is_null: bool, response_ns: Option<u64>) {
        let taken = &mut self.taken[op.index()];
        taken.good += 1;
        taken.bytes += bytes as u32;
        taken.nulls += u32::from(is_null);
        self.touched |= 1 << (op.index() % TOUCHED);
        if let Some(response_ns) = response_ns {
            self.buffer.counts[op.index()].response.record(response_ns);
            self.is_open = true;
            if self.held {
                self.buffer.client.held.record(response_ns);
            }
        }
    }

    /// Adds the collected operations without an error to the counts.
    #[inline]
    pub(super) fn settle(mut self) {
        while self.touched != 0 {
            let first = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            for place in (first..self.taken.len()).step_by(TOUCHED) {
                self.settle_one(place);
            }
        }
    }

    #[inline]
    fn settle_one(&mut self, place: usize) {
        let taken = &mut self.taken[place];
        let n = u64::from(std::mem::take(&mut taken.good));
        if n == 0 {
            return; // another operation has the same bit in `touched`
        }
        let nulls = u64::from(std::mem::take(&mut taken.nulls));
        *self.in_flight -= n;
        if self.held && !self.is_open {
            self.buffer.client.held.record_n(self.service_ns, n);
        }
        let counts = &mut self.buffer.counts[place];
        counts.bytes_in += u64::from(std::mem::take(&mut taken.bytes));
        if taken.has_misses {
            counts.hits += n - nulls;
            counts.misses += nulls;
            counts.not_found += nulls;
        }
        counts.count_good(n, self.service_ns);
        if let Some(node) = self.node {
            self.buffer.by_node.answered(node, place, n, self.service_ns);
        }
    }

    /// Counts reply number `reply` of an operation whose replies are examined one by one. Returns whether the
    /// reply is a miss.
    pub(super) fn count_part(&mut self, op: OpId, reply: u16, found: ReplyResult) -> bool {
        let misses = self.buffer.operations.of(op).requests[usize::from(reply)].misses;
        self.count_found(op, misses, found)
    }

    /// Counts an operation without an error if a reply to the operation was a miss (`has_missed`).
    #[inline]
    pub(super) fn count_not_found(&mut self, op: OpId, has_missed: bool) {
        self.buffer.counts[op.index()].not_found += u64::from(has_missed);
    }

    /// Records that the first step of an operation was answered without an error, and whether the reply was a miss.
    /// `response_ns` is the time since the operation was due, in an open loop.
    pub(super) fn record_first_step(&mut self, op: OpId, response_ns: Option<u64>, is_miss: bool) {
        let steps = self.buffer.counts[op.index()].steps.get_or_insert_default();
        steps.first.record(self.service_ns);
        steps.missed += u64::from(is_miss);
        response_ns.into_iter().for_each(|ns| steps.first_response.record(ns));
    }

    /// Records that the last step of an operation was answered without an error, `ns` after the write of the second
    /// step.
    pub(super) fn record_later_steps(&mut self, op: OpId, ns: u64) {
        self.buffer.counts[op.index()].steps.get_or_insert_default().later.record(ns);
    }

    /// Counts element number `place` of reply number `reply` as a hit or a miss. Returns whether the element is a
    /// miss.
    pub(super) fn count_element(&mut self, op: OpId, reply: u16, (place, is_null): (u64, bool)) -> bool {
        let Expected { requests, elements, .. } = self.buffer.operations.of(op);
        let is_last = usize::from(reply) + 1 == requests.len();
        let misses = usize::try_from(place).ok().and_then(|place| elements.get(place).copied());
        let found = if is_null { ReplyResult::Nothing } else { ReplyResult::Something };
        misses.filter(|_| is_last).is_some_and(|misses| self.count_found(op, misses, found))
    }

    /// Counts a result as a hit, a miss or a conflict. Returns whether the result is a miss.
    fn count_found(&mut self, op: OpId, misses: Misses, found: ReplyResult) -> bool {
        let counts = &mut self.buffer.counts[op.index()];
        match (misses, found) {
            (Misses::Never, _) => {}
            (Misses::NullOrConflict, ReplyResult::Conflict) => counts.conflicts += 1,
            (_, ReplyResult::Nothing) => counts.misses += 1,
            (_, ReplyResult::Something | ReplyResult::Conflict) => counts.hits += 1,
        }
        misses != Misses::Never && found == ReplyResult::Nothing
    }

    /// Counts an error reply to an operation. Returns whether the error is the first of its kind in this interval.
    pub(super) fn count_error(&mut self, op: OpId, line: &[u8]) -> bool {
        if let Some(node) = self.node {
            self.buffer.by_node.errors(node).count_line(line);
        }
        self.buffer.counts[op.index()].errors.count_line(line)
    }

    /// Ends an operation with an error after its last reply has arrived.
    pub(super) fn end_failed(&mut self, op: OpId) {
        *self.in_flight -= 1;
        self.buffer.counts[op.index()].answered += 1;
        if let Some(node) = self.node {
            self.buffer.by_node.answered(node, op.index(), 0, self.service_ns);
        }
    }

    /// Counts operations for which not all replies arrived. If `has_failed` is true, the error of the first operation
    /// is already counted.
    pub(super) fn count_lost(&mut self, operations: &[OpId], has_failed: bool, kind: &ErrorKind) {
        *self.in_flight -= operations.len() as u64;
        for op in operations.iter().skip(usize::from(has_failed)) {
            self.buffer.counts[op.index()].errors.count(kind, 1);
            if let Some(node) = self.node {
                self.buffer.by_node.errors(node).count(kind, 1);
            }
        }
    }
}
