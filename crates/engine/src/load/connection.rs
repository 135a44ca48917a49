//! One connection of the load: a small state machine.
//!
//! ```text
//! Connecting ──► Greeting ──► Idle ◄──► Busy
//! ```
//! A connection writes batches of requests, reads their replies, and measures latencies. The worker decides when
//! the connection may write, and what happens when the connection fails.

mod parcels;
mod replies;
mod writing;

use std::{io, net::Shutdown, os::fd::AsRawFd};

use mio::{Interest, Registry, Token, unix::SourceFd};

use super::{
    ErrorKind, LatencyTo,
    answered::BatchProgress,
    broken::ConnectionFailure,
    core_waits::CoreWaits,
    expected_replies::ExpectedReplies,
    io::{Io, Tag},
    parcel::Flight,
    segments::WorkerSegments,
    sequence::Sequence,
    unsent::UnsentBytes,
};
use crate::{
    clock::Clock,
    endpoint::{Greeter, Greeting, HANDSHAKE_LIMIT, NodeNumber, Transport},
    protocol::{Dialect, Skipper},
    workload::{Insertions, OpId},
};

/// The first error reply of each kind in this interval.
pub(super) type FirstErrors = Vec<Vec<u8>>;

/// The data of the worker that a connection needs to read replies.
pub(super) struct ReadContext<'a> {
    /// The time when the bytes arrived, in ns. For the first read, this is the time when poll returned.
    pub(super) now_ns: u64,
    pub(super) clock: Clock,
    pub(super) latency_to: LatencyTo,
    pub(super) segments: &'a mut WorkerSegments,
    pub(super) greeting: &'a Greeting,
    /// The periods when this thread waited for a core.
    pub(super) waits: &'a CoreWaits,
    /// A list for the first error of each new kind.
    pub(super) first_errors: FirstErrors,
}

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// The connection waits for the server to accept it, and for the handshake if TLS is on.
    Connecting,
    /// The connection waits for the replies to its greeting: the commands that it sends first, such as AUTH.
    Greeting(Greeter),
    /// The connection may write.
    Idle,
    /// The connection waits for the replies to its batch.
    Busy,
    /// The batch has operations of several steps. The replies to one step have arrived, and the worker must
    /// write the next step.
    Between,
}

/// A connection of the load.
#[derive(Debug)]
pub(super) struct LoadConnection {
    transport: Transport,
    token: Token,
    /// The number of the connection in the io_uring ring, if the ring receives for this connection.
    number: Option<u32>,
    pub(super) phase: ConnectionPhase,
    skipper: Skipper,
    /// The operations of the batch in flight. If the batch has several steps, these are the operations of the
    /// last written step.
    operations: Vec<OpId>,
    /// The due time of each operation, in ns. The list is empty in a closed loop.
    dues: Vec<u64>,
    answered: BatchProgress,
    /// The steps of the batch, if there are several.
    sequence: Option<Box<Sequence>>,
    /// The cursor from the last reply to a SCAN. The client's next SCAN sends this cursor.
    cursor: Option<u64>,
    /// The new keys in the batch. The inserts of these keys are not answered yet.
    inserted: Insertions,
    /// The expected replies, if replies of the batch are compared.
    expected: Option<Box<ExpectedReplies>>,
    generation: u32,
    /// The time when the batch was written, in ns. While the connection opens, the time when the attempt to
    /// connect began.
    since_ns: u64,
    /// The time when the last reply to a request arrived, in ns. While the connection opens, the time when
    /// the current stage began.
    heard_ns: u64,
    /// The time when the first byte of the replies to the batch arrived, in ns. The time is 0 until the first byte
    /// arrives. If latencies do not end at the first byte, the time is always 0.
    first_ns: u64,
    /// Whether the socket may contain more data, because the last round read it only a few times.
    has_more: bool,
    /// Whether the server has closed the connection.
    is_closing: bool,
    /// Whether the socket is connected.
    is_connected: bool,
    /// The node of a cluster that got the last parcel (group of requests for a node), or `None` without a
    /// cluster.
    node: Option<NodeNumber>,
    /// Whether READONLY was sent.
    is_readonly: bool,
    /// The parcel (a group of requests for one node) in flight, if the target is a cluster.
    flight: Option<Box<Flight>>,
    /// Bytes that the socket did not accept yet.
    unsent: Option<Box<UnsentBytes>>,
}

