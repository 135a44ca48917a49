//! The steps of a connection's greeting, and the meaning of error replies to these steps. A greeting is the first
//! commands on a connection.

/// The parameters of a client's greeting: user, password, database and name. A greeting is the first commands on a
/// connection.
#[derive(Debug, Clone, Copy)]
pub struct GreetingParameters<'a> {
    /// The user. `None` means the default user.
    pub user: Option<&'a str>,
    /// The password, or `None` if there is no password.
    pub password: Option<&'a str>,
    /// The number of the database.
    pub db: u32,
    /// The name of the connection.
    pub name: Option<&'a str>,
}

/// One command of a greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GreetingCommand {
    /// Checks that the server speaks the dialect, before sending any credentials.
    Ping,
    /// Authenticates.
    Auth,
    /// Selects the protocol version.
    Hello,
    /// Turns on client tracking. The server then sends a message when a key changes that the client has read before.
    Tracking,
    /// Selects the database.
    Select,
    /// Sets the name in `CLIENT LIST`.
    SetName,
    /// No command. The server sent a message about the connection itself.
    Connection,
}

impl GreetingCommand {
    /// Returns the command's name in the server's statistics, in capitals, or `None` if no command was sent.
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

/// The meaning of an error reply, which does not depend on the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GreetingRefusal {
    /// The server's client limit is reached. The server sends this error in reply to any command, and
    /// disconnects.
    TooManyClients,
    /// The server accepts only local clients. The server sends this error in reply to any command, and
    /// disconnects.
    ProtectedMode,
    /// The server requires authentication.
    PasswordNeeded,
    /// The password is wrong for this user.
    WrongPassword,
    /// A password was sent, but the server does not use a password.
    NoPasswordSet,
    /// The user has no permission for the command.
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
    /// The error does no harm, because it shows that the server speaks the dialect.
    Harmless,
    /// An error with another meaning. The text of the error explains its meaning.
    Other,
}

impl GreetingRefusal {
    /// Returns whether the server sends the error in reply to any command, and disconnects.
    pub fn refuses_all_clients(self) -> bool {
        matches!(self, Self::TooManyClients | Self::ProtectedMode)
    }

    /// Returns whether the command may succeed after authentication.
    pub fn may_need_login(self) -> bool {
        matches!(self, Self::PasswordNeeded | Self::NotPermitted)
    }
}
