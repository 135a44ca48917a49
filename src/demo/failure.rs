//! Error replies, in the words of Redis.

use std::borrow::Cow;

use thiserror::Error;

/// Why a command failed. The text is what goes on the wire behind the `-`; its first word is the error's prefix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// The key holds a value of another type.
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    /// Options that make no sense.
    #[error("ERR syntax error")]
    Syntax,
    /// No integer where one belongs.
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    /// No number where one belongs.
    #[error("ERR value is not a valid float")]
    NotFloat,
    /// A negative count.
    #[error("ERR value is out of range, must be positive")]
    NotPositive,
    /// A counter that would pass its limits.
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    /// A time of expiry that is zero, negative or too far away.
    #[error("ERR invalid expire time in '{0}' command")]
    ExpireTime(&'static str),
    /// Too few or too many arguments. `config|get` names a subcommand.
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(&'static str),
    /// Any other, with its prefix.
    #[error("{0}")]
    Other(Cow<'static, str>),
}

impl Failure {
    /// An error with a text of its own, prefix included.
    pub fn other(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Other(text.into())
    }
}
