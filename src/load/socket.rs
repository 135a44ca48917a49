//! Non-blocking stream sockets, TCP with and without TLS and unix, behind one type.

use std::io::{self, Read, Write};

use mio::{
    Interest, Registry, Token,
    event::Source,
    net::{TcpStream, UnixStream},
};

use crate::target::{Endpoint, Tls, TlsStream};

/// A connection's socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Socket {
    /// Begins to connect. The socket gets ready for [`opening_interest`](Self::opening_interest) when that goes on, or
    /// failed.
    pub(super) fn connect(endpoint: &Endpoint, tls: Option<&Tls>) -> io::Result<Self> {
        match (endpoint, tls) {
            (Endpoint::Tcp(address), None) => TcpStream::connect(*address).map(Self::Tcp),
            (Endpoint::Tcp(address), Some(tls)) => {
                let stream = TcpStream::connect(*address)?;
                Ok(Self::Tls(Box::new(TlsStream::new(tls, stream)?)))
            }
            (Endpoint::Unix(path), _) => UnixStream::connect(path).map(Self::Unix),
        }
    }

    /// What to wait for until it is connected: a TLS handshake goes both ways.
    pub(super) fn opening_interest(&self) -> Interest {
        match self {
            Self::Tcp(_) | Self::Unix(_) => Interest::WRITABLE,
            Self::Tls(_) => Interest::READABLE | Interest::WRITABLE,
        }
    }

    /// Once ready: goes on connecting. Whether it is connected by now, hands shaken.
    ///
    /// # Errors
    /// Why it could not connect.
    pub(super) fn finish_connect(&mut self) -> io::Result<bool> {
        match self {
            Self::Tcp(stream) => finish_tcp(stream),
            Self::Unix(stream) => stream.take_error()?.map_or(Ok(true), Err),
            Self::Tls(stream) => Ok(finish_tcp(stream.socket())? && stream.shake_hands()?),
        }
    }

    /// Whether bytes that it took wait for the kernel to take them, besides those that it did not take.
    #[inline]
    pub(super) fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.wants_write())
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
            Self::Tls(stream) => stream.socket_mut(),
        }
    }

    /// Asks `registry` for events on a new socket.
    pub(super) fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.source().register(registry, token, interest)
    }

    /// Asks `registry` for other events.
    pub(super) fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.source().reregister(registry, token, interest)
    }
}

fn finish_tcp(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => stream.set_nodelay(true).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