impl LoadConnection {
    /// Creates a connection over a transport that has begun to connect.
    pub(super) fn open(
        transport: Transport,
        dialect: Dialect,
        registry: &Registry,
        token: Token,
        now_ns: u64,
    ) -> io::Result<Self> {
        let interest = match transport {
            Transport::Plain(_) => Interest::WRITABLE,
            // A handshake both reads and writes.
            Transport::Tls(_) => Interest::READABLE | Interest::WRITABLE,
        };
        registry.register(&mut SourceFd(&transport.as_raw_fd()), token, interest)?;
        Ok(Self::new(transport, dialect, token, now_ns))
    }

    fn new(transport: Transport, dialect: Dialect, token: Token, now_ns: u64) -> Self {
        Self {
            transport,
            token,
            number: None,
            phase: ConnectionPhase::Connecting,
            skipper: dialect.skipper(),
            operations: Vec::new(),
            dues: Vec::new(),
            answered: BatchProgress::default(),
            sequence: None,
            cursor: None,
            inserted: Insertions::default(),
            expected: None,
            generation: 0,
            since_ns: now_ns,
            heard_ns: now_ns,
            first_ns: 0,
            has_more: false,
            is_closing: false,
            is_connected: false,
            node: None,
            is_readonly: false,
            flight: None,
            unsent: None,
        }
    }

    /// Returns the deadline for the next whole reply: `timeout_ns` after the write or the previous reply, whichever
    /// is later. While the connection opens, one timeout covers connecting and greeting together. If the timeout is
    /// off, the TLS handshake still has a limit. Returns `None` if the connection is idle.
    pub(super) fn deadline_ns(&self, timeout_ns: u64) -> Option<u64> {
        let since_ns = match self.phase {
            ConnectionPhase::Idle => return None,
            ConnectionPhase::Connecting
                if timeout_ns == u64::MAX && self.is_connected && self.transport.awaits_handshake() =>
            {
                return Some(self.heard_ns.saturating_add(HANDSHAKE_LIMIT.as_nanos() as u64));
            }
            ConnectionPhase::Busy | ConnectionPhase::Between => self.since_ns.max(self.heard_ns),
            ConnectionPhase::Connecting | ConnectionPhase::Greeting(_) => self.since_ns,
        };
        Some(since_ns.saturating_add(timeout_ns))
    }

