//! The ping probe's socket: non-blocking, TCP (with TLS or not) or unix, opened without waiting.
//!
//! It moves bytes, has the kernel stamp them where it can, and waits for readiness; it does not know what a PING is.

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

/// What a connection is ready for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    /// Bytes, an end or an error can be read.
    pub readable: bool,
    /// Bytes can be written, or the attempt to connect goes on or has ended.
    pub writable: bool,
    /// The kernel has stamps, or an error that is not reported otherwise.
    pub stamped: bool,
}

/// What was read, once.
#[derive(Debug)]
pub(super) struct Input<'a> {
    /// The bytes; none at the stream's end.
    pub bytes: &'a [u8],
    /// When the last of them had arrived by the kernel's stamp, on the wall clock. `None` without one, and when
    /// there may have been more: the stamp could be that of a later byte.
    pub arrived_wall_ns: Option<i64>,
}

/// A socket with the bytes that still have to be written to it.
#[derive(Debug)]
pub(super) struct StampedSocket {
    transport: Transport,
    /// Whether the socket is connected, so that a TLS handshake may be under way.
    is_open: bool,
    unsent: Vec<u8>,
    /// Where each message that is not written yet ends, in bytes since the beginning. Each is a write of its own,
    /// since the kernel stamps writes.
    ends: VecDeque<u64>,
    queued: u64,
    written: u64,
    input: Box<[u8]>,
    /// Once it is known whether there are stamps.
    stamper: Option<Result<Stamper, Timing>>,
}

impl StampedSocket {
    /// Begins to connect. The connection becomes writable when the attempt goes on or has ended;
    /// [`finish_open`](Self::finish_open) knows which.
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

    /// Goes on with the attempt to connect. Whether it has ended well; its error if it has ended otherwise.
    pub(super) fn finish_open(&mut self) -> io::Result<bool> {
        self.is_open = self.is_open || self.transport.is_connected()?;
        Ok(self.is_open && self.transport.shake_hands()?)
    }

    /// Has the kernel stamp what is written and read from now on, where it can: the connection stands, and nothing
    /// was written to it yet.
    pub(super) fn begin_stamps(&mut self) {
        self.stamper = Some(match &self.transport {
            Transport::Plain(socket) => stamps::begin(socket),
            // What is stamped are records, whose bytes are not those of the messages.
            Transport::Tls(_) => Err(Timing::Tls),
        });
    }

    /// Whether there are stamps, or why not; `None` before it is known.
    pub(super) fn timing(&self) -> Option<Timing> {
        self.stamper.as_ref().map(|stamper| stamper.as_ref().err().copied().unwrap_or(Timing::Kernel))
    }

    /// The kernel's own figures of the round trip.
    pub(super) fn tcp(&self) -> Option<TcpRtt> {
        tcp_rtt(self.transport.socket())
    }

    /// Puts a message behind those that still have to be written. The [key](Departure::key) of its departure.
    pub(super) fn queue(&mut self, message: &[u8]) -> u32 {
        self.unsent.extend_from_slice(message);
        self.queued += message.len() as u64;
        self.ends.push_back(self.queued);
        Departure::key_of(self.queued)
    }

    /// The next departure that the kernel reports.
    pub(super) fn next_departure(&mut self) -> Option<Departure> {
        self.stamper.as_mut()?.as_mut().ok()?.next_departure(self.transport.socket())
    }

    /// Writes as much as the socket takes.
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

    /// Reads what is there, once; what does not fit makes the connection readable again. `None` when there is
    /// nothing, no bytes at the stream's end.
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

    /// Waits until there is something to read, or (while `connecting` or with bytes unsent) room to write.
    pub(super) fn wait(&self, connecting: bool, timeout: Duration) -> Readiness {
        let has_more = self.transport.has_more();
        let flags = self.transport.wait(self.interest(), if has_more { Duration::ZERO } else { timeout });
        // With stamps the error flag stands for those first, also while all is well.
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
            // An attempt to connect that fails is readable at once, and its error has to be taken first.
            PollFlags::OUT
        } else if self.unsent.is_empty() && !self.transport.wants_write() {
            PollFlags::IN
        } else {
            PollFlags::IN | PollFlags::OUT
        }
    }
}
