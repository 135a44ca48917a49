//! A TLS stream. The caller reads and writes plaintext, and the socket transports TLS records.
//!
//! ```text
//!  read  ◄── plaintext ◄─ session ◄─ records ◄── socket
//!  write ──► plaintext ─► session ─► records ──► socket, as much as it accepts; the rest waits in the session
//! ```
//! The stream never blocks.

use std::io::{self, Read, Write};

use rustls::ClientConnection;

use super::{Tls, TlsFailure};

/// The largest number of bytes that one read accepts without plaintext: 64 KiB of TLS records. A record has at most 16
/// KiB. Only a hostile server sends many records without data.
const IN_VAIN: usize = 64 * 1024;
/// The longest accepted handshake: 1 MiB. The longest chain of certificates has a tenth of this length.
const HANDSHAKE: usize = 1 << 20;

/// The number of the server's first bytes that are kept until the handshake is complete. These bytes are enough to
/// identify a server without TLS.
const FIRST_BYTES: usize = 64;

/// A socket that uses TLS.
#[derive(Debug)]
pub struct TlsStream<S> {
    socket: S,
    session: ClientConnection,
    /// Whether the socket was empty after the last read. The socket was empty if the read did not fill its
    /// buffer.
    drained: bool,
    /// Whether plaintext may be left after the last read. Plaintext may be left if the read filled the
    /// caller's buffer.
    filled: bool,
    /// The first bytes that the server sent, kept until the handshake is done.
    first: Vec<u8>,
    /// An error that occurred after plaintext had been read. The plaintext is returned first, and the next read returns
    /// the error.
    failed: Option<io::Error>,
}

/// The result of reading from the socket.
enum Pulled {
    /// The socket delivered this many bytes of TLS records.
    Records(usize),
    /// The socket has no data at present.
    Nothing,
    /// The stream has ended.
    End,
}

impl<S: Read + Write> TlsStream<S> {
    /// Creates a stream on a socket, which must be connected when [`shake_hands`](Self::shake_hands) is called.
    ///
    /// # Errors
    /// Fails if the TLS library refuses to create a connection.
    pub fn new(tls: &Tls, socket: S) -> io::Result<Self> {
        let session = tls.session().map_err(TlsFailure::from)?;
        Ok(Self { socket, session, drained: false, filled: false, first: Vec::new(), failed: None })
    }

    /// Returns the socket.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Returns the first bytes that the server sent, at most 64. After the handshake, the result is empty.
    pub fn first_bytes(&self) -> &[u8] {
        &self.first
    }

    /// Continues the handshake as far as the socket allows. Returns whether the handshake is done.
    ///
    /// # Errors
    /// Fails with a [`TlsFailure`] or the socket's error. The error is `UnexpectedEof` if the server closed the
    /// connection.
    pub fn shake_hands(&mut self) -> io::Result<bool> {
        let mut taken = 0;
        while taken <= HANDSHAKE {
            self.push()?;
            if !self.session.is_handshaking() {
                self.first = Vec::new();
                return Ok(true);
            }
            match self.pull()? {
                Pulled::Records(n) => taken += n,
                Pulled::Nothing => return Ok(false),
                Pulled::End => {
                    let cause = "the server closed the connection during the TLS handshake";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, cause));
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the server's TLS handshake does not end"))
    }

    /// Returns whether TLS records wait to be written to the socket. [`flush`](Write::flush) writes these records.
    #[inline]
    pub fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Returns whether a read may return data although the socket is not readable.
    pub fn has_more(&self) -> bool {
        self.filled || self.failed.is_some()
    }

    /// Writes TLS records to the socket. Returns whether the socket accepted all these records.
    fn push(&mut self) -> io::Result<bool> {
        self.push_records().map_err(|error| self.last_words(error))
    }

    /// Reads the server's last TLS alert after a failed write. If a server refuses a client, the server sends the
    /// reason and then disconnects. This reason is more useful than the error of the write.
    fn last_words(&mut self, error: io::Error) -> io::Error {
        let mut taken = 0;
        while taken <= IN_VAIN {
            match self.pull_records() {
                Ok(Pulled::Records(n)) => taken += n,
                Err(failure) if TlsFailure::of(&failure).is_some() => return failure,
                Ok(Pulled::Nothing | Pulled::End) | Err(_) => return error,
            }
        }
        error
    }

    fn push_records(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads from the socket once, and sends the replies that TLS itself requires.
    fn pull(&mut self) -> io::Result<Pulled> {
        let pulled = self.pull_records();
        // Sends a reply that TLS itself requires, or the alert about an error of the other side.
        let pushed = self.push_records();
        let pulled = pulled?;
        pushed.map(|_| pulled).map_err(|error| self.last_words(error))
    }

    fn pull_records(&mut self) -> io::Result<Pulled> {
        let first = self.session.is_handshaking().then_some(&mut self.first);
        let mut gauged = RecordingSocket { socket: &mut self.socket, left_room: true, first };
        let n = loop {
            match self.session.read_tls(&mut gauged) {
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Pulled::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        self.drained = gauged.left_room;
        if n == 0 {
            return Ok(Pulled::End);
        }
        self.session.process_new_packets().map_err(TlsFailure::from)?;
        Ok(Pulled::Records(n))
    }

    /// Copies the available plaintext to `buffer`. Returns the number of copied bytes, which is 0 if there is no
    /// plaintext.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.session.reader().read(buffer) {
            Ok(n) => Ok(n),
            // The close message of TLS is not required, because replies contain their length. Only some
            // bodies of HTTP end with the connection.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof) =>
            {
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    /// Reads plaintext in the same way as from a plain non-blocking socket. If the read does not fill `buffer`, the
    /// socket is empty and no plaintext is left. There is one exception. If the server sends many records without data,
    /// the read ends early, so that the caller can check the time.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        // An empty socket may have data again, and the event may have been consumed.
        self.drained = false;
        let mut in_vain = 0;
        while in_vain <= IN_VAIN {
            let n = self.take(&mut buffer[filled..])?;
            if n > 0 {
                in_vain = 0;
            }
            filled += n;
            self.filled = filled == buffer.len();
            if self.filled || (filled > 0 && self.drained) {
                return Ok(filled);
            }
            match self.pull() {
                Ok(Pulled::Records(n)) => in_vain += n,
                Ok(Pulled::Nothing) if filled == 0 => return Err(io::ErrorKind::WouldBlock.into()),
                Ok(Pulled::Nothing | Pulled::End) => return Ok(filled),
                Err(error) if filled == 0 => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    return Ok(filled);
                }
            }
        }
        // Many records without data have arrived. The caller checks the time, and then reads again.
        self.filled = true;
        if filled == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(filled) }
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    /// Accepts plaintext until the socket accepts no more TLS records of earlier plaintext. The last record may still
    /// wait to be written to the socket, see [`wants_write`](Self::wants_write).
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        loop {
            taken += self.session.writer().write(&bytes[taken..])?;
            let all_gone = self.push()?;
            if taken == bytes.len() || !all_gone {
                break;
            }
        }
        if taken == 0 && !bytes.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.push()? { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }
}

/// A socket that records whether the last read left room in its buffer, and that stores the first bytes.
struct RecordingSocket<'a, S> {
    socket: &'a mut S,
    left_room: bool,
    first: Option<&'a mut Vec<u8>>,
}

impl<S: Read> Read for RecordingSocket<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.socket.read(buffer)?;
        self.left_room = n < buffer.len();
        if let Some(first) = &mut self.first {
            let room = FIRST_BYTES - first.len();
            first.extend_from_slice(&buffer[..n.min(room)]);
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
