//! One connection of the load: a small state machine.
//!
//! ```text
//! Connecting ──► Greeting ──► Idle ◄──► Busy
//! ```
//! It writes batches, follows the replies, and keeps the times. When it is allowed to write, and what happens
//! when it breaks, is the worker's business.

use std::{
    io::{self, Read, Write},
    os::fd::AsRawFd,
};

use mio::{Interest, Registry, Token, unix::SourceFd};

use super::{
    ErrorKind, LatencyTo,
    answered::{Answered, Batch},
    broken::Broken,
    reading::{FirstErrors, Reading},
    replies::{Found, Replies},
    segments::Segments,
    sequence::Sequence,
    unsent::Unsent,
};
use crate::{
    protocol::{Dialect, Piece, Reply, Skipper, Step},
    target::{Greeter, Transport, Turn},
    workload::{OpId, Outgoing, Values},
};

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for the other side to accept, and to shake hands where there is TLS.
    Connecting,
    /// Waits for the replies to its greeting.
    Greeting(Greeter),
    /// May write.
    Idle,
    /// Waits for the replies to its batch.
    Busy,
    /// Those to a step of its batch have come, and the next is to be written.
    Between,
}

/// How much more room than the last batch took is too much, and how much is none to speak of.
const ROOMY: usize = 4;
const MIN_ROOM: usize = 64;

/// Reads that one connection has before the others have their turn again: a server that fills the buffer faster than
/// it is emptied holds up neither them nor the worker.
const READS: usize = 4;

/// A connection of the load.
#[derive(Debug)]
pub(super) struct Connection {
    transport: Transport,
    token: Token,
    pub(super) phase: Phase,
    skipper: Skipper,
    /// The batch in flight: what was asked, and how much of it is answered.
    operations: Vec<OpId>,
    /// When each was due; empty in closed loop.
    dues: Vec<u64>,
    answered: Answered,
    /// Where steps of the batch wait for one another; those that were written last are all of the above.
    sequence: Option<Box<Sequence>>,
    generation: u32,
    /// When the batch was written, or the connection begun.
    since_ns: u64,
    /// When the last reply to a request came; while it opens, when this stage of it began.
    heard_ns: u64,
    /// When the first byte came of the replies to the batch, where latencies go up to that; 0 before.
    first_ns: u64,
    /// Whether reading ended before the socket was empty.
    has_more: bool,
    /// Whether the other side has closed.
    is_closing: bool,
    /// Whether the socket is connected.
    is_connected: bool,
    /// What the socket did not take yet.
    unsent: Option<Box<Unsent>>,
}

impl Connection {
    /// Over a transport that begins to connect.
    pub(super) fn open(
        transport: Transport,
        dialect: Dialect,
        registry: &Registry,
        token: Token,
        now_ns: u64,
    ) -> io::Result<Self> {
        let interest = match transport {
            Transport::Plain(_) => Interest::WRITABLE,
            // A handshake goes both ways.
            Transport::Tls(_) => Interest::READABLE | Interest::WRITABLE,
        };
        registry.register(&mut SourceFd(&transport.as_raw_fd()), token, interest)?;
        Ok(Self {
            transport,
            token,
            phase: Phase::Connecting,
            skipper: dialect.skipper(),
            operations: Vec::new(),
            dues: Vec::new(),
            answered: Answered::default(),
            sequence: None,
            generation: 0,
            since_ns: now_ns,
            heard_ns: now_ns,
            first_ns: 0,
            has_more: false,
            is_closing: false,
            is_connected: false,
            unsent: None,
        })
    }

    /// Until when the next whole reply has to be there, if it waits for one: `timeout_ns` after the write or the reply
    /// before. Greeted it has to be within that time.
    pub(super) fn deadline_ns(&self, timeout_ns: u64) -> Option<u64> {
        let since_ns = match self.phase {
            Phase::Idle => return None,
            Phase::Busy | Phase::Between => self.since_ns.max(self.heard_ns),
            Phase::Connecting | Phase::Greeting(_) => self.since_ns,
        };
        Some(since_ns.saturating_add(timeout_ns))
    }

