//! Counts the failed requests of the load for each kind of error.

use std::{collections::BTreeMap, fmt, io};

use crate::{
    endpoint::{TlsFailure, is_closed},
    protocol::{MAX_KINDS, OTHER, error_code},
};

/// A kind of error. A request that ends in an error is not counted in `ops` and has no latency.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The server answered with an error that begins with this word, such as `OOM`, `LOADING` or `MOVED`.
    Server(Box<str>),
    /// No reply arrived within the timeout.
    Timeout,
    /// A connection was refused.
    Refused,
    /// The server closed or reset the connection.
    Reset,
    /// This machine has no free local port for another connection.
    NoPort,
    /// The server's host or socket could not be reached, and no other kind names the reason.
    Unreachable,
    /// TLS failed: a certificate, the handshake or a record was invalid.
    Tls,
    /// The received bytes are not a valid reply, or are a reply that belongs to no request.
    Protocol,
    /// No replica of the slot's shard answers, so the primary got the read request.
    NoReplica,
    /// The key of the request is not valid, so the request was not sent.
    Key,
    /// The session, or a thread of the load, ended before the reply arrived.
    Unanswered,
    /// The server answered with an error of yet another kind, after [`MAX_KINDS`] different kinds. All
    /// further kinds are counted together.
    Other,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Server(prefix) => prefix,
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::NoPort => "no-port",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::NoReplica => "no-replica",
            Self::Key => "bad-key",
            Self::Unanswered => "unanswered",
            Self::Other => OTHER,
        })
    }
}

impl From<&io::Error> for ErrorKind {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::Timeout,
            io::ErrorKind::AddrNotAvailable => Self::NoPort,
            _ if is_closed(error) => Self::Reset,
            _ if TlsFailure::of(error).is_some() => Self::Tls,
            _ => Self::Unreachable,
        }
    }
}

impl ErrorKind {
    /// Returns the kind of error of an error line from the server: the error code at the beginning of the line.
    pub fn of_line(line: &[u8]) -> Self {
        Self::Server(error_code(line).into())
    }
}

/// The numbers of errors by kind: at most [`MAX_KINDS`] kinds of the server's errors, and the kinds of redyno's own
/// errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCounts(Vec<(ErrorKind, u64)>);

impl ErrorCounts {
    /// Counts `n` errors of `kind`. Returns whether the list had no error of this kind before.
    pub fn count(&mut self, kind: &ErrorKind, n: u64) -> bool {
        if n == 0 {
            return false;
        }
        let is_full = self.0.len() >= MAX_KINDS;
        match self.0.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => {
                *count += n;
                false
            }
            None if is_full && matches!(kind, ErrorKind::Server(_)) => self.count(&ErrorKind::Other, n),
            None => {
                self.0.push((kind.clone(), n));
                true
            }
        }
    }

    /// Counts one error reply of the server, without an allocation if its kind is known. Returns whether the list had
    /// no error of this kind before.
    pub fn count_line(&mut self, line: &[u8]) -> bool {
        let code = error_code(line);
        for (kind, count) in &mut self.0 {
            if matches!(kind, ErrorKind::Server(known) if &**known == code) {
                *count += 1;
                return false;
            }
        }
        self.count(&ErrorKind::of_line(line), 1)
    }

    /// Clears all counts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns whether no error was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds these counts to `counts`, by name.
    pub fn add_to(&self, counts: &mut BTreeMap<String, u64>) {
        for (kind, n) in &self.0 {
            *counts.entry(kind.to_string()).or_default() += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_tls_and_of_the_system_are_distinguished() {
        assert_eq!(ErrorKind::from(&io::Error::from(TlsFailure::UnknownIssuer)), ErrorKind::Tls);
        assert_eq!(ErrorKind::from(&io::Error::from(io::ErrorKind::InvalidData)), ErrorKind::Unreachable);
        assert_eq!(ErrorKind::from(&io::Error::from(io::ErrorKind::UnexpectedEof)), ErrorKind::Reset);
    }

    #[test]
    fn errors_are_counted_by_kind() {
        let mut counts = ErrorCounts::default();
        assert!(counts.count_line(b"LOADING x"));
        assert!(!counts.count_line(b"LOADING y"));
        assert!(counts.count(&ErrorKind::Reset, 3));
        let mut named = BTreeMap::new();
        counts.add_to(&mut named);
        assert_eq!(named, BTreeMap::from([("LOADING".into(), 2), ("reset".into(), 3)]));
    }

    #[test]
    fn a_server_that_invents_kinds_does_not_grow_memory_and_none_of_its_errors_is_lost() {
        let mut counts = ErrorCounts::default();
        for n in 0..10_000 {
            counts.count_line(format!("E{n} x").as_bytes());
        }
        counts.count(&ErrorKind::Reset, 1);
        let mut named = BTreeMap::new();
        counts.add_to(&mut named);
        assert_eq!(named.len(), MAX_KINDS + 2);
        assert_eq!(named[OTHER], 10_000 - MAX_KINDS as u64);
        assert_eq!(named.values().sum::<u64>(), 10_001);
    }
}
