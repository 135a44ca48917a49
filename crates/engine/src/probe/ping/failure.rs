//! The reasons why the ping probe has no connection, and the names of these errors in the counts.

use std::{io, time::Duration};

use thiserror::Error;

use crate::{
    endpoint::{GreetingError, TlsFailure, UNREQUESTED_REPLY, is_closed},
    protocol::ProtocolError,
};

/// The reason why the ping probe has no connection.
#[derive(Debug, Error)]
pub(super) enum PingFailure {
    /// The name has no address.
    #[error("the host was not found: {0}")]
    Resolve(io::Error),
    /// The system reported an error while the probe was connecting, writing or reading.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection{}", .after.as_ref().map(|text| format!(" after '{text}'")).unwrap_or_default())]
    Closed {
        /// The last error reply. The error reply usually contains the cause, such as too many clients or protected
        /// mode.
        after: Option<String>,
    },
    /// No data arrived within the limit.
    #[error("{what} was not answered within {:.2} s", .limit.as_secs_f64())]
    Timeout { what: &'static str, limit: Duration },
    /// The server sent bytes that are not a valid reply.
    #[error("this is no {server}: {cause}")]
    Protocol {
        /// The expected kind of server.
        server: &'static str,
        /// What is wrong with the received bytes.
        cause: ProtocolError,
    },
    /// A reply arrived without a request.
    #[error("{UNREQUESTED_REPLY}")]
    UnrequestedReply,
    /// The server refused a command that the connection needs.
    #[error("{0}")]
    TurnedDown(#[from] GreetingError),
}

impl PingFailure {
    /// Returns the kind under which lost PINGs are counted. The kind is `timeout`, `refused`, `reset`, `tls`,
    /// `protocol`, `unreachable` or the prefix of an error reply.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Resolve(_) => "unreachable",
            Self::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => "refused",
                io::ErrorKind::TimedOut => "timeout",
                _ if is_closed(error) => "reset",
                _ if TlsFailure::of(error).is_some() => "tls",
                _ => "unreachable",
            },
            Self::Closed { .. } => "reset",
            Self::Timeout { .. } => "timeout",
            Self::Protocol { .. } | Self::UnrequestedReply => "protocol",
            Self::TurnedDown(turned_down) => turned_down.kind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Dialect, GreetingCommand, GreetingRefusal};

    #[test]
    fn failures_have_the_kinds_that_reports_document() {
        let of = |kind: io::ErrorKind| PingFailure::Io(kind.into()).kind().to_owned();
        assert_eq!(of(io::ErrorKind::ConnectionRefused), "refused");
        assert_eq!(of(io::ErrorKind::BrokenPipe), "reset");
        assert_eq!(of(io::ErrorKind::NotFound), "unreachable");
        assert_eq!(PingFailure::Io(TlsFailure::Expired.into()).kind(), "tls");
        let refusal = GreetingRefusal::WrongPassword;
        let (step, dialect, reply) = (GreetingCommand::Auth, Dialect::Resp2, "WRONGPASS invalid".to_owned());
        let turned_down = PingFailure::from(GreetingError { step, dialect, reply, refusal });
        assert_eq!(turned_down.kind(), "WRONGPASS");
    }

    #[test]
    fn a_closed_connection_reports_the_last_error_reply() {
        let after = Some("ERR max number of clients reached".to_owned());
        assert_eq!(
            PingFailure::Closed { after }.to_string(),
            "the server closed the connection after 'ERR max number of clients reached'"
        );
        assert_eq!(PingFailure::Closed { after: None }.to_string(), "the server closed the connection");
    }
}
