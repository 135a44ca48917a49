//! Where the replies are counted that one read brought.

use super::{ErrorKind, IntervalBuffer};
use crate::{
    protocol::Reply,
    workload::{Expected, Misses, OpId},
};

/// Bits of [`Replies::touched`].
const TOUCHED: usize = u64::BITS as usize;

/// What a good reply found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Anything.
    Something,
    /// A null, or a list of nothing.
    Nothing,
    /// What was asked for, changed by another.
    Conflict,
}

impl Found {
    /// What a reply found that is no error.
    pub(super) fn of(reply: Reply) -> Option<Self> {
        match reply {
            Reply::Value => Some(Self::Something),
            Reply::Nil => Some(Self::Nothing),
            Reply::Conflict => Some(Self::Conflict),
            Reply::Error(_) => None,
        }
    }
}

/// The good operations of one number that a read completed.
#[derive(Debug)]
pub(super) struct Taken {
    good: u32,
    /// Bytes of their last replies.
    bytes: u32,
    /// Those of them that were answered with a null.
    nulls: u32,
    /// How many replies one has.
    replies: u16,
    /// Whether its replies are looked at one by one.
    by_replies: bool,
    /// Whether each reply is waited for before the next request.
    is_sequence: bool,
    /// Whether a null is a miss, and anything else a hit.
    has_misses: bool,
}

impl Taken {
    /// None yet of an operation.
    pub(super) fn none(expected: &Expected) -> Self {
        Self {
            good: 0,
            bytes: 0,
            nulls: 0,
            replies: expected.requests.len() as u16,
            by_replies: !matches!(&*expected.requests, [only] if only.misses != Misses::NullOrConflict),
            is_sequence: expected.is_sequence,
            has_misses: matches!(&*expected.requests, [only] if only.misses == Misses::Null),
        }
    }
}

/// Where the replies that one read brought to one segment's requests are counted. All of them came at one moment and
/// were asked for at one moment, so the good ones are counted together, by [`settle`](Self::settle).
pub(super) struct Replies<'a> {
    in_flight: &'a mut u64,
    buffer: &'a mut IntervalBuffer,
    taken: &'a mut [Taken],
    /// Which of `taken` hold something: bit n for those whose number is n modulo 64.
    touched: u64,
    service_ns: u64,
    /// Whether the requests waited for a core of ours for at least half of their time.
    pub(super) held: bool,
    /// Whether they had due times.
    is_open: bool,
}

impl<'a> Replies<'a> {
    /// To be counted in `buffer`; they came `service_ns` after their requests were written.
    #[inline]
    pub(super) fn new(
        in_flight: &'a mut u64,
        buffer: &'a mut IntervalBuffer,
        taken: &'a mut [Taken],
        service_ns: u64,
    ) -> Self {
        Self { in_flight, buffer, taken, touched: 0, service_ns, held: false, is_open: false }
    }

    /// Counts bytes that were read.
    #[inline]
    pub(super) fn count_bytes(&mut self, n: usize) {
        self.buffer.bytes_in += n as u64;
    }

    /// Counts bytes of replies to an operation.
    #[inline]
    pub(super) fn count_bytes_of(&mut self, op: OpId, n: usize) {
        self.buffer.counts[op.index()].bytes_in += n as u64;
    }

    /// Whether parts of replies are to be counted, or sent.
    #[inline]
    pub(super) fn wants_parts(&self) -> bool {
        self.buffer.operations.wants_parts()
    }

    /// Whether the replies of an operation are looked at one by one: it has several, or one that finds more than something
    /// or nothing.
    #[inline]
    pub(super) fn by_replies(&self, op: OpId) -> bool {
        self.taken[op.index()].by_replies
    }

    /// How many replies an operation has.
    pub(super) fn replies_of(&self, op: OpId) -> u16 {
        self.taken[op.index()].replies
    }

    /// Whether each of its replies is waited for before the next request.
    pub(super) fn is_sequence(&self, op: OpId) -> bool {
        self.taken[op.index()].is_sequence
    }

    /// Takes an operation into account whose last good reply came, of so many bytes, which is null or not, and in open loop
    /// came so long after it was due.
    #[inline]
    pub(super) fn take_good(&mut self, op: OpId, bytes: usize, is_null: bool, response_ns: Option<u64>) {
        let taken = &mut self.taken[op.index()];
        taken.good += 1;
        taken.bytes += bytes as u32;
        taken.nulls += u32::from(is_null);
        self.touched |= 1 << (op.index() % TOUCHED);
        if let Some(response_ns) = response_ns {
            self.buffer.response.record(response_ns);
            self.is_open = true;
            if self.held {
                self.buffer.client.held.record(response_ns);
            }
        }
    }

    /// Counts the good operations that were taken.
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
        }
        counts.count_good(n, self.service_ns);
    }

    /// Counts what a reply of an operation whose replies are looked at one by one, the one with this number, found.
    pub(super) fn count_part(&mut self, op: OpId, reply: u16, found: Found) {
        let misses = self.buffer.operations.of(op).requests[usize::from(reply)].misses;
        self.count_found(op, misses, found);
    }

    /// The same of an element, by its place, of its reply with this number.
    pub(super) fn count_element(&mut self, op: OpId, reply: u16, (place, is_null): (u64, bool)) {
        let Expected { requests, elements, .. } = self.buffer.operations.of(op);
        let is_last = usize::from(reply) + 1 == requests.len();
        if let Some(misses) = usize::try_from(place).ok().and_then(|place| elements.get(place))
            && is_last
        {
            self.count_found(op, *misses, if is_null { Found::Nothing } else { Found::Something });
        }
    }

    fn count_found(&mut self, op: OpId, misses: Misses, found: Found) {
        let counts = &mut self.buffer.counts[op.index()];
        match (misses, found) {
            (Misses::Never, _) => {}
            (Misses::NullOrConflict, Found::Conflict) => counts.conflicts += 1,
            (_, Found::Nothing) => counts.misses += 1,
            (_, Found::Something | Found::Conflict) => counts.hits += 1,
        }
    }

    /// Counts the error that an operation was answered with. Whether it was the first of its kind in this interval.
    pub(super) fn count_error(&mut self, op: OpId, line: &[u8]) -> bool {
        self.buffer.counts[op.index()].errors.count_line(line)
    }

    /// The last reply came of an operation that has an error.
    pub(super) fn end_failed(&mut self, op: OpId) {
        *self.in_flight -= 1;
        self.buffer.counts[op.index()].answered += 1;
    }

    /// Counts operations that will get no reply, or not all. The first may have had an error, which is counted already.
    pub(super) fn count_lost(&mut self, operations: &[OpId], has_failed: bool, kind: &ErrorKind) {
        *self.in_flight -= operations.len() as u64;
        for op in operations.iter().skip(usize::from(has_failed)) {
            self.buffer.counts[op.index()].errors.count(kind, 1);
        }
    }
}
