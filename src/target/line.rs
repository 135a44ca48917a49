//! The blocking socket of one short conversation, with or without TLS; and who is there when TLS does not come about.

use std::{
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use socket2::Socket;

use super::{
    Address, MaybeTls, ReachError, Tls, TlsFailure, TlsSettings, TlsStream, Trust,
    dial::{dial, left},
    stranger,
};
use crate::protocol::encode_command;

/// The part of the time that is kept back from a TLS handshake, to find out who is there if it is not answered: a
/// third.
const KEPT_BACK: u32 = 3;
/// How often the deadline is looked at while a handshake goes on.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a server that closed without a word may take to begin a TLS handshake.
const HELLO_LIMIT: Duration = Duration::from_secs(1);
/// As many of a stranger's first bytes as tell who it is.
const FIRST_BYTES: usize = 64;

/// The socket of a conversation.
pub(super) type Line = MaybeTls<Socket, Recorded>;

impl Line {
    /// Takes TLS up on a socket that is connected.
    ///
    /// # Errors
    /// The diagnosis, also of a server that does not speak TLS.
    pub(super) fn secure(
        socket: Socket,
        tls: &Tls,
        address: &Address,
        deadline: Instant,
    ) -> Result<Self, ReachError> {
        let until = deadline - left(deadline) / KEPT_BACK;
        let socket = Recorded::new(socket);
        let io_error = |cause| ReachError::Io { address: address.clone(), cause };
        let mut stream = TlsStream::new(tls, socket).map_err(io_error)?;
        loop {
            stream.socket_mut().limit(left(until).min(LOOK_EVERY)).map_err(io_error)?;
            match stream.shake_hands() {
                Ok(true) => return Ok(Self::Tls(Box::new(stream))),
                Ok(false) if Instant::now() < until => {}
                Ok(false) => return Err(silent(address, deadline)),
                Err(error) => return Err(failed(address, error, &stream.socket().first)),
            }
        }
    }

    /// No read and no write takes longer.
    pub(super) fn limit(&mut self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Plain(socket) => set_limit(socket, limit),
            Self::Tls(stream) => stream.socket_mut().limit(limit),
        }
    }
}

/// A socket that remembers the first bytes that came, and knows how long it may be read from.
pub(super) struct Recorded {
    socket: Socket,
    first: Vec<u8>,
    until: Option<Instant>,
}

impl Recorded {
    fn new(socket: Socket) -> Self {
        Self { socket, first: Vec::new(), until: None }
    }

    fn limit(&mut self, limit: Duration) -> io::Result<()> {
        self.until = Some(Instant::now() + limit);
        set_limit(&self.socket, limit)
    }
}

impl Read for Recorded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // TLS reads on until it has a record: byte by byte that could take for ever.
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let n = self.socket.read(buffer)?;
        let room = FIRST_BYTES - self.first.len();
        self.first.extend_from_slice(&buffer[..n.min(room)]);
        Ok(n)
    }
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn set_limit(socket: &Socket, limit: Duration) -> io::Result<()> {
    socket.set_read_timeout(Some(limit))?;
    socket.set_write_timeout(Some(limit))
}

/// What it means that the handshake failed, `first` being the first bytes of the other side.
fn failed(address: &Address, error: io::Error, first: &[u8]) -> ReachError {
    let address = address.clone();
    match TlsFailure::of(&error) {
        Some(TlsFailure::NotTls) if is_resp(first) => ReachError::SpeaksPlain(address),
        Some(TlsFailure::NotTls) => stranger::diagnosis(&address, first),
        Some(failure) => ReachError::Tls { address, failure: failure.clone() },
        None if is_closed(&error) => ReachError::ClosedToTls(address),
        None => ReachError::Io { address, cause: error },
    }
}

/// What it means that the handshake was not answered. A Redis without TLS waits for the end of the line that it takes
/// the handshake for, so a second connection asks in plain text; nothing but PING.
fn silent(address: &Address, deadline: Instant) -> ReachError {
    let ask = || {
        let (mut socket, _) = dial(address, deadline).ok()?;
        set_limit(&socket, left(deadline)).ok()?;
        socket.write_all(&encode_command(&[b"PING"])).ok()?;
        let mut first = [0; FIRST_BYTES];
        let n = socket.read(&mut first).ok()?;
        Some(first[..n].to_vec())
    };
    match ask() {
        Some(first) if is_resp(&first) => ReachError::SpeaksPlain(address.clone()),
        Some(first) if !first.is_empty() => stranger::diagnosis(address, &first),
        _ => ReachError::SilentToTls(address.clone()),
    }
}

/// Whether a server that closed without a word answers a TLS handshake: OpenSSL hangs up on plain text and says nothing.
/// Nothing follows the handshake.
pub(super) fn speaks_tls(address: &Address, deadline: Instant) -> bool {
    let deadline = deadline.min(Instant::now() + HELLO_LIMIT);
    let settings = TlsSettings { trust: Trust::Anybody, ..TlsSettings::default() };
    let ask = || {
        let tls = Tls::new(settings, address).ok()?;
        let (socket, _) = dial(address, deadline).ok()?;
        let mut stream = TlsStream::new(&tls, Recorded::new(socket)).ok()?;
        stream.socket_mut().limit(left(deadline)).ok()?;
        let answered = stream.shake_hands().is_ok_and(|done| done);
        // A handshake or an alert, version 3.x.
        Some(answered || matches!(stream.socket().first.as_slice(), [0x15 | 0x16, 0x03, ..]))
    };
    ask().unwrap_or(false)
}

fn is_resp(first: &[u8]) -> bool {
    first.starts_with(b"+PONG") || first.first() == Some(&b'-')
}

/// Whether the other side has gone, however it went.
pub(super) fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}
