//! How the load's connections read and write: always with a poll loop, and optionally with an io_uring ring as well.
//! The ring serves connections that are open and have no TLS.
//!
//! ```text
//!  connecting, greeting, TLS ──► poll loop ─┐
//!                                           ├─► the worker's round
//!  open, without TLS ──────────► ring ──────┘   (the ring watches the poll loop)
//! ```
//! Without a ring, the poll loop serves all connections.

mod choice;
#[cfg(target_os = "linux")]
mod uring;

use std::{io, os::fd::AsRawFd, str::FromStr, time::Duration};

use mio::{Events, Poll, Registry};
use thiserror::Error;

pub use choice::IoChoice;
#[cfg(target_os = "linux")]
use uring::Uring;

crate::named_values! {
    /// How the workers read from and write to open connections.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum IoMethod {
        /// Each read and each write is a separate system call.
        #[default]
        Epoll "epoll",
        /// One system call sends many batches and receives many replies. This method exists only on Linux, and does not
        /// work with TLS.
        Uring "uring",
        /// `epoll` or `uring`. A short measurement on this machine decides (see [`IoChoice`]).
        Auto "auto",
    }
}

/// The error for a text that is not the name of an [`IoMethod`].
#[derive(Debug, Error)]
#[error("'{0}' is not a method; give epoll, uring or auto")]
pub struct ParseIoError(String);

impl IoMethod {
    /// Returns epoll or io_uring: this method, or the method that [`IoChoice`] has chosen.
    pub fn resolved(self) -> Self {
        if self == Self::Auto { IoChoice::get().method } else { self }
    }

    /// Checks that this system supports this method.
    ///
    /// # Errors
    /// Fails if the system does not support the method. For example, the kernel is old, or a container forbids the
    /// system calls.
    pub fn check(self) -> io::Result<()> {
        match self.resolved() {
            Self::Epoll | Self::Auto => Ok(()),
            Self::Uring => Uring::new(Poll::new()?.as_raw_fd()).map(drop),
        }
    }

    /// Returns the method that `REDYNO_TEST_IO` names, for tests. Returns epoll if the variable is not set, or if this
    /// system does not support the method.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn of_tests() -> Self {
        let named = std::env::var("REDYNO_TEST_IO").map(|name| name.parse().expect("epoll or uring"));
        let named: Self = named.unwrap_or_default();
        match named.check() {
            Ok(()) => named,
            Err(error) => {
                eprintln!("tests run over epoll: the system refuses io_uring ({error})");
                Self::Epoll
            }
        }
    }
}

impl FromStr for IoMethod {
    type Err = ParseIoError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|method| method.name() == text);
        named.ok_or_else(|| ParseIoError(text.to_owned()))
    }
}

/// Identifies a connection in a ring, by its lane and by a number. The number begins at 1 and is unique in the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) lane: usize,
    pub(super) number: u32,
}

/// An event that the ring reports for a connection.
#[derive(Debug)]
pub(super) struct RingEvent {
    pub(super) tag: Tag,
    pub(super) came: RingEventKind,
    /// Whether the ring no longer receives from the connection.
    pub(super) has_ended: bool,
}

#[derive(Debug)]
pub(super) enum RingEventKind {
    /// This many bytes arrived. 0 means the end of the stream.
    Bytes(usize),
    /// Nothing has arrived yet.
    Nothing,
    /// Receiving failed.
    Failed(io::Error),
    /// The ring could not send these bytes, or the send failed.
    Unsent(io::Result<Vec<u8>>),
}

/// The poll loop of a worker, and its ring if it has one.
pub(super) struct Io {
    poll: Poll,
    ring: Option<Box<Uring>>,
    last_number: u32,
    /// Whether poll may have more events than the last call returned.
    has_more: bool,
}

impl Tag {
    /// Returns the tag as the user data of a ring entry. The highest bit is not set.
    fn to_bits(self) -> u64 {
        (self.lane as u64) << 32 | u64::from(self.number)
    }

    fn from_bits(bits: u64) -> Self {
        Self { lane: (bits >> 32) as usize, number: bits as u32 }
    }
}