    /// How long the batch in flight has been waiting since it was written.
    pub(super) fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        (self.phase == Phase::Busy).then(|| now_ns.saturating_sub(self.since_ns))
    }

    /// How many requests its last batch has.
    #[inline]
    pub(super) fn batch(&self) -> u32 {
        self.sequence.as_ref().map_or(self.operations.len() as u32, |sequence| sequence.batch())
    }

    /// Whether the socket may hold more than was read, of which no event will tell.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The other side has closed: what it said before is still to be read.
    pub(super) fn closes(&mut self) {
        self.is_closing = true;
    }

    /// Counts the operations of the batch in flight that are not answered as lost.
    pub(super) fn count_lost(&self, kind: &ErrorKind, segments: &mut Segments) {
        let unanswered = self.unanswered();
        if let Some(sequence) = &self.sequence {
            for (op, has_failed) in sequence.unanswered(unanswered, self.answered) {
                segments.replies(self.generation, 0).count_lost(&[op], has_failed, kind);
            }
        } else if !unanswered.is_empty() {
            segments.replies(self.generation, 0).count_lost(unanswered, self.answered.has_failed, kind);
        }
    }

    /// How many requests of its last batch are answered.
    pub(super) fn answered(&self) -> usize {
        self.answered.place()
    }

    fn unanswered(&self) -> &[OpId] {
        &self.operations[self.answered.place()..]
    }

    /// The socket turned writable, or is ready in any way while it connects: goes on connecting, greets, or sends what
    /// is left to send.
    pub(super) fn writable(&mut self, registry: &Registry, read: &mut Reading) -> Result<(), Broken> {
        if self.phase == Phase::Connecting {
            if !self.finish_connect(read)? {
                return Ok(());
            }
            self.listen(registry, Interest::READABLE)?;
            if read.greeting.is_empty() {
                self.phase = Phase::Idle;
                return Ok(());
            }
            let (greeter, words) = read.greeting.begin();
            self.phase = Phase::Greeting(greeter);
            return self.write(registry, words);
        }
        if !self.is_all_sent() {
            match self.unsent.take() {
                Some(unsent) => self.write_on(registry, unsent)?,
                // What a TLS session holds back goes with nothing.
                None => self.write(registry, &[])?,
            }
            if self.is_all_sent() {
                self.listen(registry, Interest::READABLE)?;
            }
        }
        Ok(())
    }

    /// Goes on connecting, and shaking hands where there is TLS. Whether bytes may follow.
    fn finish_connect(&mut self, read: &mut Reading) -> Result<bool, Broken> {
        let openings = read.segments.openings();
        if !self.is_connected {
            self.is_connected = self.transport.is_connected()?;
            if !self.is_connected {
                return Ok(false);
            }
            openings.connects.push(self.stage_over(read.now_ns));
        }
        let is_open = self.transport.shake_hands()?;
        if is_open && matches!(self.transport, Transport::Tls(_)) {
            openings.handshakes.push(self.stage_over(read.now_ns));
        }
        Ok(is_open)
    }

    /// A stage of its opening is over, and the next begins; how long it took.
    fn stage_over(&mut self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(std::mem::replace(&mut self.heard_ns, now_ns))
    }

    /// Asks for other events.
    fn listen(&self, registry: &Registry, interest: Interest) -> io::Result<()> {
        registry.reregister(&mut SourceFd(&self.transport.as_raw_fd()), self.token, interest)
    }

    fn is_all_sent(&self) -> bool {
        self.unsent.is_none() && !self.transport.wants_write()
    }

    /// The next batch, to be filled before [`send`](Self::send).
    #[inline]
    pub(super) fn next_batch(&mut self) -> Batch<'_> {
        self.operations.clear();
        self.dues.clear();
        self.answered = Answered::default();
        self.sequence = None;
        Batch { operations: &mut self.operations, dues: &mut self.dues }
    }

    /// When the first of its batch was due, in open loop.
    #[inline]
    pub(super) fn first_due_ns(&self) -> Option<u64> {
        self.dues.first().copied()
    }

    /// Writes a batch that was due to be written at `now_ns`, in the current segment.
    #[inline]
    pub(super) fn send(
        &mut self,
        registry: &Registry,
        (out, values): (&mut Outgoing, &Values),
        now_ns: u64,
        segments: &mut Segments,
    ) -> Result<(), Broken> {
        self.phase = Phase::Busy;
        if let Some(later) = out.take_later() {
            self.sequence = Some(Box::new(Sequence::new(self.batch(), later, values)));
        }
        self.since_ns = now_ns;
        self.first_ns = 0;
        self.generation = segments.generation();
        segments.wrote(self.operations.len(), out.length());
        self.write_out(registry, out, values)
    }

    /// Writes the next step of the batch, for which those before are answered.
    pub(super) fn go_on(
        &mut self,
        registry: &Registry,
        segments: &mut Segments,
        now_ns: u64,
    ) -> Result<(), Broken> {
        let Some(sequence) = &mut self.sequence else { return Ok(()) };
        let Some((out, values)) = sequence.next(&mut self.operations, &mut self.dues, &mut self.answered)
        else {
            return Ok(());
        };
        self.phase = Phase::Busy;
        self.heard_ns = now_ns;
        segments.wrote(0, out.length());
        self.write_out(registry, &out, &values)
    }

    #[inline]
    fn write_out(&mut self, registry: &Registry, out: &Outgoing, values: &Values) -> Result<(), Broken> {
        match out.as_whole() {
            Some(bytes) => self.write(registry, bytes),
            None => self.write_on(registry, Box::new(Unsent::apart(out, values))),
        }
    }

    #[inline]
    fn write(&mut self, registry: &Registry, bytes: &[u8]) -> Result<(), Broken> {
        let written = loop {
            match self.transport.write(bytes) {
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        if written < bytes.len() {
            self.unsent = Some(Box::new(Unsent::whole(&bytes[written..])));
        }
        self.await_room(registry)
    }

    /// Writes what is left.
    fn write_on(&mut self, registry: &Registry, mut unsent: Box<Unsent>) -> Result<(), Broken> {
        if !unsent.write(&mut self.transport)? {
            self.unsent = Some(unsent);
        }
        self.await_room(registry)
    }

    /// Asks to be told when the socket takes more, if there is more.
    #[inline]
    fn await_room(&mut self, registry: &Registry) -> Result<(), Broken> {
        if !self.is_all_sent() {
            self.listen(registry, Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }

    /// The socket turned readable, or has more: reads until it is empty, or the others are to have their turn. A read
    /// that does not fill `buffer` proves that it is empty, also where there is TLS, unless the other side has closed.
    ///
    /// What the first read brings has come by the time of the event. Each read after it has a stamp of its own.
    #[inline]
    pub(super) fn readable(&mut self, buffer: &mut [u8], read: &mut Reading) -> Result<(), Broken> {
        let mut has_event = !std::mem::take(&mut self.has_more);
        for _ in 0..READS {
            let n = match self.transport.read(buffer) {
                Ok(0) => return Err(Broken::Closed),
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

    #[inline]
    fn take(&mut self, bytes: &[u8], read: &mut Reading) -> Result<(), Broken> {
        match self.phase {
            Phase::Busy => {
                let came_ns = match read.latency_to {
                    LatencyTo::LastByte => read.now_ns,
                    LatencyTo::FirstByte if self.first_ns > 0 => self.first_ns,
                    LatencyTo::FirstByte => {
                        self.first_ns = read.now_ns;
                        read.now_ns
                    }
                };
                let service_ns = came_ns.saturating_sub(self.since_ns);
                let mut replies = read.segments.replies(self.generation, service_ns);
                replies.count_bytes(bytes.len());
                let began_ns = self.dues.get(self.answered.place()).copied().unwrap_or(self.since_ns);
                replies.held = read.waits.held(began_ns, read.now_ns);
                self.take_replies(bytes, read.now_ns, replies, &mut read.first_errors)
            }
            Phase::Greeting(greeter) => self.take_greeting(bytes, greeter, read),
            Phase::Idle | Phase::Between | Phase::Connecting => Err(Broken::Unasked),
        }
    }

    #[inline]
    fn take_replies(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        mut replies: Replies,
        first_errors: &mut FirstErrors,
    ) -> Result<(), Broken> {
        let before = self.answered;
        let taken = self.sort_replies(bytes, now_ns, &mut replies, first_errors);
        replies.settle();
        if before != self.answered {
            self.heard_ns = now_ns;
        }
        if self.answered.place() == self.operations.len() {
            let goes_on = self.sequence.as_ref().is_some_and(|sequence| sequence.goes_on());
            self.phase = if goes_on { Phase::Between } else { Phase::Idle };
            // An idle connection does not keep the room of a batch far larger than its last.
            if self.operations.capacity() > ROOMY * self.operations.len() + MIN_ROOM {
                self.operations.shrink_to(self.operations.len());
                self.dues = Vec::new();
            }
        }
        taken
    }

    #[inline]
    fn sort_replies(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        replies: &mut Replies,
        first_errors: &mut FirstErrors,
    ) -> Result<(), Broken> {
        let Self { skipper, operations, dues, answered, sequence, .. } = self;
        // Replies to one operation that follow each other are counted together: what lies ahead of the first, and of the next.
        let (mut counted, mut from, mut ahead) = (None, bytes.len(), bytes.len());
        let taken = skipper.each(bytes, replies.wants_parts(), |piece, behind| {
            let Some(op) = operations.get(answered.place()).copied() else {
                return Err(Broken::Unasked);
            };
            if counted != Some(op) {
                if let Some(counted) = counted.replace(op) {
                    replies.count_bytes_of(counted, from - ahead);
                }
                from = ahead;
            }
            ahead = behind;
            let reply = match piece {
                Piece::Reply(reply) => reply,
                Piece::Element { place, is_null } => {
                    replies.count_element(op, answered.replies, (place, is_null));
                    return Ok(());
                }
                Piece::Cas(number) => {
                    if let Some(sequence) = sequence
                        && replies.is_sequence(op)
                    {
                        sequence.take_cas(number);
                    }
                    return Ok(());
                }
            };
            let (is_null, is_error) = (reply == Reply::Nil, matches!(reply, Reply::Error(_)));
            if let Reply::Error(line) = reply
                && !std::mem::replace(&mut answered.has_failed, true)
                && replies.count_error(op, line)
            {
                first_errors.push(line.to_vec());
            }
            if is_error || replies.by_replies(op) {
                let is_good = match sequence {
                    Some(sequence) if replies.is_sequence(op) => {
                        let due_ns = dues.get(answered.place()).copied();
                        sequence.take_step((op, due_ns), Found::of(reply), answered, replies)
                    }
                    _ => answered.take_part(op, Found::of(reply), replies),
                };
                if !is_good {
                    return Ok(());
                }
            }
            let response_ns = dues.get(answered.place()).map(|due_ns| now_ns.saturating_sub(*due_ns));
            answered.whole += 1;
            replies.take_good(op, is_null, response_ns);
            Ok(())
        });
        if let Some(counted) = counted {
            replies.count_bytes_of(counted, from - ahead);
        }
        taken?;
        // What is left begins the next reply.
        if let Some(op) = operations.get(answered.place()).filter(|_| ahead > 0) {
            replies.count_bytes_of(*op, ahead);
        }
        Ok(())
    }

    fn take_greeting(
        &mut self,
        mut bytes: &[u8],
        mut greeter: Greeter,
        read: &mut Reading,
    ) -> Result<(), Broken> {
        while let Some(reply) = self.skipper.next(&mut bytes)? {
            if self.phase == Phase::Idle {
                return Err(Broken::Unasked);
            }
            let step = greeter.awaits(read.greeting);
            let heard = greeter.hear(reply, read.greeting);
            // A server that turns everybody away has not looked at the command.
            if !heard.as_ref().is_err_and(|turned_down| turned_down.step == Step::Connection) {
                read.segments.openings().answered.push(step);
            }
            // All that there is to say was said at the beginning.
            self.phase = match heard? {
                Turn::Done => {
                    let took_ns = self.stage_over(read.now_ns);
                    read.segments.openings().greetings.push(took_ns);
                    Phase::Idle
                }
                _ => Phase::Greeting(greeter),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
