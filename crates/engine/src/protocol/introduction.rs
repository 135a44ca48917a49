//! What is said first, step by step, and what it means that a server answers a step with an error.

/// Who we are on a server, and what we want there.
#[derive(Debug, Clone, Copy)]
pub struct Introduction<'a> {
    /// `None` is the default user.
    pub user: Option<&'a str>,
    /// `None` where nobody asks.
    pub password: Option<&'a str>,
    /// The database.
    pub db: u32,
    /// What the connection is to be called.
    pub name: Option<&'a str>,
}

/// One command of a greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Is it a server that we know? Without a word of who we are.
    Ping,
    /// Who we are.
    Auth,
    /// Which protocol is spoken.
    Hello,
    /// The server remembers what we read, and sends its changes.
    Tracking,
    /// Which database is meant.
    Select,
    /// What we are called in `CLIENT LIST`.
    SetName,
    /// None of them: what the server says of the connection as such.
    Connection,
}

impl Step {
    /// The command as the server's statistics call it but for its case, if it was asked for one.
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

/// What an error means, whoever said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// As many clients as it takes are there: said whatever was asked, before it hangs up.
    TooManyClients,
    /// It takes local clients only: likewise.
    ProtectedMode,
    /// It wants to know who we are.
    PasswordNeeded,
    /// The password is not this user's.
    WrongPassword,
    /// A password was given where nobody asks for one.
    PasswordNotAsked,
    /// This user may not.
    NotPermitted,
    /// It is loading its data.
    Loading,
    /// It is busy with something that ends.
    Busy,
    /// It does not have this database.
    NoSuchDb,
    /// It does not speak RESP3.
    NoResp3,
    /// It is older than what is asked for.
    TooOld,
    /// Its words say it.
    Other,
}

impl Refusal {
    /// Whether it is said whatever the question was, before the server hangs up.
    pub fn turns_everybody_away(self) -> bool {
        matches!(self, Self::TooManyClients | Self::ProtectedMode)
    }

    /// Whether it may go away once the server knows who we are.
    pub fn asks_who_we_are(self) -> bool {
        matches!(self, Self::PasswordNeeded | Self::NotPermitted)
    }
}
