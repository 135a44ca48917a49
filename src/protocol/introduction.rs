//! What it means that a server answers a step of a greeting with an error.

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