impl Io {
    pub(super) fn new(poll: Poll) -> Self {
        Self { poll, ring: None, last_number: 0, has_more: false }
    }

    /// Creates a ring for this thread and begins to use it.
    ///
    /// # Errors
    /// Fails if the system refuses io_uring.
    pub(super) fn use_ring(&mut self) -> io::Result<()> {
        self.ring = Some(Box::new(Uring::new(self.poll.as_raw_fd())?));
        Ok(())
    }

    pub(super) fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Waits at most `timeout` for events of the poll loop or arrivals of the ring.
    ///
    /// # Errors
    /// Fails if the system refuses to wait.
    pub(super) fn wait(&mut self, events: &mut Events, timeout: Duration) -> io::Result<()> {
        let Some(ring) = &mut self.ring else { return poll(&mut self.poll, events, timeout) };
        let timeout = if self.has_more { Duration::ZERO } else { timeout };
        if ring.wait(timeout)? || self.has_more {
            poll(&mut self.poll, events, Duration::ZERO)?;
            self.has_more = events.iter().count() == events.capacity();
        } else {
            events.clear();
        }
        Ok(())
    }

    /// Returns the next event of the ring, and copies received bytes into `into`.
    #[inline]
    pub(super) fn next(&mut self, into: &mut [u8]) -> Option<RingEvent> {
        self.ring.as_mut()?.next(into)
    }

    /// Lets the ring receive data from the socket of lane `lane`. Returns the number of the connection in the ring,
    /// or `None` if there is no ring.
    ///
    /// # Errors
    /// Fails if the system refuses to receive.
    pub(super) fn receive(&mut self, lane: usize, socket: &impl AsRawFd) -> io::Result<Option<u32>> {
        let Some(ring) = &mut self.ring else { return Ok(None) };
        self.last_number = self.last_number.wrapping_add(1).max(1);
        let tag = Tag { lane, number: self.last_number };
        ring.receive(tag, socket.as_raw_fd())?;
        Ok(Some(tag.number))
    }

    /// Lets the ring receive from a connection again after the ring has stopped receiving.
    ///
    /// # Errors
    /// Fails if the system refuses to receive.
    pub(super) fn receive_on(&mut self, tag: Tag, socket: &impl AsRawFd) -> io::Result<()> {
        self.ring.as_mut().map_or(Ok(()), |ring| ring.receive(tag, socket.as_raw_fd()))
    }

    /// Queues `bytes` in the ring, which sends them together with the bytes of other connections. Returns false if
    /// there is no ring, or if there are too many bytes.
    ///
    /// # Errors
    /// Fails if the system refuses to send.
    #[inline]
    pub(super) fn send(&mut self, tag: Tag, socket: &impl AsRawFd, bytes: &[u8]) -> io::Result<bool> {
        self.ring.as_mut().map_or(Ok(false), |ring| ring.send(tag, socket.as_raw_fd(), bytes))
    }

    /// Submits the queued sends of the ring. Call this function before a socket is closed. After the close, the
    /// number of the file descriptor may belong to another file.
    ///
    /// # Errors
    /// Fails if the system refuses to send.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.ring.as_mut().map_or(Ok(()), |ring| ring.flush())
    }
}

/// Polls for events. A signal may end the wait early.
fn poll(poll: &mut Poll, events: &mut Events, timeout: Duration) -> io::Result<()> {
    match poll.poll(events, Some(timeout)) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// The ring of systems without io_uring, which cannot be created.
#[cfg(not(target_os = "linux"))]
enum Uring {}

#[cfg(not(target_os = "linux"))]
impl Uring {
    fn new(_: std::os::fd::RawFd) -> io::Result<Self> {
        Err(io::Error::other("io_uring is a part of Linux"))
    }

    fn wait(&mut self, _: Duration) -> io::Result<bool> {
        match *self {}
    }

    fn next(&mut self, _: &mut [u8]) -> Option<RingEvent> {
        match *self {}
    }

    fn receive(&mut self, _: Tag, _: std::os::fd::RawFd) -> io::Result<()> {
        match *self {}
    }

    fn send(&mut self, _: Tag, _: std::os::fd::RawFd, _: &[u8]) -> io::Result<bool> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}
