//! A socket on which TLS is or is not, behind one type.

use std::io::{self, Read, Write};

use super::{Tls, TlsStream};

/// A socket, or TLS on one; `S` is the socket below TLS.
#[derive(Debug)]
pub enum MaybeTls<P, S = P> {
    /// The bytes as they are.
    Plain(P),
    /// Encrypted.
    Tls(Box<TlsStream<S>>),
}

impl<S: Read + Write> MaybeTls<S> {
    /// On a socket that is connected, or will be before [`shake_hands`](Self::shake_hands); without `tls` the bytes as
    /// they are.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn new(socket: S, tls: Option<&Tls>) -> io::Result<Self> {
        match tls {
            None => Ok(Self::Plain(socket)),
            Some(tls) => Ok(Self::Tls(Box::new(TlsStream::new(tls, socket)?))),
        }
    }

    /// The socket below.
    pub fn socket(&self) -> &S {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.socket(),
        }
    }

    /// Once the socket is connected: goes on with the handshake, if there is one. Whether bytes may follow.
    ///
    /// # Errors
    /// As [`TlsStream::shake_hands`].
    pub fn shake_hands(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(stream) => stream.shake_hands(),
        }
    }

    /// Whether a read brings something though the socket is not readable.
    pub fn has_more(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_more())
    }

    /// Whether bytes that it took wait for the socket to take them.
    pub fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.wants_write())
    }
}

impl<P: Read, S: Read + Write> Read for MaybeTls<P, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl<P: Write, S: Read + Write> Write for MaybeTls<P, S> {
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
