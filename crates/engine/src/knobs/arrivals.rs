//! When requests of an open loop are due, and what happens to those that cannot be sent in time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The distribution of the times at which requests are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Requests are due at equal intervals.
    #[default]
    Constant,
    /// Requests are due at random intervals with an exponential distribution, as from many independent users.
    Poisson,
    /// Requests are due at the times of the workload's trace, in the proportion of the rate to the trace's mean rate.
    Trace,
}

/// What happens to requests that are due while every connection waits for replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backlog {
    /// Delayed requests are sent as soon as a connection is free; their response time includes the delay.
    #[default]
    Queue,
    /// Requests that are more than [`SHED_AFTER_NS`] late are dropped and counted as shed.
    Shed,
}

/// How late a request may be sent with [`Backlog::Shed`]: 10 ms, which is longer than a worker takes to wake up, and
/// shorter than a stall of the server.
pub const SHED_AFTER_NS: u64 = 10_000_000;

/// The given word is none of the allowed words.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{given}' must be {}", .allowed.join(" or "))]
pub struct ParseChoiceError {
    given: String,
    allowed: &'static [&'static str],
}

macro_rules! choice {
    ($choice:ident: $($one:ident $name:literal),+) => {
        impl $choice {
            /// The words for the values on the command line.
            pub const NAMES: &[&str] = &[$($name),+];

            /// Returns the word for this value on the command line and on the screen.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$one => $name,)+
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
                    $($name => Ok(Self::$one),)+
                    _ => Err(ParseChoiceError { given: given.to_owned(), allowed: Self::NAMES }),
                }
            }
        }
    };
}

choice!(Arrivals: Constant "constant", Poisson "poisson", Trace "trace");
choice!(Backlog: Queue "queue", Shed "shed");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_an_unknown_word_lists_the_choices() {
        assert_eq!("Poisson".parse(), Ok(Arrivals::Poisson));
        assert_eq!("shed".parse(), Ok(Backlog::Shed));
        let error = "uniform".parse::<Arrivals>().unwrap_err();
        assert_eq!(error.to_string(), "'uniform' must be constant or poisson or trace");
    }
}
