//! The ping probe's socket: a non-blocking TCP socket, with or without TLS, or a non-blocking unix socket.
//!
//! The socket sends and receives bytes without interpreting them, and waits until it is ready. If possible,
//! the kernel timestamps the bytes.

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

/// The size of the read buffer in bytes. Thousands of PONGs fit into the buffer.
const READ_SIZE: usize = 16 * 1024;

/// The operations for which a connection is ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    /// Whether a read would return bytes, the end of the stream or an error.
    pub readable: bool,
    /// Whether bytes can be written, or the attempt to connect can continue or has ended.
    pub writable: bool,
    /// Whether the kernel has timestamps to read. Also true for an error that the other flags do not report.
    pub stamped: bool,
}

/// The result of one read.
pub(super) struct Input<'a> {
    /// The bytes that were read. At the end of the stream, there are no bytes.
    pub bytes: &'a [u8],
    /// The kernel's timestamp of the last byte's arrival, by the wall clock. `None` without a timestamp. Also `None` if
    /// more data may have been waiting. The timestamp could then belong to a later byte.
    pub arrived_wall_ns: Option<i64>,
}

/// A socket with the bytes that still have to be written to it.
pub(super) struct StampedSocket {
    transport: Transport,
    /// Whether the socket is connected. Even then, a TLS handshake may still be in progress.
    is_open: bool,
    unsent: Vec<u8>,
    /// The end of each unwritten message, as a number of bytes since the connection was opened. Each message
    /// is a separate write, because the kernel takes one timestamp for each write.
    ends: VecDeque<u64>,
    queued: u64,
    written: u64,
    input: Box<[u8]>,
    /// The reader of the kernel's timestamps, or the reason why the connection has no timestamps. The field is `None`
    /// before this is known.
    stamper: Option<Result<Stamper, Timing>>,
}

impl StampedSocket {
    /// Begins to connect. The connection becomes writable when the attempt can continue or has ended. The caller must
    /// then call [`finish_open`](Self::finish_open).
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

    /// Continues the attempt to connect. Returns whether the connection is open, or the error of the attempt.
    pub(super) fn finish_open(&mut self) -> io::Result<bool> {
        self.is_open = self.is_open || self.transport.is_connected()?;
        Ok(self.is_open && self.transport.shake_hands()?)
    }

    /// Turns on the kernel's timestamps for all data, if possible. The connection must be open, and nothing must have
    /// been written to it yet.
    pub(super) fn begin_stamps(&mut self) {
        self.stamper = Some(match &self.transport {
            Transport::Plain(socket) => stamps::begin(socket),
            // The timestamps belong to TLS records, which do not match the messages.
            Transport::Tls(_) => Err(Timing::Tls),
        });
    }

    /// Returns whether the kernel takes timestamps for the connection, and if not, why. Returns `None` before
    /// this is known.
    pub(super) fn timing(&self) -> Option<Timing> {
        self.stamper.as_ref().map(|stamper| stamper.as_ref().err().copied().unwrap_or(Timing::Kernel))
    }

    /// Returns the kernel's own round-trip figures.
    pub(super) fn tcp(&self) -> Option<TcpRtt> {
        tcp_rtt(self.transport.socket())
    }

    /// Queues a message after the messages that are not written yet. Returns the [key](Departure::key) with which the
    /// kernel will report the message's departure.
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

    /// Reads available data once. If more data remains, the connection stays readable. Returns `None` if there is no
    /// data. At the end of the stream, returns an input without bytes.
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

    /// Waits until there is data to read. If the socket is `connecting` or has unsent bytes, also waits for room to
    /// write.
    pub(super) fn wait(&self, connecting: bool, timeout: Duration) -> Readiness {
        let has_more = self.transport.has_more();
        let flags = self.transport.wait(self.interest(), if has_more { Duration::ZERO } else { timeout });
        // With timestamps, the error flag usually means that a timestamp is available, not that there is an error.
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
