//! The ping probe's socket: non-blocking, TCP (with TLS or not) or unix, opened without waiting.
//!
//! The socket sends and receives bytes, has the kernel timestamp them if possible, and waits for readiness; it does
//! not know PING.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    time::Duration,
};

use rustix::event::PollFlags;

use super::{
    stamps::{self, Arrival, Departure, Stamper},
    tcp_info::tcp_rtt,
};
use crate::{
    endpoint::{Endpoint, Tls, Transport},
    probe::{TcpRtt, Timing},
};

/// Room for one read: thousands of PONGs.
const READ_SIZE: usize = 16 * 1024;

/// The events that a connection is ready for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    /// Bytes, an end or an error can be read.
    pub readable: bool,
    /// Bytes can be written, or the attempt to connect continues or has ended.
    pub writable: bool,
    /// The kernel has timestamps, or an error that is not reported otherwise.
    pub stamped: bool,
}

/// The result of one read.
#[derive(Debug)]
pub(super) struct Input<'a> {
    /// The bytes; none at the stream's end.
    pub bytes: &'a [u8],
    /// When the last byte had arrived by the kernel's timestamp, on the wall clock. `None` without one, or if there
    /// may have been more data: the timestamp could be that of a later byte.
    pub arrived_wall_ns: Option<i64>,
}

/// A socket with the bytes that still have to be written to it.
#[derive(Debug)]
pub(super) struct StampedSocket {
    transport: Transport,
    /// Whether the socket is connected, so that a TLS handshake may be in progress.
    is_open: bool,
    unsent: Vec<u8>,
    /// The end of each unwritten message, in bytes since the beginning. Each message is a separate write, since the
    /// kernel timestamps writes.
    ends: VecDeque<u64>,
    queued: u64,
    written: u64,
    input: Box<[u8]>,
    /// The reader of timestamps, or why there are none; `None` before that is known.
    stamper: Option<Result<Stamper, Timing>>,
}

impl StampedSocket {
    /// Begins to connect. The connection becomes writable when the attempt continues or has ended;
    /// [`finish_open`](Self::finish_open) returns which.
    pub(super) fn open(endpoint: &Endpoint, tls: Option<&Tls>) -> io::Result<Self> {
        Ok(Self {
            transport: Transport::connect(endpoint, tls)?,
            is_open: false,
            unsent: Vec::new(),
            ends: VecDeque::new(),
            queued: 0,
            written: 0,
            input: vec![0; READ_SIZE].into(),
            stamper: None,
        })
    }

    /// Continues the attempt to connect. Returns whether it succeeded, or its error.
    pub(super) fn finish_open(&mut self) -> io::Result<bool> {
        self.is_open = self.is_open || self.transport.is_connected()?;
        Ok(self.is_open && self.transport.shake_hands()?)
    }

    /// Turns on timestamps for data that is written and read from now on, if possible: the connection is open, and
    /// nothing was written to it yet.
    pub(super) fn begin_stamps(&mut self) {
        self.stamper = Some(match &self.transport {
            Transport::Plain(socket) => stamps::begin(socket),
            // The timestamps belong to TLS records, which do not match the messages.
            Transport::Tls(_) => Err(Timing::Tls),
        });
    }

    /// Returns whether there are timestamps, or why not; `None` before that is known.
    pub(super) fn timing(&self) -> Option<Timing> {
        self.stamper.as_ref().map(|stamper| stamper.as_ref().err().copied().unwrap_or(Timing::Kernel))
    }

    /// Returns the kernel's own round-trip figures.
    pub(super) fn tcp(&self) -> Option<TcpRtt> {
        tcp_rtt(self.transport.socket())
    }

    /// Queues a message after the unwritten ones. Returns the [key](Departure::key) of its departure.
    pub(super) fn queue(&mut self, message: &[u8]) -> u32 {
        self.unsent.extend_from_slice(message);
        self.queued += message.len() as u64;
        self.ends.push_back(self.queued);
        Departure::key_of(self.queued)
    }

    /// Returns the next departure that the kernel reports.
    pub(super) fn next_departure(&mut self) -> Option<Departure> {
        self.stamper.as_mut()?.as_mut().ok()?.next_departure(self.transport.socket())
    }

    /// Writes as much as the socket accepts.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while let Some(end) = self.ends.front() {
            let message = (end - self.written) as usize;
            match self.transport.write(&self.unsent[..message]) {
                Ok(n) => {
                    drop(self.unsent.drain(..n));
                    self.written += n as u64;
                    self.ends.pop_front_if(|end| *end == self.written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match self.transport.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads available data once; data that does not fit makes the connection readable again. `None` if there is no
    /// data, no bytes at the stream's end.
    pub(super) fn read(&mut self) -> io::Result<Option<Input<'_>>> {
        let read = match &mut self.stamper {
            Some(Ok(stamper)) => stamper.read(self.transport.socket(), &mut self.input),
            _ => self.transport.read(&mut self.input).map(|length| Arrival { length, wall_ns: None }),
        };
        match read {
            Ok(Arrival { length, wall_ns }) => Ok(Some(Input {
                bytes: &self.input[..length],
                arrived_wall_ns: wall_ns.filter(|_| length < self.input.len()),
            })),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until there is data to read, or (while `connecting` or with unsent bytes) room to write.
    pub(super) fn wait(&self, connecting: bool, timeout: Duration) -> Readiness {
        let has_more = self.transport.has_more();
        let flags = self.transport.wait(self.interest(), if has_more { Duration::ZERO } else { timeout });
        // With timestamps the error flag usually means a timestamp, also without any error.
        let stamped = matches!(self.stamper, Some(Ok(_)));
        let loss = PollFlags::HUP | PollFlags::NVAL;
        let ended = flags.intersects(if stamped { loss } else { loss | PollFlags::ERR });
        let readable = has_more || ended || flags.contains(PollFlags::IN);
        Readiness {
            readable: !connecting && readable,
            writable: flags.contains(PollFlags::OUT) || (connecting && readable),
            stamped: stamped && flags.contains(PollFlags::ERR),
        }
    }

    fn interest(&self) -> PollFlags {
        if !self.is_open {
            // A failed attempt to connect is readable at once, and its error has to be read first.
            PollFlags::OUT
        } else if self.unsent.is_empty() && !self.transport.wants_write() {
            PollFlags::IN
        } else {
            PollFlags::IN | PollFlags::OUT
        }
    }
}
