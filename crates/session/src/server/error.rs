//! Why an order to the server was not carried out.

use std::time::Duration;

use thiserror::Error;

use crate::untrusted::code;

/// Why an order to the server was not carried out. No message holds a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServerError {
    /// There is no connection.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke.
    #[error("the connection was lost during {command}: {cause}")]
    Lost {
        /// What was asked.
        command: String,
        /// What the system or the client said.
        cause: String,
    },
    /// No reply.
    #[error("no answer to {command} for {} s; the server hangs or is busy", .after.as_secs_f64())]
    Timeout {
        /// What was asked.
        command: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("the server refused {command}: {message}")]
    Refused {
        /// What was asked.
        command: String,
        /// The server's words.
        message: String,
    },
    /// The server answered with something that the command does not answer.
    #[error("the server's answer to {command} cannot be understood")]
    Unexpected {
        /// What was asked.
        command: String,
    },
    /// It answers, and is none that keys are written to.
    #[error("{0}")]
    Unfit(String),
    /// Another session set this parameter and has to set it back.
    #[error("{by}, set {name} and has it to set back; if that was killed, `redyno clean` does")]
    Taken {
        /// The parameter.
        name: String,
        /// That session, in words.
        by: String,
    },
    /// A parameter that could not be set back after a kill: `it takes 1 to 500, not 1000`.
    #[error("{name}: {why}")]
    Irreversible {
        /// The parameter.
        name: String,
        /// Which value that is.
        why: String,
    },
    /// What is to be made is there, and was not made by this session.
    #[error(
        "{what} is on this server already, and this session did not make it, so it is neither replaced nor removed; if a \
         killed session left it, `redyno clean` deletes it"
    )]
    Exists {
        /// `the function library mylib`.
        what: String,
    },
    /// A command makes something whose name is not known before.
    #[error("{command} does not name what it makes, so that nobody could undo it")]
    Nameless {
        /// The command.
        command: String,
    },
    /// What this server does not have.
    #[error("memcached has no {0}")]
    Missing(&'static str),
    /// A name that redyno keeps its notes under is taken.
    #[error(
        "the key {key} on this server is of another type than redyno's and so somebody else's: no run can be noted \
         there; it was not touched"
    )]
    Somebodys {
        /// The key.
        key: String,
    },
    /// A node of a cluster without a slot.
    #[error("this node of a cluster holds no slot, and so takes no key; name one that does")]
    NoSlots,
    /// The control plane was stopped before the order was carried out.
    #[error("the session ended before the server answered")]
    Stopped,
}

impl ServerError {
    /// Whether the connection is of no more use.
    pub(super) fn ends_connection(&self) -> bool {
        !self.is_answer()
    }

    /// Whether the server was heard, and asking it again will bring the same.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Unexpected { .. } | Self::Unfit(_)) || self.is_refused()
    }

    /// Whether nothing was done, for certain: the server answered with an error, or was not asked.
    pub fn is_refused(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::Taken { .. }
                | Self::Irreversible { .. }
                | Self::Exists { .. }
                | Self::Nameless { .. }
                | Self::Somebodys { .. }
                | Self::Missing(_)
                | Self::NoSlots
        )
    }

    /// The server's own words, where it answered with an error.
    pub fn cause(&self) -> String {
        match self {
            Self::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }

    /// The same without what the server, or the system on the way to it, said in words of its own.
    #[must_use]
    pub(super) fn redacted(self) -> Self {
        match self {
            Self::Unreachable(cause) => Self::Unreachable(code(&cause)),
            Self::Lost { command, cause } => Self::Lost { command, cause: code(&cause) },
            Self::Refused { command, message } => Self::Refused { command, message: code(&message) },
            // Our own words, and names that this session has asked for or made.
            own => own,
        }
    }

    /// Whether the server refused with an error reply that begins so.
    pub(super) fn is_refusal(&self, beginning: &str) -> bool {
        matches!(self, Self::Refused { message, .. } if message.starts_with(beginning))
    }
}
