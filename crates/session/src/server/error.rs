//! The reasons why the control plane did not carry out an order.

use std::time::Duration;

use thiserror::Error;

use crate::{
    endpoint::{Address, Target},
    untrusted::{self, code},
};

/// The reason why an order to the server was not carried out. No message contains a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServerError {
    /// There is no connection.
    #[error("{0}")]
    Unreachable(String),
    /// The connection was lost while a command waited for its reply.
    #[error("the connection was lost during {command}: {cause}")]
    Lost {
        /// The command.
        command: String,
        /// The error of the system or the client library.
        cause: String,
    },
    /// The server did not reply in time.
    #[error("no answer to {command} for {} s; the server hangs or is busy", .after.as_secs_f64())]
    Timeout {
        /// The command.
        command: String,
        /// The time limit.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("the server refused {command}: {message}")]
    Refused {
        /// The command.
        command: String,
        /// The server's message.
        message: String,
    },
    /// The reply does not fit the command.
    #[error("the server's reply to {command} has an unexpected form")]
    Unexpected {
        /// The command.
        command: String,
    },
    /// Keys or markers moved between the nodes of a cluster for so long that some may have been missed.
    #[error("keys keep moving between the nodes of the cluster; try again after the migration")]
    KeysMove,
    /// The server answers, but redyno cannot write keys to it.
    #[error("{0}")]
    Unfit(String),
    /// Another session has set this parameter and will restore it.
    #[error(
        "{by}, has set {name} and will restore it at its end; if that session was killed, `redyno clean` restores it"
    )]
    Taken {
        /// The name of the parameter.
        name: String,
        /// The description of that session.
        by: String,
    },
    /// The parameter was not set, because redyno could not restore it after being killed: `the allowed values are 1 to
    /// 500, not 1000`.
    #[error("{name}: {why}")]
    Irreversible {
        /// The name of the parameter.
        name: String,
        /// The reason, with the value that cannot be restored.
        why: String,
    },
    /// The server already has the object that a setup makes, and this session did not make it.
    #[error(
        "{what} is on this server already: another client or session made it, and redyno does not change it; if a killed \
         session made it, `redyno clean` deletes it"
    )]
    Exists {
        /// The object, such as `the function library mylib`.
        what: String,
    },
    /// A command of a setup makes an object without a usable name. redyno could not delete this object later.
    #[error("{command} makes an object without a usable name, so redyno could not delete it at the end")]
    Nameless {
        /// The command.
        command: String,
    },
    /// A setup by HTTP has a path without the name of the run.
    #[error(
        "redyno sends no setup request for '{path}': its first part must be a key of this run; write the first part as \
         {{NAME}}, where NAME is a key of the workload"
    )]
    NotOfRun {
        /// The path.
        path: String,
    },
    /// The kind of server does not have this feature. The fields are the name of the kind, and the feature.
    #[error("{0} has no {1}")]
    Missing(&'static str, &'static str),
    /// The key of a marker or of the list of runs has an unexpected type. The key therefore belongs to another client.
    #[error(
        "the key {key} on this server has another type than redyno's key of this name, so another client made it; \
         redyno did not change this key, and cannot note this run on the server"
    )]
    ForeignKey {
        /// The key.
        key: String,
    },
    /// The server is a cluster node that has no slots.
    #[error("this node of the cluster holds no slot and cannot store keys; name a node with slots")]
    NoSlots,
    /// The error occurred at this node of a cluster.
    #[error("{address}: {error}")]
    At {
        /// The address of the node.
        address: Address,
        /// The error.
        error: Box<ServerError>,
    },
    /// The control plane was stopped before the order was carried out.
    #[error("the session ended before the server answered")]
    Stopped,
}

/// The commands that redyno needs to write and remove its keys, in addition to the commands of the load. The pattern of
/// the keys is left out, because a server refuses a further pattern for a user who may use all keys.
pub const OWN_PERMISSIONS: &str =
    "+info +dbsize +scan +hmget +smembers +sismember +exists +sadd +srem +hset +hdel +unlink";

impl ServerError {
    /// Returns whether the connection cannot be used any more.
    pub(super) fn ends_connection(&self) -> bool {
        !self.is_answer()
    }

    /// Returns the reply. Returns `None` if the server refused the command. An error that ends the connection stays an
    /// error.
    pub(super) fn optional<T>(reply: Result<T, Self>) -> Result<Option<T>, Self> {
        match reply {
            Err(error) if error.ends_connection() => Err(error),
            reply => Ok(reply.ok()),
        }
    }

