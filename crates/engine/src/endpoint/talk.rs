//! A connection for requests that are not part of the load. The caller sends a batch of requests and waits
//! for all replies.

use std::{
    io::{self, Read as _, Write as _},
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    time::{Duration, Instant},
};

use rustix::event::PollFlags;

use super::{
    HANDSHAKE_LIMIT, OpenConnection, Party, ReachError, Target, TlsFailure,
    dial::{connect_to_any, resolve},
    line::{TimedStream, is_nothing},
    unknown_server,
};
use crate::protocol::{ProtocolError, Reply, Skipper};

/// The longest accepted reply before authentication, in bytes. A reply to HELLO has a few hundred bytes, or a
/// few thousand if the server has many modules.
const LONGEST_OF_ANYBODY: usize = 64 * 1024;

/// The size of one read.
const READ_SIZE: usize = 16 * 1024;

/// A connection for requests that are not part of the load.
pub struct Talk {
    pub(super) line: TimedStream,
    pub(super) target: Target,
    skipper: Skipper,
    unsent: Vec<u8>,
    /// The error of a failed write. If a server rejects a client, the server sends the reason before it disconnects.
    /// redyno then reports this reason instead of the error.
    pub(super) failed: Option<io::Error>,
    /// The bytes of the reply in progress, and the number of these bytes that were parsed.
    pub(super) received: Vec<u8>,
    parsed: usize,
    /// The longest accepted reply, in bytes.
    pub(super) longest: usize,
    /// Whether replies have bodies. Replies to the HTTP method HEAD have no bodies.
    has_bodies: bool,
    _open: OpenConnection,
}

/// The result of a [step](Talk::step).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TalkStep {
    /// All requests are sent, and all replies have arrived.
    Done,
    /// Bytes have arrived, and more may be available.
    Further,
    /// The next step is possible only when the socket is ready.
    Blocked,
}

/// The reason why a connection could not be opened, with the system's message.
#[derive(Debug)]
pub enum TalkError {
    /// The connection could not be opened.
    Connect(io::Error),
    /// The TLS handshake failed.
    Tls(io::Error),
}

impl Talk {
    /// Limits the replies. A reply of more than `longest` bytes is an error. A reply that a decoder [cannot
    /// handle](Skipper::bounded) is an error, too.
    #[must_use]
    pub fn bounded(self, longest: usize) -> Self {
        Self { longest, skipper: self.skipper.bounded(), ..self }
    }

    /// Makes the connection expect replies with bodies. All HTTP requests except HEAD have such replies.
    #[must_use]
    pub fn with_bodies(self) -> Self {
        Self { has_bodies: true, ..self }
    }

    /// Connects to `target` by `deadline`, with TLS if required, and sends no command. Waits at most
    /// [`HANDSHAKE_LIMIT`] if the server sends nothing in the TLS handshake.
    ///
    /// # Errors
    /// Fails if the target cannot be reached, or does not speak TLS as requested.
    pub fn silent(target: &Target, deadline: Instant) -> Result<Self, TalkError> {
        let found = resolve(target, deadline).map_err(TalkError::Connect)?;
        let connected = connect_to_any(&found, target.tls.as_ref(), deadline);
        let mut line = TimedStream(connected.map_err(TalkError::Connect)?);
        let limit = Instant::now() + HANDSHAKE_LIMIT;
        match line.shake_hands(limit, deadline) {
            Ok(true) => Ok(Self::on(line, target)),
            Ok(false) if limit <= deadline && line.first_bytes().is_empty() => {
                Err(TalkError::Tls(TlsFailure::Silent.into()))
            }
            Ok(false) => Err(TalkError::Tls(io::ErrorKind::TimedOut.into())),
            Err(error) => Err(TalkError::Tls(error)),
        }
    }

    /// Begins a conversation on a new connection.
    pub(super) fn on(line: TimedStream, target: &Target) -> Self {
        let (target, skipper, longest) = (target.clone(), target.dialect.skipper(), LONGEST_OF_ANYBODY);
        let (unsent, received, has_bodies) = (Vec::new(), Vec::new(), target.dialect.has_keys());
        let _open = target.side_calls.opened(&target.address);
        Self { line, target, skipper, unsent, failed: None, received, parsed: 0, longest, has_bodies, _open }
    }

    /// Returns the server of this connection.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the address of the server after the lookup of its name. Returns `None` for a unix socket.
    pub fn server(&self) -> Option<SocketAddr> {
        self.line.0.socket().peer_addr().ok()?.as_socket()
    }

    /// Sends the requests in `questions`, and waits for this number of `replies`. Calls `take` with the bytes and the
    /// kind of each reply.
    ///
    /// # Errors
    /// Fails if the connection breaks, if the server sends data that is not a reply, or if replies are missing after
    /// `limit`.
    pub fn ask(
        &mut self,
        questions: &[u8],
        replies: usize,
        limit: Duration,
        mut take: impl FnMut(&[u8], Reply),
    ) -> Result<(), ReachError> {
        let (deadline, mut awaited) = (Instant::now() + limit, replies);
        self.send(questions);
        loop {
            match self.step(&mut awaited, &mut take)? {
                TalkStep::Done => return Ok(()),
                TalkStep::Further if Instant::now() < deadline => {}
                TalkStep::Blocked if self.line.wait(self.interest(), deadline) => {}
                _ => return Err(self.broken(io::ErrorKind::TimedOut.into())),
            }
        }
    }

