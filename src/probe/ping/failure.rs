//! Why the ping probe has no connection, and by which kind its errors are counted.

use std::{io, time::Duration};

use thiserror::Error;

use crate::protocol::ProtocolError;

/// The longest prefix of an error reply that is taken for its kind.
const LONGEST_KIND: usize = 24;

/// Why there is no connection.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The name has no address.
    #[error("cannot find {host}: {source}")]
    Resolve { host: String, source: io::Error },
    /// The system could not connect, write or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection{}", .after.as_ref().map(|text| format!(" after '{text}'")).unwrap_or_default())]
    Closed {
        /// The error that it answered last, which usually says why: too many clients, protected mode.
        after: Option<String>,
    },
    /// Nothing came for too long.
    #[error("{what} was not answered within {:.2} s", .limit.as_secs_f64())]
    Timeout { what: &'static str, limit: Duration },
    /// The bytes were no RESP.
    #[error("this is no Redis: {0}")]
    Protocol(#[from] ProtocolError),
    /// A reply came that nothing had asked for.
    #[error("the server sent a reply that nothing had asked for")]
    Unasked,
    /// The server turned down what the connection cannot do without.
    #[error("{command} was turned down: {reply}")]
    TurnedDown { command: &'static str, reply: String },
}

impl Failure {
    /// The kind by which PINGs that it cost are counted: `timeout`, `refused`, `reset`, `protocol`,
    /// `unreachable` or an error reply's prefix.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Resolve { .. } => "unreachable",
            Self::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => "refused",
                io::ErrorKind::TimedOut => "timeout",
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe => "reset",
                _ => "unreachable",
            },
            Self::Closed { .. } => "reset",
            Self::Timeout { .. } => "timeout",
            Self::Protocol(_) | Self::Unasked => "protocol",
            Self::TurnedDown { reply, .. } => reply_kind(reply),
        }
    }
}

/// The kind of an error reply: its prefix, `NOAUTH`. A line that does not begin with a word in capitals is `ERR`.
pub(super) fn reply_kind(line: &str) -> &str {
    let prefix = line.split(' ').next().unwrap_or_default();
    let in_capitals = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_kind = !prefix.is_empty() && prefix.len() <= LONGEST_KIND && prefix.bytes().all(in_capitals);
    if is_kind { prefix } else { "ERR" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_reply_is_its_prefix() {
        assert_eq!(reply_kind("NOAUTH Authentication required."), "NOAUTH");
        assert_eq!(reply_kind("MASTERDOWN Link with MASTER is down"), "MASTERDOWN");
        assert_eq!(reply_kind("unknown command"), "ERR");
        assert_eq!(reply_kind(""), "ERR");
        assert_eq!(reply_kind(&"X".repeat(100)), "ERR");
    }

    #[test]
    fn failures_have_the_kinds_that_reports_document() {
        let of = |kind: io::ErrorKind| Failure::Io(kind.into()).kind().to_owned();
        assert_eq!(of(io::ErrorKind::ConnectionRefused), "refused");
        assert_eq!(of(io::ErrorKind::BrokenPipe), "reset");
        assert_eq!(of(io::ErrorKind::NotFound), "unreachable");
        let turned_down = Failure::TurnedDown { command: "AUTH", reply: "WRONGPASS invalid".to_owned() };
        assert_eq!(turned_down.kind(), "WRONGPASS");
    }

    #[test]
    fn a_closed_connection_tells_what_the_server_said_before() {
        let after = Some("ERR max number of clients reached".to_owned());
        assert_eq!(
            Failure::Closed { after }.to_string(),
            "the server closed the connection after 'ERR max number of clients reached'"
        );
        assert_eq!(Failure::Closed { after: None }.to_string(), "the server closed the connection");
    }
}
