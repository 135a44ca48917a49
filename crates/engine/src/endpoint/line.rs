//! A connection to a server for a few requests with a deadline. If TLS fails, this module finds out the reason.

use std::{
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use rustix::event::PollFlags;

use super::{
    Party, ReachError, Target, Tls, TlsFailure, TlsSettings, Transport, Trust,
    dial::{dial, left},
    unknown_server,
};

/// The total time divided by this number is reserved for the end. In this last part, redyno identifies a server that
/// does not answer the TLS handshake.
const KEPT_BACK: u32 = 3;
/// How long to wait for a TLS handshake with a server that closed a plain connection without a reply: 1 s.
const HELLO_LIMIT: Duration = Duration::from_secs(1);
/// How many of the first bytes are used to identify an unknown server.
const FIRST_BYTES: usize = 64;

/// A connection for a few requests with a deadline.
pub(super) struct TimedStream(pub(super) Transport);

impl TimedStream {
    /// Completes the TLS handshake, if TLS is required.
    ///
    /// # Errors
    /// Fails if the handshake fails. The error is the diagnosis, for example that the server has no TLS.
    pub(super) fn secure(&mut self, target: &Target, deadline: Instant) -> Result<(), ReachError> {
        match self.shake_hands(deadline - left(deadline) / KEPT_BACK, deadline) {
            Ok(true) => Ok(()),
            Ok(false) if self.first_bytes().is_empty() => Err(silent(target, deadline)),
            Ok(false) => Err(ReachError::SlowTls(target.address.clone())),
            Err(error) => Err(failed(target, error, self.first_bytes())),
        }
    }

    /// Continues the TLS handshake until `deadline`, or until `silent_until` if the server has sent nothing. Returns
    /// whether the handshake is complete. Without TLS, returns true at once.
    pub(super) fn shake_hands(&mut self, silent_until: Instant, deadline: Instant) -> io::Result<bool> {
        while !self.0.shake_hands()? {
            let until = if self.first_bytes().is_empty() { silent_until.min(deadline) } else { deadline };
            if !self.wait(PollFlags::IN, until) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the first bytes that the server sent in a TLS handshake. Without TLS, the result is empty.
    pub(super) fn first_bytes(&self) -> &[u8] {
        match &self.0 {
            Transport::Plain(_) => &[],
            Transport::Tls(stream) => stream.first_bytes(),
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Fails with `TimedOut` if the server has not accepted all bytes by `until`. Otherwise, the error is the
    /// transport's error.
    pub(super) fn write_all_until(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        loop {
            match self.0.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(error),
            }
            if bytes.is_empty() && !self.0.wants_write() {
                return Ok(());
            }
            if !self.wait(PollFlags::OUT, until) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Reads once. Returns the number of bytes, or 0 at the end of the stream. Returns `None` if no data arrived by
    /// `until`.
    pub(super) fn read_once(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<Option<usize>> {
        while Instant::now() < until {
            match self.0.read(buffer) {
                Ok(n) => return Ok(Some(n)),
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(error),
            }
            self.wait(PollFlags::IN, until);
        }
        Ok(None)
    }

    /// Waits until the socket is ready, or until `until`. Returns false if `until` was already past.
    pub(super) fn wait(&self, interest: PollFlags, until: Instant) -> bool {
        let left = left(until);
        if !left.is_zero() {
            let all = if self.0.wants_write() { interest | PollFlags::OUT } else { interest };
            self.0.wait(all, if self.0.has_more() { Duration::ZERO } else { left });
        }
        !left.is_zero()
    }
}

/// Returns whether the error means only that the socket is not ready now.
pub(super) fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Returns the diagnosis of a failed TLS handshake. `first` contains the first bytes that the server sent.
fn failed(target: &Target, error: io::Error, first: &[u8]) -> ReachError {
    let address = target.address.clone();
    match TlsFailure::of(&error) {
        Some(TlsFailure::NotTls) if target.dialect.answers_ping(first) => {
            ReachError::SpeaksPlain(Party::of(target))
        }
        Some(TlsFailure::NotTls) => unknown_server::diagnosis(target, first),
        Some(failure) => ReachError::Tls { address, failure: failure.clone() },
        None if is_closed(&error) => ReachError::ClosedToTls(address),
        None => ReachError::Io { address, cause: error },
    }
}

/// Returns the diagnosis of a TLS handshake without an answer. A server without TLS takes the handshake for an
/// incomplete line and waits for the rest. redyno therefore sends a PING in plain text on a second connection.
fn silent(target: &Target, deadline: Instant) -> ReachError {
    let (party, dialect) = (Party::of(target), target.dialect);
    let ask = || {
        let mut line = TimedStream(dial(target, None, deadline).ok()?);
        line.write_all_until(dialect.ping(), deadline).ok()?;
        let mut first = [0; FIRST_BYTES];
        let n = line.read_once(&mut first, deadline).ok()??;
        Some(first[..n].to_vec())
    };
    match ask() {
        Some(first) if dialect.answers_ping(&first) => ReachError::SpeaksPlain(party),
        Some(first) if !first.is_empty() => match unknown_server::diagnosis(target, &first) {
            ReachError::SpeaksTls(_) => ReachError::SlowTls(target.address.clone()),
            diagnosis => diagnosis,
        },
        _ => ReachError::SilentToTls(party),
    }
}

/// Returns whether the server answers a TLS handshake. redyno checks this if the server closed a plain connection
/// without a reply, because a server with TLS does so. No request is sent after the handshake.
pub(super) fn speaks_tls(target: &Target, deadline: Instant) -> bool {
    let deadline = deadline.min(Instant::now() + HELLO_LIMIT);
    let settings = TlsSettings { trust: Trust::Anybody, ..TlsSettings::default() };
    let ask = || {
        let tls = Tls::new(settings, &target.address).ok()?;
        let mut line = TimedStream(dial(target, Some(&tls), deadline).ok()?);
        let answered = line.shake_hands(deadline, deadline).is_ok_and(|done| done);
        // A handshake or an alert, version 3.x.
        Some(answered || matches!(line.first_bytes(), [0x15 | 0x16, 0x03, ..]))
    };
    ask().unwrap_or(false)
}

/// Returns whether the error means that the server has disconnected.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, sync::mpsc::channel, thread};

    use super::*;
    use crate::endpoint::Address;

    #[test]
    fn a_server_that_has_begun_the_handshake_gets_the_whole_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address =
            Address::Tcp { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        let (go_on, goes_on) = channel();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(&[0x16]).unwrap();
            goes_on.recv().unwrap();
            // The record is longer than TLS permits.
            client.write_all(&[0xff; 4]).unwrap();
            client
        });
        let settings = TlsSettings { trust: Trust::Anybody, ..TlsSettings::default() };
        let tls = Tls::new(settings, &address).unwrap();
        let later = Instant::now() + Duration::from_secs(30);
        let mut line =
            TimedStream(dial(&Target { address, ..Target::default() }, Some(&tls), later).unwrap());
        while line.first_bytes().is_empty() {
            let now = Instant::now();
            assert!(!line.shake_hands(now, now).unwrap());
        }
        go_on.send(()).unwrap();
        assert!(line.shake_hands(Instant::now(), later).is_err(), "it has read what came later");
        drop(server.join().unwrap());
    }
}
