//! How requests of an open loop come due, and what becomes of those that cannot be sent in time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The spacing of the moments at which requests are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// All gaps alike.
    #[default]
    Constant,
    /// Gaps drawn from the exponential distribution, as if many people asked without knowing of each other.
    Poisson,
}

/// What becomes of requests that are due while every connection waits for replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backlog {
    /// They are sent as soon as a connection is free, and their response time says how late that was.
    #[default]
    Queue,
    /// Those that are more than [`SHED_AFTER_NS`] late are not sent, and counted as shed.
    Shed,
}

/// How late a request may be sent under [`Backlog::Shed`]: 10 ms. Longer than our own wake-ups take, shorter than
/// what anybody calls a stall.
pub const SHED_AFTER_NS: u64 = 10_000_000;

/// A word that names neither.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{given}' is neither {one} nor {other}")]
pub struct ParseChoiceError {
    given: String,
    one: &'static str,
    other: &'static str,
}

macro_rules! choice {
    ($choice:ident: $one:ident $one_name:literal, $other:ident $other_name:literal) => {
        impl $choice {
            /// Its name on the command line and on screen.
            pub fn name(self) -> &'static str {
                match self {
                    Self::$one => $one_name,
                    Self::$other => $other_name,
                }
            }
        }

        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $choice {
            type Err = ParseChoiceError;

            fn from_str(given: &str) -> Result<Self, Self::Err> {
                match given.trim().to_lowercase().as_str() {
                    $one_name => Ok(Self::$one),
                    $other_name => Ok(Self::$other),
                    _ => {
                        Err(ParseChoiceError { given: given.to_owned(), one: $one_name, other: $other_name })
                    }
                }
            }
        }
    };
}

choice!(Arrivals: Constant "constant", Poisson "poisson");
choice!(Backlog: Queue "queue", Shed "shed");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_an_unknown_word_lists_the_choices() {
        assert_eq!("Poisson".parse(), Ok(Arrivals::Poisson));
        assert_eq!("shed".parse(), Ok(Backlog::Shed));
        let error = "uniform".parse::<Arrivals>().unwrap_err();
        assert_eq!(error.to_string(), "'uniform' is neither constant nor poisson");
    }
}
