//! The bytes of the ping probe's socket, with or without TLS.

use std::io::{self, Read, Write};

use socket2::Socket;

use crate::target::{Tls, TlsStream};

/// A socket, or TLS on one.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// On a socket that connects.
    pub(super) fn new(socket: Socket, tls: Option<&Tls>) -> io::Result<Self> {
        match tls {
            None => Ok(Self::Plain(socket)),
            Some(tls) => Ok(Self::Tls(Box::new(TlsStream::new(tls, socket)?))),
        }
    }

    /// The socket below.
    pub(super) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.socket(),
        }
    }

    /// Once the socket is connected: goes on with the handshake, if there is one. Whether bytes may follow.
    pub(super) fn shake_hands(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(stream) => stream.shake_hands(),
        }
    }

    /// Whether a read brings something though the socket is not readable.
    pub(super) fn has_more(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_more())
    }

    /// Whether bytes that it took wait for the socket to take them.
    pub(super) fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.wants_write())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
