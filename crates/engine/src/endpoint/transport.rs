//! A stream to a server: TCP, TLS over TCP, or a unix socket. The stream never blocks.
//!
//! ```text
//! load            the poll loop of a worker ─┐
//! ping            wait ──────────────────────┼─► Transport ─► TLS, if there is any ─► socket
//! first contact   wait, until a deadline ────┘
//! ```

use std::{
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use socket2::{Domain, SockAddr, Socket, Type};

use super::{Endpoint, Tls, TlsStream};

/// A non-blocking stream to a server.
#[derive(Debug)]
pub enum Transport {
    /// Plain bytes.
    Plain(Socket),
    /// Encrypted bytes.
    Tls(Box<TlsStream<Socket>>),
}

impl Transport {
    /// Begins to connect. When the attempt has ended, the socket is writable. [`is_connected`](Self::is_connected) then
    /// returns the result.
    ///
    /// # Errors
    /// Fails if the system refuses the attempt at once. For a unix socket with a full queue of new connections, the
    /// error is `WouldBlock`.
    pub fn connect(endpoint: &Endpoint, tls: Option<&Tls>) -> io::Result<Self> {
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
            Err(error) if Errno::from_io_error(&error) != Some(Errno::INPROGRESS) => return Err(error),
            _ => {}
        }
        Ok(match tls {
            None => Self::Plain(socket),
            Some(tls) => Self::Tls(Box::new(TlsStream::new(tls, socket)?)),
        })
    }

    /// Returns the underlying socket.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.socket(),
        }
    }

    /// Returns whether the socket is connected.
    ///
    /// # Errors
    /// Fails with the system's error if the attempt to connect failed.
    pub fn is_connected(&self) -> io::Result<bool> {
        let socket = self.socket();
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        match socket.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Continues the TLS handshake on a connected socket. Returns whether data can be sent. Without TLS, returns true
    /// at once.
    ///
    /// # Errors
    /// Fails in the same cases as [`TlsStream::shake_hands`].
    pub fn shake_hands(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(stream) => stream.shake_hands(),
        }
    }

    /// Returns whether the server has sent nothing yet in a TLS handshake. Without TLS, returns false.
    pub fn awaits_handshake(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.first_bytes().is_empty())
    }

    /// Returns whether a read may return data although the socket is not readable.
    pub fn has_more(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_more())
    }

    /// Returns whether bytes that `write` accepted still wait to be written to the socket.
    #[inline]
    pub fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.wants_write())
    }

    /// Waits until the socket is ready for one of `interests`. Returns the events for which the socket is ready, or no
    /// events after the timeout.
    pub fn wait(&self, interests: PollFlags, timeout: Duration) -> PollFlags {
        let mut polled = [PollFd::new(self, interests)];
        wait_for(&mut polled, timeout);
        polled[0].revents()
    }
}

/// Sleeps for `timeout`. A signal may end the sleep early.
pub fn pause(timeout: Duration) {
    wait_for(&mut [], timeout);
}

/// Waits until one of `polled` is ready, at most for `timeout`. Records the events for which each socket is ready. The
/// timeout has a resolution of nanoseconds on systems with `ppoll` (Linux and the BSDs). On macOS, the timeout is
/// rounded up to whole milliseconds.
pub fn wait_for(polled: &mut [PollFd], timeout: Duration) {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // The call fails because of a signal or for lack of memory: then nothing is ready, and the caller tries again.
    let _ = poll(polled, Some(&timeout));
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl AsRawFd for Transport {
    fn as_raw_fd(&self) -> RawFd {
        self.socket().as_raw_fd()
    }
}

impl Read for Transport {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    #[inline]
    fn write_vectored(&mut self, pieces: &[io::IoSlice]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write_vectored(pieces),
            Self::Tls(stream) => stream.write_vectored(pieces),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