    /// Returns how long the batch in flight has waited for its replies, in ns since its write.
    pub(super) fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        (self.phase == ConnectionPhase::Busy).then(|| now_ns.saturating_sub(self.since_ns))
    }

    /// Returns how many requests the last batch has.
    #[inline]
    pub(super) fn batch(&self) -> u32 {
        self.sequence.as_ref().map_or(self.operations.len() as u32, |sequence| sequence.batch)
    }

    /// Returns whether the socket may contain unread data that poll will not report.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Notes that the server has closed the connection. Data that the server sent before can still be read.
    pub(super) fn closes(&mut self) {
        self.is_closing = true;
    }

    /// Returns whether the connection of an idle client is replaced before the next request: an HTTP server closes the
    /// connection, or answered before it read the whole request. The rest of that request is not sent.
    #[inline]
    pub(super) fn must_reconnect(&self) -> bool {
        self.skipper.is_last() || self.phase == ConnectionPhase::Idle && self.unsent.is_some()
    }

    /// Counts the unanswered operations of the batch in flight as errors of `kind`, at `now_ns`.
    pub(super) fn count_lost(&self, kind: &ErrorKind, now_ns: u64, segments: &mut WorkerSegments) {
        // Before a batch is written, no request is in flight.
        if !matches!(self.phase, ConnectionPhase::Busy | ConnectionPhase::Between) {
            return;
        }
        let unanswered = self.unanswered();
        if self.sequence.is_none() && unanswered.is_empty() {
            return;
        }
        let mut replies = segments.replies(self.generation, now_ns, 0);
        replies.node = self.node;
        match &self.sequence {
            Some(sequence) => {
                let lost = sequence.unanswered(unanswered, self.answered);
                lost.for_each(|(op, has_failed)| replies.count_lost(&[op], has_failed, kind));
            }
            None => replies.count_lost(unanswered, self.answered.has_failed, kind),
        }
    }

    /// Returns how many requests of the last batch are answered.
    pub(super) fn answered(&self) -> usize {
        self.answered.place()
    }

    /// Returns whether the server temporarily refused a request of the last batch.
    pub(super) fn is_refused(&self) -> bool {
        self.answered.is_refused
    }

    /// Returns the due time of the first unanswered request, in ns, or `None` if all requests are answered.
    pub(super) fn unanswered_due_ns(&self) -> Option<u64> {
        let is_sent = matches!(self.phase, ConnectionPhase::Busy | ConnectionPhase::Between);
        let due_ns = || self.dues.get(self.answered.place()).copied().unwrap_or(self.since_ns);
        (is_sent && !self.unanswered().is_empty()).then(due_ns)
    }

    fn unanswered(&self) -> &[OpId] {
        &self.operations[self.answered.place()..]
    }

    /// Handles a writable socket, or any event while the connection opens. Continues to connect, sends the greeting, or
    /// sends bytes that the socket has not accepted yet.
    pub(super) fn writable(&mut self, io: &mut Io, read: &mut ReadContext) -> Result<(), ConnectionFailure> {
        if self.phase == ConnectionPhase::Connecting {
            if !self.finish_connect(read)? {
                return Ok(());
            }
            self.listen(io, Interest::READABLE)?;
            if read.greeting.is_empty() {
                self.phase = ConnectionPhase::Idle;
                return Ok(());
            }
            let (greeter, words) = read.greeting.begin();
            self.phase = ConnectionPhase::Greeting(greeter);
            return self.write(io, words);
        }
        if !self.is_all_sent() {
            match self.unsent.take() {
                Some(unsent) => self.write_on(io, unsent)?,
                // Writing an empty slice flushes the bytes that the TLS session holds back.
                None => self.write(io, &[])?,
            }
            if self.is_all_sent() {
                self.listen(io, Interest::READABLE)?;
            }
        }
        Ok(())
    }

    /// Continues to connect, or continues the TLS handshake. Returns whether the connection can send now.
    fn finish_connect(&mut self, read: &mut ReadContext) -> Result<bool, ConnectionFailure> {
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

    /// Ends one stage of opening the connection and begins the next. Returns how long the ended stage took.
    fn stage_over(&mut self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(std::mem::replace(&mut self.heard_ns, now_ns))
    }

    /// Registers the socket for events of this kind. If the ring receives for the connection, poll does not report
    /// arriving data.
    fn listen(&self, io: &Io, interest: Interest) -> io::Result<()> {
        let (registry, socket) = (io.registry(), self.transport.as_raw_fd());
        let mut source = SourceFd(&socket);
        if self.number.is_none() {
            return registry.reregister(&mut source, self.token, interest);
        }
        let listened = match interest.is_writable() {
            true => registry.register(&mut source, self.token, Interest::WRITABLE),
            false => registry.deregister(&mut source),
        };
        listened
            .or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
    }

    /// If there is an io_uring ring and the connection has no TLS, the ring receives the data of this
    /// connection from now on. The poll loop then reports only that the socket accepts more bytes.
    pub(super) fn enter_ring(&mut self, io: &mut Io) -> io::Result<()> {
        if let (Transport::Plain(socket), true) = (&self.transport, self.is_all_sent()) {
            self.number = io.receive(self.token.0, socket)?;
            if self.number.is_some() {
                self.listen(io, Interest::READABLE)?;
            }
        }
        Ok(())
    }

    /// Lets the io_uring ring receive data for this connection again, after the ring has stopped receiving.
    pub(super) fn stay_in_ring(&self, io: &mut Io) -> io::Result<()> {
        self.tag().map_or(Ok(()), |tag| io.receive_on(tag, &self.transport))
    }

    /// Returns the tag of this connection in the ring, if the ring receives for the connection.
    #[inline]
    pub(super) fn tag(&self) -> Option<Tag> {
        self.number.map(|number| Tag { lane: self.token.0, number })
    }

    fn is_all_sent(&self) -> bool {
        self.unsent.is_none() && !self.transport.wants_write()
    }
}

impl Drop for LoadConnection {
    /// Shuts the socket down, because a ring that still receives would keep the connection open.
    fn drop(&mut self) {
        if self.number.is_some() {
            // The shutdown fails if the server has already closed the connection.
            drop(self.transport.socket().shutdown(Shutdown::Both));
        }
    }
}

#[cfg(test)]
mod tests;
