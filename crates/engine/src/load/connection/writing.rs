//! Writes batches, the later steps of batches, and bytes that the socket did not accept at once.

use std::io::{self, Write};

use mio::Interest;

use super::{Connection, ConnectionPhase};
use crate::{
    load::{
        answered::{Answered, Batch},
        broken::Broken,
        expected_replies::ExpectedReplies,
        io::Io,
        segments::Segments,
        sequence::Sequence,
        unsent::Unsent,
    },
    workload::{Draws, Outgoing, Values},
};

impl Connection {
    /// Works like [`next_batch`](Self::next_batch), and passes the cursor of the last SCAN reply to the client's
    /// `draws`.
    #[inline]
    pub(in crate::load) fn next_batch_of(&mut self, draws: &mut Draws) -> Batch<'_> {
        if let Some(cursor) = self.cursor.take() {
            draws.take_cursor(cursor);
        }
        self.next_batch()
    }

    /// Clears the connection's batch and returns it. The caller fills the batch before [`send`](Self::send).
    #[inline]
    pub(in crate::load) fn next_batch(&mut self) -> Batch<'_> {
        self.operations.clear();
        self.dues.clear();
        self.answered = Answered::default();
        self.sequence = None;
        self.inserted.clear();
        Batch { operations: &mut self.operations, dues: &mut self.dues }
    }

    /// Returns when the first request of the batch was due; `None` in a closed loop.
    #[inline]
    pub(in crate::load) fn first_due_ns(&self) -> Option<u64> {
        self.dues.first().copied()
    }

    /// Writes the batch in the current segment. The latencies of its requests begin at `now_ns`.
    #[inline]
    pub(in crate::load) fn send(
        &mut self,
        io: &mut Io,
        (out, values): (&mut Outgoing, &Values),
        now_ns: u64,
        segments: &mut Segments,
    ) -> Result<(), Broken> {
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
    pub(in crate::load) fn go_on(
        &mut self,
        io: &mut Io,
        segments: &mut Segments,
        now_ns: u64,
    ) -> Result<(), Broken> {
        let Some(sequence) = &mut self.sequence else { return Ok(()) };
        let Some((out, values)) = sequence.next(&mut self.operations, &mut self.dues, &mut self.answered)
        else {
            return Ok(());
        };
        self.phase = ConnectionPhase::Busy;
        self.heard_ns = now_ns;
        segments.wrote_to(self.node, out.length());
        self.write_out(io, &out, &values)
    }

    #[inline]
    fn write_out(&mut self, io: &mut Io, out: &Outgoing, values: &Values) -> Result<(), Broken> {
        match out.as_whole() {
            Some(bytes) => self.write(io, bytes),
            None => self.write_on(io, Box::new(Unsent::apart(out, values))),
        }
    }

    #[inline]
    pub(super) fn write(&mut self, io: &mut Io, bytes: &[u8]) -> Result<(), Broken> {
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
            self.unsent = Some(Box::new(Unsent::whole(&bytes[written..])));
        }
        self.await_room(io)
    }

    /// Writes the bytes that the ring could not send, or returns the error of the send.
    #[cold]
    pub(in crate::load) fn not_sent(&mut self, rest: io::Result<Vec<u8>>, io: &mut Io) -> Result<(), Broken> {
        self.write_on(io, Box::new(Unsent::whole(&rest?)))
    }

    /// Writes the remaining bytes.
    pub(super) fn write_on(&mut self, io: &mut Io, mut unsent: Box<Unsent>) -> Result<(), Broken> {
        if !unsent.write(&mut self.transport)? {
            self.unsent = Some(unsent);
        }
        self.await_room(io)
    }

    /// If bytes remain, registers for the event that the socket accepts more bytes.
    #[inline]
    fn await_room(&mut self, io: &mut Io) -> Result<(), Broken> {
        if !self.is_all_sent() {
            self.listen(io, Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }
}
