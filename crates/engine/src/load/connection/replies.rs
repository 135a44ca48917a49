//! Reads the replies on a connection of the load. Splits the received bytes into replies. Assigns each reply to the
//! oldest unanswered operation or to the greeting.

use std::io::{self, Read};

use super::{ConnectionPhase, FirstErrors, LoadConnection, ReadContext};
use crate::{
    endpoint::{Greeter, GreetingStep},
    load::{
        LatencyTo,
        broken::ConnectionFailure,
        expected_replies::compared,
        parcel::NodeRefusal,
        replies::{Replies, ReplyResult},
    },
    protocol::{Dialect, GreetingCommand, Reply, ReplyPiece, Skipper},
    workload::OpId,
};

/// The list of operations shrinks when its capacity exceeds a limit. The limit is this multiple of the last batch's
/// length, plus [`MIN_ROOM`].
const ROOMY: usize = 4;
/// The list of operations never shrinks if its capacity is at most this.
const MIN_ROOM: usize = 64;

/// The largest number of reads in one turn of a connection. Without this limit, a fast server could delay the
/// other connections and the worker.
pub(super) const READS: usize = 4;

impl LoadConnection {
    /// Reads from a readable socket until the socket is empty, but at most [`READS`] times. If a read does
    /// not fill `buffer`, the socket is empty, also with TLS. If the server has closed the connection, the
    /// function continues even after such a read.
    ///
    /// The timestamp of the first read is the time of the event. Each later read has its own timestamp.
    #[inline]
    pub(in crate::load) fn readable(
        &mut self,
        buffer: &mut [u8],
        read: &mut ReadContext,
    ) -> Result<(), ConnectionFailure> {
        let mut has_event = !std::mem::take(&mut self.has_more);
        for _ in 0..READS {
            let n = match self.transport.read(buffer) {
                Ok(0) => return self.take_end(read),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if !std::mem::take(&mut has_event) {
                read.now_ns = read.clock.now_ns();
            }
            self.take(&buffer[..n], read)?;
            if n < buffer.len() && !self.is_closing {
                return Ok(());
            }
        }
        self.has_more = true;
        Ok(())
    }

    /// Handles bytes that the ring received. An empty slice means that the stream has ended.
    #[inline]
    pub(in crate::load) fn received(
        &mut self,
        bytes: &[u8],
        read: &mut ReadContext,
    ) -> Result<(), ConnectionFailure> {
        if bytes.is_empty() { self.take_end(read) } else { self.take(bytes, read) }
    }

    /// Handles the end of the stream. With HTTP, the end of the stream may complete a reply or follow the last reply.
    #[cold]
    fn take_end(&mut self, read: &mut ReadContext) -> Result<(), ConnectionFailure> {
        let may_end = self.skipper.end();
        if may_end && self.phase == ConnectionPhase::Busy {
            self.take(&[], read)?;
        }
        if may_end && self.phase == ConnectionPhase::Idle { Ok(()) } else { Err(ConnectionFailure::Closed) }
    }

    #[inline]
    fn take(&mut self, bytes: &[u8], read: &mut ReadContext) -> Result<(), ConnectionFailure> {
        let taken = self.take_in_phase(bytes, read);
        if read.greeting.dialect().has_pushes() {
            read.segments.counts().pushes += self.skipper.take_pushes();
        }
        taken
    }

    #[inline]
    fn take_in_phase(&mut self, bytes: &[u8], read: &mut ReadContext) -> Result<(), ConnectionFailure> {
        match self.phase {
            ConnectionPhase::Busy => {
                let came_ns = match read.latency_to {
                    LatencyTo::LastByte => read.now_ns,
                    LatencyTo::FirstByte if self.first_ns > 0 => self.first_ns,
                    LatencyTo::FirstByte => {
                        self.first_ns = read.now_ns;
                        read.now_ns
                    }
                };
                let service_ns = came_ns.saturating_sub(self.since_ns);
                let mut replies = read.segments.replies(self.generation, read.now_ns, service_ns);
                replies.node = self.node;
                replies.count_bytes(bytes.len());
                let began_ns = self.dues.get(self.answered.place()).copied().unwrap_or(self.since_ns);
                replies.held = read.waits.waited_half_of(began_ns, read.now_ns);
                let dialect = read.greeting.dialect();
                self.take_replies(bytes, (read.now_ns, dialect), replies, &mut read.first_errors)
            }
            ConnectionPhase::Greeting(greeter) => self.take_greeting(bytes, greeter, read),
            ConnectionPhase::Idle | ConnectionPhase::Between | ConnectionPhase::Connecting => {
                self.take_unrequested(bytes, read.greeting.dialect())
            }
        }
    }

    /// Handles data that is no reply to a request: a RESP3 push, or an error that says why the server will
    /// close the connection.
    #[cold]
    fn take_unrequested(&mut self, mut bytes: &[u8], dialect: Dialect) -> Result<(), ConnectionFailure> {
        match self.skipper.next(&mut bytes)? {
            Some(reply) => Err(ConnectionFailure::unexpected_reply(reply, dialect)),
            None => Ok(()),
        }
    }

    #[inline]
    fn take_replies(
        &mut self,
        bytes: &[u8],
        (now_ns, dialect): (u64, Dialect),
        mut replies: Replies,
        first_errors: &mut FirstErrors,
    ) -> Result<(), ConnectionFailure> {
        let before = self.answered;
        let mut rest = bytes;
        let is_plain = self.dues.is_empty() && self.flight.is_none() && self.inserted.is_empty();
        if is_plain && !self.answered.has_failed {
            let operations = &self.operations[self.answered.place()..];
            self.answered.whole += take_alike(&self.skipper, operations, &mut rest, &mut replies);
        }
        let taken = self.sort_replies(rest, (now_ns, dialect), &mut replies, first_errors);
        replies.settle();
        if !self.inserted.is_empty() {
            self.take_inserted();
        }
        if before != self.answered {
            self.heard_ns = now_ns;
        }
        if self.answered.place() == self.operations.len() {
            let goes_on = self.sequence.as_ref().is_some_and(|sequence| sequence.has_next_step());
            self.phase = if goes_on { ConnectionPhase::Between } else { ConnectionPhase::Idle };
            // An idle connection gives up a buffer far larger than its last batch.
            if self.operations.capacity() > ROOMY * self.operations.len() + MIN_ROOM {
                self.operations.shrink_to(self.operations.len());
                self.dues = Vec::new();
            }
        }
        taken
    }

    /// Makes a new key available to requests after the reply to its insert. In a batch of several steps, the
    /// new keys become available after the replies to the last step.
    #[inline(never)]
    fn take_inserted(&mut self) {
        match &self.sequence {
            None => self.inserted.answer(self.answered.whole),
            Some(sequence) if sequence.has_next_step() || self.answered.place() < self.operations.len() => {}
            Some(_) => self.inserted.answer(u32::MAX),
        }
    }

    #[inline]
    fn sort_replies(
        &mut self,
        bytes: &[u8],
        (now_ns, dialect): (u64, Dialect),
        replies: &mut Replies,
        first_errors: &mut FirstErrors,
    ) -> Result<(), ConnectionFailure> {
        let Self { skipper, operations, dues, answered, sequence, inserted, flight, cursor, .. } = self;
        // The number of bytes that are not counted yet, and the bytes that are not parsed yet.
        let (mut uncounted, mut rest, parts) = (bytes.len(), bytes, replies.parts());
        while let Some(piece) = skipper.advance(&mut rest, parts)? {
            let Some(op) = operations.get(answered.place()).copied() else {
                let ReplyPiece::Reply(reply) = piece else { return Err(ConnectionFailure::UnexpectedReply) };
                return Err(ConnectionFailure::unexpected_reply(reply, dialect));
            };
            let reply = match piece {
                ReplyPiece::Reply(reply) => reply,
                ReplyPiece::Element { place, is_null } => {
                    answered.has_missed |= replies.count_element(op, answered.replies, (place, is_null));
                    continue;
                }
                ReplyPiece::Number(number) => {
                    match sequence {
                        Some(sequence) if replies.is_sequence(op) => sequence.take_cas(number),
                        _ => *cursor = Some(number),
                    }
                    continue;
                }
            };
            let n = std::mem::replace(&mut uncounted, rest.len()) - rest.len();
            if let Some(flight) = flight
                && flight.takes(reply, answered, inserted, replies.replies_of(op))
            {
                replies.count_bytes_of(op, n);
                continue;
            }
            let arrived = &bytes[..bytes.len() - rest.len()];
            let reply = compared(&mut self.expected, replies.compares(op, n), arrived, reply);
            let is_error = matches!(reply, Reply::Error(_));
            if let Reply::Error(line) = reply
                && !std::mem::replace(&mut answered.has_failed, true)
            {
                answered.is_refused |= NodeRefusal::of(line).is_some();
                first_errors.extend(replies.count_error(op, line).then(|| line.to_vec()));
            }
            if is_error && !inserted.is_empty() {
                inserted.fail(sequence.is_none().then_some(answered.whole));
            }
            if is_error || replies.by_replies(op) {
                let is_good = match sequence {
                    Some(sequence) if replies.is_sequence(op) => {
                        let due_ns = dues.get(answered.place()).copied();
                        sequence.take_step((op, due_ns, now_ns), ReplyResult::of(reply), answered, replies)
                    }
                    _ => answered.take_part(op, ReplyResult::of(reply), replies),
                };
                if !is_good {
                    replies.count_bytes_of(op, n);
                    continue;
                }
            }
            let response_ns = dues.get(answered.place()).map(|due_ns| now_ns.saturating_sub(*due_ns));
            answered.whole += 1;
            replies.take_good(op, n, reply == Reply::Nil, response_ns);
            replies.count_not_found(op, std::mem::take(&mut answered.has_missed));
        }
        self.begin_reply(&bytes[bytes.len() - uncounted..], replies);
        Ok(())
    }

    /// Counts the first bytes of a reply that has not arrived completely.
    #[inline]
    fn begin_reply(&mut self, bytes: &[u8], replies: &mut Replies) {
        let Some(op) = self.operations.get(self.answered.place()).copied() else { return };
        replies.count_bytes_of(op, bytes.len());
        if let Some(expected) = &mut self.expected
            && replies.compares(op, bytes.len()).is_some()
        {
            expected.take(bytes);
        }
    }

    fn take_greeting(
        &mut self,
        mut bytes: &[u8],
        mut greeter: Greeter,
        read: &mut ReadContext,
    ) -> Result<(), ConnectionFailure> {
        while let Some(reply) = self.skipper.next(&mut bytes)? {
            if self.phase == ConnectionPhase::Idle {
                return Err(ConnectionFailure::unexpected_reply(reply, read.greeting.dialect()));
            }
            let step = greeter.awaits(read.greeting);
            let heard = greeter.process_reply(reply, read.greeting);
            // A server that rejects the connection itself has not read the command.
            if !heard.as_ref().is_err_and(|turned_down| turned_down.step == GreetingCommand::Connection) {
                read.segments.counts().openings.answered.push(step);
            }
            // The connection sends nothing but the greeting in this phase.
            self.phase = match heard? {
                GreetingStep::Done => {
                    let took_ns = self.stage_over(read.now_ns);
                    read.segments.counts().openings.greetings.push(took_ns);
                    ConnectionPhase::Idle
                }
                _ => ConnectionPhase::Greeting(greeter),
            };
        }
        Ok(())
    }
}

/// Takes complete replies from the front of `rest`, and counts consecutive replies to the same operation together.
/// Stops at a reply in a rare form, and at an operation if its replies must be examined. Returns the number of taken
/// replies.
#[inline]
fn take_alike(skipper: &Skipper, operations: &[OpId], rest: &mut &[u8], replies: &mut Replies) -> u32 {
    let mut taken = 0;
    while let Some(&op) = operations.get(taken)
        && replies.are_only_counted(op)
    {
        let (first, length, mut nulls) = (taken, rest.len(), 0);
        while operations.get(taken) == Some(&op)
            && let Some(reply) = skipper.take_whole(rest)
        {
            nulls += u32::from(reply == Reply::Nil);
            taken += 1;
        }
        if taken == first {
            break;
        }
        replies.take_all_good(op, [(taken - first) as u32, nulls, (length - rest.len()) as u32]);
    }
    taken as u32
}
