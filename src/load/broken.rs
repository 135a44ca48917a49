//! Why a connection of the load is over.

use std::io;

use thiserror::Error;

use super::ErrorKind;
use crate::{protocol::ProtocolError, target::TurnedDown};

/// Why a connection is over.
#[derive(Debug, Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Socket(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    #[error("{0}")]
    TurnedDown(#[from] TurnedDown),
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    #[error("a reply came that no request had asked for")]
    Unasked,
    #[error("no reply for {0} ms")]
    Timeout(u128),
    #[error("the session ended before the reply came")]
    Unanswered,
}

impl Broken {
    /// The kind that requests in flight count as.
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Socket(error) => error.into(),
            Self::Closed => ErrorKind::Reset,
            Self::TurnedDown(turned_down) => ErrorKind::Server(turned_down.kind().into()),
            Self::Protocol(_) | Self::Unasked => ErrorKind::Protocol,
            Self::Timeout(_) => ErrorKind::Timeout,
            Self::Unanswered => ErrorKind::Unanswered,
        }
    }
}
