//! The reasons why the load engine loses or closes a connection.

use std::io;

use thiserror::Error;

use super::ErrorKind;
use crate::{
    endpoint::GreetingError,
    protocol::{Dialect, ProtocolError, Reply, error_code},
};

/// The reason why a connection of the load ended.
#[derive(Debug, Error)]
pub(super) enum ConnectionFailure {
    #[error("{}", words(.0))]
    Socket(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    #[error("{0}")]
    TurnedDown(#[from] GreetingError),
    /// The error that the server sent to a receiver's command.
    #[error("the server refused its command: {0}")]
    Refused(String),
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    #[error("a reply arrived for which there was no request")]
    UnexpectedReply,
    #[error("no reply for {}", crate::units::latency(*.0))]
    Timeout(u64),
    #[error("the session ended before the reply arrived")]
    Unanswered,
    /// The worker that owned the connection died because of this error.
    #[error("its worker died: {0}")]
    Died(String),
}

/// Returns the system's error message, and adds an explanation if the message alone is not clear.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => format!("{error}: {NO_PORT}"),
        _ => error.to_string(),
    }
}

/// The explanation of the system's error for the case that no local port is free. The local port of a closed
/// connection stays occupied for a minute.
const NO_PORT: &str = "no local port is free, because each closed connection occupies its port for a minute \
    (TIME_WAIT); reconnect after more requests, lower the rate, widen net.ipv4.ip_local_port_range, or set \
    net.ipv4.tcp_tw_reuse to 1";

impl ConnectionFailure {
    /// Returns the reason why a connection ends after the server sent a reply without a request. If this reply is an
    /// error, the text of the error says why the server will close the connection.
    #[cold]
    pub(super) fn unexpected_reply(reply: Reply, dialect: Dialect) -> Self {
        match reply {
            Reply::Error(line) => GreetingError::from_unrequested(dialect, line).into(),
            _ => Self::UnexpectedReply,
        }
    }

    /// Returns the kind of error that is counted for each request in flight.
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Socket(error) => error.into(),
            Self::Closed => ErrorKind::Reset,
            Self::TurnedDown(turned_down) => ErrorKind::Server(turned_down.kind().into()),
            Self::Refused(reply) => ErrorKind::Server(error_code(reply.as_bytes()).into()),
            Self::Protocol(_) | Self::UnexpectedReply => ErrorKind::Protocol,
            Self::Timeout(_) => ErrorKind::Timeout,
            Self::Unanswered | Self::Died(_) => ErrorKind::Unanswered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_free_port_says_so_and_what_to_do_in_one_line() {
        let broken = ConnectionFailure::from(io::Error::from_raw_os_error(
            rustix::io::Errno::ADDRNOTAVAIL.raw_os_error(),
        ));
        assert_eq!(broken.kind(), ErrorKind::NoPort);
        let text = broken.to_string();
        assert!(text.contains("no local port is free") && text.contains("ip_local_port_range"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}