    /// Returns whether a second attempt would have the same result. This is the case if the server replied, or if
    /// redyno refused the command.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::At { error, .. } => error.is_answer(),
            error => matches!(error, Self::Unexpected { .. } | Self::Unfit(_)) || error.is_refused(),
        }
    }

    /// Adds the address of a cluster node to the error. An error text that already contains the address is not changed.
    #[must_use]
    pub fn at(self, address: &Address) -> Self {
        match self {
            error if error.to_string().contains(&address.to_string()) => error,
            error => Self::At { address: address.clone(), error: Box::new(error) },
        }
    }

    /// Returns whether the server certainly did nothing. Either the server answered with an error, or redyno did not
    /// send the command.
    pub fn is_refused(&self) -> bool {
        if let Self::At { error, .. } = self {
            return error.is_refused();
        }
        matches!(
            self,
            redyno_engine::any_of!(Self Refused Taken Irreversible Exists Nameless NotOfRun ForeignKey
                Missing NoSlots)
        )
    }

    /// Returns the server's own message if it answered with an error, otherwise the whole text of this error.
    pub fn cause(&self) -> String {
        match self {
            Self::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }

    /// Returns the text of this error. If redyno's user at `target` lacks a permission, the text ends with a command
    /// that grants the permission, and with the same command the permissions `others`: `...; give this user the
    /// permissions: ACL SETUSER ann +info +dbsize`.
    pub fn with_permission(&self, target: &Target, others: &str) -> String {
        let message = match self {
            Self::At { error, .. } => error.cause(),
            error => error.cause(),
        };
        if !message.starts_with("NOPERM") {
            return self.to_string();
        }
        let user = target.credentials.as_ref().and_then(|known| known.user.as_deref());
        let user = untrusted::text(user.unwrap_or("default"));
        // The server names a command in quotation marks. Without a command, the user may not use redyno's keys.
        let missing = message.split('\'').nth(1).map_or("~redyno:*".to_owned(), |name| format!("+{name}"));
        let others = others.split_whitespace().filter(|other| *other != missing);
        let rules = std::iter::once(missing.as_str()).chain(others).collect::<Vec<_>>().join(" ");
        let noun = if rules.contains(' ') { "permissions" } else { "permission" };
        format!("{self}; give this user the {noun}: ACL SETUSER {user} {rules}")
    }

    /// Returns the same error without texts of the server or of the system.
    #[must_use]
    pub(super) fn redacted(self) -> Self {
        match self {
            Self::Unreachable(cause) => Self::Unreachable(code(&cause)),
            Self::Lost { command, cause } => Self::Lost { command, cause: code(&cause) },
            Self::Refused { command, message } => Self::Refused { command, message: code(&message) },
            // Redyno's own texts, and names that this session requested or created.
            own => own,
        }
    }

    /// Returns whether the server answered with an error that begins with `beginning`.
    pub fn is_refusal(&self, beginning: &str) -> bool {
        matches!(self, Self::Refused { message, .. } if message.starts_with(beginning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Credentials, Password};

    #[test]
    fn a_missing_permission_is_named_with_the_rule_that_grants_it() {
        let credentials =
            Credentials { user: Some("ann".to_owned()), password: Password::new(String::new()) };
        let target = Target { credentials: Some(credentials), ..Target::default() };
        let text = |message: &str, others: &str| {
            let refused = ServerError::Refused { command: "INFO".to_owned(), message: message.to_owned() };
            let texts = [refused.clone(), refused.at(&Address::default())];
            let [alone, at] = texts.map(|error| error.with_permission(&target, others));
            assert!(at.ends_with(&alone), "{at}");
            alone.split_once("; give this user the ").map(|(_, advice)| advice.to_owned())
        };
        let advice = |rules: &str| Some(rules.to_owned());
        let info = "NOPERM User a has no permissions to run the 'info' command";
        assert_eq!(text(info, ""), advice("permission: ACL SETUSER ann +info"));
        assert_eq!(text(info, "+dbsize +info"), advice("permissions: ACL SETUSER ann +info +dbsize"));
        let list = "NOPERM User a has no permissions to run the 'client|list' command";
        assert_eq!(text(list, ""), advice("permission: ACL SETUSER ann +client|list"));
        let key = "NOPERM No permissions to access a key";
        assert_eq!(text(key, ""), advice("permission: ACL SETUSER ann ~redyno:*"));
        assert_eq!(text("LOADING the dataset", ""), None);
    }
}