    /// Sends a command, and returns the bytes of its reply.
    ///
    /// # Errors
    /// Fails in the same cases as [`ask`](Self::ask).
    pub fn reply(&mut self, words: &[&[u8]], limit: Duration) -> Result<Vec<u8>, ReachError> {
        let mut reply = Vec::new();
        self.count(words);
        let question = self.target.dialect.encode(words);
        self.ask(&question, 1, limit, |bytes, _| reply = bytes.to_vec())?;
        Ok(reply)
    }

    /// Counts a command of [`ask`](Self::ask) among redyno's own calls to the server.
    pub(crate) fn count(&self, words: &[&[u8]]) {
        self.target.side_calls.count(&self.target.address, words);
    }

    /// Queues requests, which the next steps send.
    pub fn send(&mut self, questions: &[u8]) {
        self.unsent.extend_from_slice(questions);
    }

    /// Writes as much as the socket accepts, and reads once if replies are missing. Calls `take` with the bytes and the
    /// kind of each complete reply. `awaited` is the number of missing replies. The function never blocks.
    ///
    /// # Errors
    /// Fails if the connection breaks, or if the server sends data that is not a reply.
    pub fn step(
        &mut self,
        awaited: &mut usize,
        mut take: impl FnMut(&[u8], Reply),
    ) -> Result<TalkStep, ReachError> {
        if self.interest().contains(PollFlags::OUT) {
            match self.line.0.write(&self.unsent) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(error) if is_nothing(&error) => {}
                Err(error) => self.failed = Some(error),
            }
        }
        let mut begins = 0;
        while *awaited > 0 {
            let mut rest = &self.received[self.parsed..];
            let reply = match self.skipper.whole(&mut rest, self.has_bodies) {
                Ok(reply) => reply,
                Err(excess @ ProtocolError::Excess(_)) => {
                    return Err(self.broken(io::Error::other(format!("the server sent {excess}"))));
                }
                Err(_) => return Err(unknown_server::diagnosis(&self.target, &self.received[begins..])),
            };
            self.parsed = self.received.len() - rest.len();
            let Some(reply) = reply else { break };
            take(&self.received[begins..self.parsed], reply);
            (begins, *awaited) = (self.parsed, *awaited - 1);
        }
        self.parsed -= begins;
        self.received.drain(..begins);
        if *awaited == 0 {
            let is_sent = !self.interest().contains(PollFlags::OUT);
            return Ok(if is_sent { TalkStep::Done } else { TalkStep::Blocked });
        }
        if self.received.len() > self.longest {
            return Err(ReachError::Endless(Party::of(&self.target)));
        }
        let mut buffer = [0; READ_SIZE];
        match self.line.0.read(&mut buffer) {
            // A body without a length ends with the connection.
            Ok(0) if self.has_bodies && self.skipper.ends_reply() => Ok(TalkStep::Further),
            Ok(0) => {
                let failed = self.failed.take();
                Err(self.broken(failed.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())))
            }
            Ok(n) => {
                self.received.extend_from_slice(&buffer[..n]);
                Ok(TalkStep::Further)
            }
            Err(error) if is_nothing(&error) && self.line.0.has_more() => Ok(TalkStep::Further),
            Err(error) if is_nothing(&error) => Ok(TalkStep::Blocked),
            Err(error) => Err(self.broken(error)),
        }
    }

    /// Returns the socket events that the next step needs.
    fn interest(&self) -> PollFlags {
        let is_unsent = self.failed.is_none() && (!self.unsent.is_empty() || self.line.0.wants_write());
        if is_unsent { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    }

    /// Returns whether the server sent more data than the expected replies.
    pub fn has_more(&self) -> bool {
        !self.received.is_empty()
    }

    /// Returns the error of a broken connection.
    pub fn broken(&self, cause: io::Error) -> ReachError {
        ReachError::Io { address: self.target.address.clone(), cause }
    }
}

impl AsFd for Talk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.0.as_fd()
    }
}

impl AsRawFd for Talk {
    fn as_raw_fd(&self) -> RawFd {
        self.line.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener, thread};

    use super::*;
    use crate::{
        endpoint::Address,
        protocol::{Dialect, HttpSite},
    };

    #[test]
    fn the_limit_applies_to_each_reply_and_replies_are_not_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let reply = [b"$1048576\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
            let (mut client, _) = listener.accept().unwrap();
            (0..40).for_each(|_| client.write_all(&reply).unwrap());
            client
        });
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
        let target = Target { address, ..Target::default() };
        let limit = Duration::from_secs(30);
        let mut talk = Talk::silent(&target, Instant::now() + limit).unwrap_or_else(|_| panic!("it listens"));
        talk = talk.bounded(2 << 20);
        let mut lengths = Vec::new();
        talk.ask(b"", 40, limit, |bytes, _| lengths.push(bytes.len())).unwrap();
        assert_eq!(lengths, vec![(1 << 20) + 12; 40]);
        assert!(talk.received.capacity() < 8 << 20, "{}", talk.received.capacity());
        drop(server.join().unwrap());
    }

    #[test]
    fn an_http_server_that_closes_without_a_reply_ends_the_conversation_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na").unwrap();
        });
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
        let target = Target { address, dialect: Dialect::Http(HttpSite::of("h", "/")), ..Target::default() };
        let limit = Duration::from_secs(3600);
        let mut talk = Talk::silent(&target, Instant::now() + limit).unwrap_or_else(|_| panic!("it listens"));
        talk = talk.with_bodies();
        talk.ask(b"", 1, limit, |_, _| {}).unwrap();
        server.join().unwrap();
        let closed = talk.ask(b"", 1, limit, |_, _| {}).unwrap_err();
        assert!(
            matches!(closed, ReachError::Io { cause, .. } if cause.kind() == io::ErrorKind::UnexpectedEof)
        );
    }
}
