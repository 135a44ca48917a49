//! One connection of the load: a small state machine.
//!
//! ```text
//! Connecting ──► Greeting ──► Idle ◄──► Busy
//! ```
//! It writes batches, follows the replies, and keeps the times. When it is allowed to write, and what happens
//! when it breaks, is the worker's business.

mod replies;
mod writing;

use std::{io, os::fd::AsRawFd};

use mio::{Interest, Registry, Token, unix::SourceFd};

use super::{
    ErrorKind, LatencyTo, answered::Answered, broken::Broken, core_waits::CoreWaits, segments::Segments,
    sequence::Sequence, unsent::Unsent,
};
use crate::{
    clock::Clock,
    endpoint::{Greeter, Greeting, Transport},
    protocol::{Dialect, Skipper},
    workload::{Insertions, OpId},
};

/// The lines of error replies that are each the first of its kind in this interval.
pub(super) type FirstErrors = Vec<Vec<u8>>;

/// What reading needs from the worker.
pub(super) struct Reading<'a> {
    /// When the bytes had come: at first when the poll returned that reported them.
    pub(super) now_ns: u64,
    pub(super) clock: Clock,
    pub(super) latency_to: LatencyTo,
    pub(super) segments: &'a mut Segments,
    pub(super) greeting: &'a Greeting,
    /// When this thread waited for a core.
    pub(super) waits: &'a CoreWaits,
    /// Filled when new kinds of errors come.
    pub(super) first_errors: FirstErrors,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
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

/// A connection of the load.
#[derive(Debug)]
pub(super) struct Connection {
    transport: Transport,
    token: Token,
    pub(super) phase: ConnectionPhase,
    skipper: Skipper,
    /// The batch in flight: what was asked, and how much of it is answered.
    operations: Vec<OpId>,
    /// When each was due; empty in closed loop.
    dues: Vec<u64>,
    answered: Answered,
    /// Where steps of the batch wait for one another; those that were written last are all of the above.
    sequence: Option<Box<Sequence>>,
    /// New keys of the batch whose inserts are not answered.
    inserted: Insertions,
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
            phase: ConnectionPhase::Connecting,
            skipper: dialect.skipper(),
            operations: Vec::new(),
            dues: Vec::new(),
            answered: Answered::default(),
            sequence: None,
            inserted: Insertions::default(),
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
            ConnectionPhase::Idle => return None,
            ConnectionPhase::Busy | ConnectionPhase::Between => self.since_ns.max(self.heard_ns),
            ConnectionPhase::Connecting | ConnectionPhase::Greeting(_) => self.since_ns,
        };
        Some(since_ns.saturating_add(timeout_ns))
    }

    /// How long the batch in flight has been waiting since it was written.
    pub(super) fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        (self.phase == ConnectionPhase::Busy).then(|| now_ns.saturating_sub(self.since_ns))
    }

    /// How many requests its last batch has.
    #[inline]
    pub(super) fn batch(&self) -> u32 {
        self.sequence.as_ref().map_or(self.operations.len() as u32, |sequence| sequence.batch())
    }

    /// Whether the socket may hold more than was read, for which no event will come.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The other side has closed: what it said before is still to be read.
    pub(super) fn closes(&mut self) {
        self.is_closing = true;
    }

    /// Counts the operations of the batch in flight that are not answered as lost, at `now_ns`.
    pub(super) fn count_lost(&self, kind: &ErrorKind, now_ns: u64, segments: &mut Segments) {
        // Of a batch that was not written nothing is in flight.
        if !matches!(self.phase, ConnectionPhase::Busy | ConnectionPhase::Between) {
            return;
        }
        let unanswered = self.unanswered();
        if let Some(sequence) = &self.sequence {
            for (op, has_failed) in sequence.unanswered(unanswered, self.answered) {
                segments.replies(self.generation, now_ns, 0).count_lost(&[op], has_failed, kind);
            }
        } else if !unanswered.is_empty() {
            segments.replies(self.generation, now_ns, 0).count_lost(
                unanswered,
                self.answered.has_failed,
                kind,
            );
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
        if self.phase == ConnectionPhase::Connecting {
            if !self.finish_connect(read)? {
                return Ok(());
            }
            self.listen(registry, Interest::READABLE)?;
            if read.greeting.is_empty() {
                self.phase = ConnectionPhase::Idle;
                return Ok(());
            }
            let (greeter, words) = read.greeting.begin();
            self.phase = ConnectionPhase::Greeting(greeter);
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
        let openings = &mut read.segments.counts().openings;
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
}

#[cfg(test)]
mod tests;
