//! The ping probe's socket: non-blocking, TCP or unix, opened without waiting.
//!
//! It moves bytes and waits for readiness; it does not know what a PING is.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::target::Endpoint;

/// Room for one read: thousands of PONGs.
const READ_SIZE: usize = 16 * 1024;

/// What a connection is ready for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    /// Bytes, an end or an error can be read.
    pub readable: bool,
    /// Bytes can be written, or the attempt to connect has ended.
    pub writable: bool,
}

/// A socket with the bytes that still have to be written to it.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    unsent: Vec<u8>,
    input: Box<[u8]>,
}

impl Connection {
    /// Begins to connect. The connection becomes writable when the attempt has ended; [`check`](Self::check) tells how.
    pub(super) fn open(endpoint: &Endpoint) -> io::Result<Self> {
        let (socket, address) = match endpoint {
            Endpoint::Tcp(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
                socket.set_tcp_nodelay(true)?;
                (socket, SockAddr::from(*address))
            }
            Endpoint::Unix(path) => (Socket::new(Domain::UNIX, Type::STREAM, None)?, SockAddr::unix(path)?),
        };
        socket.set_nonblocking(true)?;
        match socket.connect(&address) {
            Err(error) if Errno::from_io_error(&error) != Some(Errno::INPROGRESS) => Err(error),
            _ => Ok(Self { socket, unsent: Vec::new(), input: vec![0; READ_SIZE].into() }),
        }
    }

    /// The error that the attempt to connect has ended with, if it has.
    pub(super) fn check(&self) -> io::Result<()> {
        self.socket.take_error()?.map_or(Ok(()), Err)
    }

    /// Puts bytes behind those that still have to be written.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Writes as much as the socket takes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.socket.write(&self.unsent) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is there, once; what does not fit makes the connection readable again. `None` when there is
    /// nothing, an empty slice at the stream's end.
    pub(super) fn read(&mut self) -> io::Result<Option<&[u8]>> {
        match self.socket.read(&mut self.input) {
            Ok(n) => Ok(Some(&self.input[..n])),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until there is something to read, or (while `connecting` or with bytes unsent) room to write.
    pub(super) fn wait(&self, connecting: bool, timeout: Duration) -> Readiness {
        // An attempt to connect that fails is readable at once, and its error has to be taken first.
        let interest = match (connecting, self.unsent.is_empty()) {
            (true, _) => PollFlags::OUT,
            (false, true) => PollFlags::IN,
            (false, false) => PollFlags::IN | PollFlags::OUT,
        };
        let mut polled = [PollFd::new(&self.socket, interest)];
        wait_for(&mut polled, timeout);
        let flags = polled[0].revents();
        let ended = flags.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        Readiness {
            readable: !connecting && (ended || flags.contains(PollFlags::IN)),
            writable: flags.contains(PollFlags::OUT) || (connecting && ended),
        }
    }
}

/// Waits for `timeout` where there is no connection to wait for.
pub(super) fn pause(timeout: Duration) {
    wait_for(&mut [], timeout);
}

/// Polls. The timeout has the resolution of nanoseconds where the system has `ppoll` (Linux and the BSDs); on
/// macOS it is rounded up to whole milliseconds, and PINGs are written up to 1 ms late.
fn wait_for(polled: &mut [PollFd], timeout: Duration) {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // It fails by a signal or for lack of memory: nothing is ready then, and the caller comes back.
    let _ = poll(polled, Some(&timeout));
}
