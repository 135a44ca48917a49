//! Error replies, in the words of Redis.

use std::borrow::Cow;

/// Why a command failed: what goes on the wire behind the `-`. Its first word is the error's prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub Cow<'static, str>);

impl Failure {
    /// The key holds a value of another type.
    pub const WRONG_TYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// Options that make no sense.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// No integer where one belongs.
    pub const NOT_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// No number where one belongs.
    pub const NOT_FLOAT: Self = Self::fixed("ERR value is not a valid float");
    /// A negative count.
    pub const NOT_POSITIVE: Self = Self::fixed("ERR value is out of range, must be positive");

    const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// An error with a text of its own, prefix included.
    pub fn other(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// Too few or too many arguments. `config|get` names a subcommand.
    pub fn arity(command: &str) -> Self {
        Self::other(format!("ERR wrong number of arguments for '{command}' command"))
    }

    /// A time of expiry that is zero, negative or too far away.
    pub fn expire_time(command: &str) -> Self {
        Self::other(format!("ERR invalid expire time in '{command}' command"))
    }
}
