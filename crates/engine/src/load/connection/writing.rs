//! Writes batches of requests to a connection of the load. Writes first steps, later steps, and the bytes that the
//! socket did not accept at once.

use std::io::{self, Write};

use mio::Interest;

use super::{ConnectionPhase, LoadConnection};
use crate::{
    load::{
        answered::{BatchBuffers, BatchProgress},
        broken::ConnectionFailure,
        expected_replies::ExpectedReplies,
        io::Io,
        segments::WorkerSegments,
        sequence::Sequence,
        unsent::UnsentBytes,
    },
    workload::{Draws, OutgoingRequests, Values},
};

impl LoadConnection {
    /// Works like [`next_batch`](Self::next_batch), and passes the cursor of the last SCAN reply to the client's
    /// `draws`.
    #[inline]
    pub(in crate::load) fn next_batch_of(&mut self, draws: &mut Draws) -> BatchBuffers<'_> {
        if let Some(cursor) = self.cursor.take() {
            draws.take_cursor(cursor);
        }
        self.next_batch()
    }

    /// Clears the connection's batch and returns it. The caller fills the batch before [`send`](Self::send).
    #[inline]
    pub(in crate::load) fn next_batch(&mut self) -> BatchBuffers<'_> {
        self.operations.clear();
        self.dues.clear();
        self.answered = BatchProgress::default();
        self.sequence = None;
        self.inserted.clear();
        BatchBuffers { operations: &mut self.operations, dues: &mut self.dues }
    }

    /// Returns the due time of the first request of the batch, in ns, or `None` in a closed loop.
    #[inline]
    pub(in crate::load) fn first_due_ns(&self) -> Option<u64> {
        self.dues.first().copied()
    }

    /// Writes the batch in the current segment. The latencies of its requests begin at `now_ns`.
    #[inline]
    pub(in crate::load) fn send(
        &mut self,
        io: &mut Io,
        (out, values): (&mut OutgoingRequests, &Values),
        now_ns: u64,
        segments: &mut WorkerSegments,
    ) -> Result<(), ConnectionFailure> {
        self.phase = ConnectionPhase::Busy;
        if let Some(later) = out.take_later() {
            self.sequence = Some(Box::new(Sequence::new(self.batch(), later, values)));
        }
        self.inserted.take(out.inserted());
        self.expected = ExpectedReplies::of(out.take_expected());
        self.since_ns = now_ns;
        self.first_ns = 0;
        self.generation = segments.generation();
        segments.wrote(self.operations.len(), out.length());
        self.write_out(io, out, values)
    }

    /// Writes the next step of the batch, after all replies to earlier steps.
    pub(in crate::load) fn write_next_step(
        &mut self,
        io: &mut Io,
        segments: &mut WorkerSegments,
        now_ns: u64,
    ) -> Result<(), ConnectionFailure> {
        let Some(sequence) = &mut self.sequence else { return Ok(()) };
        let Self { operations, dues, answered, .. } = self;
        let Some((out, values)) = sequence.next(operations, dues, answered, now_ns) else { return Ok(()) };
        self.phase = ConnectionPhase::Busy;
        self.heard_ns = now_ns;
        segments.wrote_to(self.node, out.length());
        self.write_out(io, &out, &values)
    }

    #[inline]
    fn write_out(
        &mut self,
        io: &mut Io,
        out: &OutgoingRequests,
        values: &Values,
    ) -> Result<(), ConnectionFailure> {
        match out.as_whole() {
            Some(bytes) => self.write(io, bytes),
            None => self.write_on(io, Box::new(UnsentBytes::apart(out, values))),
        }
    }

    #[inline]
    pub(super) fn write(&mut self, io: &mut Io, bytes: &[u8]) -> Result<(), ConnectionFailure> {
        if let Some(tag) = self.tag()
            && io.send(tag, &self.transport, bytes)?
        {
            return Ok(());
        }
        let written = loop {
            match self.transport.write(bytes) {
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        if written < bytes.len() {
            self.unsent = Some(Box::new(UnsentBytes::whole(&bytes[written..])));
        }
        self.await_room(io)
    }

    /// Writes the bytes that the ring could not send, or returns the error of the send.
    #[cold]
    pub(in crate::load) fn not_sent(
        &mut self,
        rest: io::Result<Vec<u8>>,
        io: &mut Io,
    ) -> Result<(), ConnectionFailure> {
        self.write_on(io, Box::new(UnsentBytes::whole(&rest?)))
    }

    /// Writes bytes that the socket has not accepted yet.
    pub(super) fn write_on(
        &mut self,
        io: &mut Io,
        mut unsent: Box<UnsentBytes>,
    ) -> Result<(), ConnectionFailure> {
        if !unsent.write(&mut self.transport)? {
            self.unsent = Some(unsent);
        }
        self.await_room(io)
    }

    /// If the socket has not accepted all bytes, registers for the event that reports a writable socket.
    #[inline]
    fn await_room(&mut self, io: &mut Io) -> Result<(), ConnectionFailure> {
        if !self.is_all_sent() {
            self.listen(io, Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }
}
