//! A knob with a random length of time: the pause of a client, or the time until it reconnects.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::KnobError;
use crate::units;

/// The longest allowed length, and the longest allowed mean length: an hour, in µs.
const MOST_US: u32 = 3_600_000_000;

/// The distribution of a length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum RandomLength {
    /// Every length from the shortest to the longest is equally likely. The shortest and the longest length may be
    /// equal.
    Uniform {
        /// The shortest length.
        from_us: u32,
        /// The longest length.
        to_us: u32,
    },
    /// The lengths have an exponential distribution. Short lengths are frequent, and a few lengths are several times
    /// the mean.
    Exponential {
        /// The mean length.
        mean_us: u32,
    },
}

impl RandomLength {
    /// Returns the length of time for the random number `unit`, in ns. `unit` is uniform from 0 to 1, without
    /// 1 itself.
    pub fn ns(self, unit: f64) -> u64 {
        let ns = |us: u32| f64::from(us) * 1000.0;
        let length = match self {
            Self::Uniform { from_us, to_us } => ns(from_us) + unit * ns(to_us - from_us),
            Self::Exponential { mean_us } => -(1.0 - unit).ln() * ns(mean_us),
        };
        length as u64
    }

    /// Returns the length in µs if the length is always the same.
    pub fn fixed_us(self) -> Option<u64> {
        match self {
            Self::Uniform { from_us, to_us } => (from_us == to_us).then_some(to_us.into()),
            Self::Exponential { .. } => None,
        }
    }

    /// Returns the mean length, in ns.
    pub fn mean_ns(self) -> f64 {
        match self {
            Self::Uniform { from_us, to_us } => f64::midpoint(f64::from(from_us), f64::from(to_us)) * 1000.0,
            Self::Exponential { mean_us } => f64::from(mean_us) * 1000.0,
        }
    }
}

impl fmt::Display for RandomLength {
    /// Writes `20ms`, `5ms..50ms` or `exponential 20ms`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let text = |us: u32| match us {
            us if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
            us if us.is_multiple_of(1000) => format!("{}ms", us / 1000),
            us => format!("{us}us"),
        };
        match *self {
            Self::Uniform { from_us, to_us } if from_us == to_us => f.write_str(&text(to_us)),
            Self::Uniform { from_us, to_us } => write!(f, "{}..{}", text(from_us), text(to_us)),
            Self::Exponential { mean_us } => write!(f, "exponential {}", text(mean_us)),
        }
    }
}

impl FromStr for RandomLength {
    type Err = KnobError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let us = |text: &str| {
            u32::try_from(units::parse_microseconds(text.trim()).ok()?).ok().filter(|us| *us <= MOST_US)
        };
        let text = given.trim().to_lowercase();
        let length = match (text.strip_prefix("exponential "), text.split_once("..")) {
            (Some(mean), _) => us(mean).map(|mean_us| Self::Exponential { mean_us }),
            (_, Some((from, to))) => {
                us(from).zip(us(to)).map(|(from_us, to_us)| Self::Uniform { from_us, to_us })
            }
            _ => us(&text).map(|us| Self::Uniform { from_us: us, to_us: us }),
        };
        let is_possible = |length: &Self| match *length {
            Self::Uniform { from_us, to_us } => from_us <= to_us && to_us > 0,
            Self::Exponential { mean_us } => mean_us > 0,
        };
        length.filter(is_possible).ok_or_else(|| {
            KnobError::of(format!(
                "'{given}' is no length of time such as 20ms, 5ms..50ms (each is equally likely) or 'exponential 20ms' (the \
                 mean), in whole microseconds up to 1h"
            ))
        })
    }
}

impl TryFrom<String> for RandomLength {
    type Error = KnobError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RandomLength> for String {
    fn from(length: RandomLength) -> Self {
        length.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_survive_writing_and_parsing() {
        for text in ["20ms", "5ms..50ms", "0s..1500us", "exponential 20ms", "30s"] {
            let length: RandomLength = text.parse().unwrap();
            assert_eq!(length.to_string(), text);
            assert_eq!(serde_json::to_string(&length).unwrap(), format!("\"{text}\""));
        }
        assert_eq!(" Exponential 1m ".parse::<RandomLength>().unwrap().to_string(), "exponential 60s");
        let wrong =
            ["", "0s", "9", "5ms..", "50ms..5ms", "exponential", "exponential 0s", "2h", "0.5us", "-1s"];
        for bad in wrong {
            let error = bad.parse::<RandomLength>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{bad}' is no length of time such as 20ms, ")), "{error}");
        }
    }

    #[test]
    fn a_random_number_determines_the_length() {
        let ns = |text: &str, unit| text.parse::<RandomLength>().unwrap().ns(unit);
        assert_eq!(
            [ns("5ms..50ms", 0.0), ns("5ms..50ms", 0.5), ns("7ms", 0.9)],
            [5_000_000, 27_500_000, 7_000_000]
        );
        assert_eq!(ns("exponential 20ms", 1.0 - (-1.0_f64).exp()), 20_000_000);
        assert_eq!("5ms..50ms".parse::<RandomLength>().unwrap().mean_ns(), 27.5e6);
    }
}
