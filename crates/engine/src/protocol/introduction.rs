//! The greeting of a connection, step by step, and the meaning of error replies to a step.

/// The identity of a client, and its settings of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Introduction<'a> {
    /// The user; `None` is the default user.
    pub user: Option<&'a str>,
    /// The password; `None` if there is none.
    pub password: Option<&'a str>,
    /// The database.
    pub db: u32,
    /// The name of the connection.
    pub name: Option<&'a str>,
}

/// One command of a greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Checks that the server speaks the dialect, before sending any credentials.
    Ping,
    /// Authenticates.
    Auth,
    /// Selects the protocol version.
    Hello,
    /// Turns on client tracking: the server remembers the keys that are read, and sends their changes.
    Tracking,
    /// Selects the database.
    Select,
    /// Sets the name in `CLIENT LIST`.
    SetName,
    /// No step: a message of the server about the connection itself.
    Connection,
}

impl Step {
    /// Returns the command as the server's statistics name it, apart from its case; `None` if no command was sent.
    pub fn command(self) -> Option<&'static str> {
        match self {
            Self::Ping => Some("PING"),
            Self::Auth => Some("AUTH"),
            Self::Hello => Some("HELLO"),
            Self::Tracking => Some("CLIENT|TRACKING"),
            Self::Select => Some("SELECT"),
            Self::SetName => Some("CLIENT|SETNAME"),
            Self::Connection => None,
        }
    }
}

/// The meaning of an error, for every dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The server's client limit is reached: sent in reply to any command, before the server disconnects.
    TooManyClients,
    /// The server accepts local clients only: sent in the same way.
    ProtectedMode,
    /// The server requires authentication.
    PasswordNeeded,
    /// The password is wrong for this user.
    WrongPassword,
    /// A password was sent, but the server has none.
    PasswordNotAsked,
    /// This user lacks the permission.
    NotPermitted,
    /// The server is loading its data.
    Loading,
    /// The server is busy for a limited time.
    Busy,
    /// The database does not exist.
    NoSuchDb,
    /// The server does not speak RESP3.
    NoResp3,
    /// The server is too old for the command.
    TooOld,
    /// Another error; its text explains it.
    Other,
}

impl Refusal {
    /// Returns whether the error is sent in reply to any command, before the server disconnects.
    pub fn turns_everybody_away(self) -> bool {
        matches!(self, Self::TooManyClients | Self::ProtectedMode)
    }

    /// Returns whether authentication may remove the error.
    pub fn asks_who_we_are(self) -> bool {
        matches!(self, Self::PasswordNeeded | Self::NotPermitted)
    }
}
