//! Parsers for the values of redyno's options. In errors, clap puts the name of the option before the texts of these
//! parsers.

use std::time::Duration;

pub use crate::units::{parse_seconds as seconds, whole_number as whole};
use crate::{
    load::MOST_THREADS,
    units::{parse_bytes, parse_count, parse_duration},
    workload::KeyNames,
};

/// The longest prefix of keys, in bytes.
const LONGEST_PREFIX: usize = 512;
/// The lowest and the highest speed of a trace.
const MIN_SPEED: f64 = 0.001;
const MAX_SPEED: f64 = 1000.0;

/// Parses a count, optionally followed by k or M. The value of every knob fits into a `u32`.
pub fn count(text: &str) -> Result<u32, String> {
    fitting(parse_count(text).map_err(|error| error.to_string())?)
}

/// The value of `--rate`: requests per second. `None` stands for `max`, a closed loop.
#[derive(Debug, Clone, Copy)]
pub struct GivenRate(pub Option<u32>);

/// Parses a rate: a count, or `max`.
pub fn rate(text: &str) -> Result<GivenRate, String> {
    let count = (!text.eq_ignore_ascii_case("max")).then(|| count(text));
    count.transpose().map(GivenRate).map_err(|error| format!("{error}; or give max"))
}

/// Parses a number of bytes, optionally followed by k or M.
pub fn bytes(text: &str) -> Result<u32, String> {
    fitting(parse_bytes(text).map_err(|error| error.to_string())?)
}

fn fitting(given: u64) -> Result<u32, String> {
    u32::try_from(given).map_err(|_| format!("{given} is far too large"))
}

/// Parses a count of at least 1, optionally followed by k or M.
pub fn some(text: &str) -> Result<u32, String> {
    match count(text)? {
        0 => Err("it must be at least 1".to_owned()),
        count => Ok(count),
    }
}

/// Parses a number of requests, at least 1.
pub fn requests(text: &str) -> Result<u64, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        0 => Err("it must be at least 1; leave the option out for a run without a limit".to_owned()),
        requests => Ok(requests),
    }
}

/// Parses a number of worker threads.
pub fn threads(text: &str) -> Result<usize, String> {
    let threads = parse_count(text).map_err(|error| error.to_string())?;
    let fitting = usize::try_from(threads).ok().filter(|threads| (1..=MOST_THREADS).contains(threads));
    fitting.ok_or_else(|| format!("it must be between 1 and {MOST_THREADS}"))
}

/// Parses the speed of a trace. With 2, redyno sends the trace twice as fast as it was recorded.
pub fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (MIN_SPEED..=MAX_SPEED).contains(speed));
    speed.ok_or_else(|| format!("it must be a number from {MIN_SPEED} to {MAX_SPEED}, such as 2 or 0.5"))
}

/// Parses the duration of one file of a recording, at least a second.
pub fn rotation(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|error| error.to_string())?;
    if length < Duration::from_secs(1) {
        return Err("it must be at least 1s".to_owned());
    }
    Ok(length)
}

/// Parses the prefix of the user's own keys.
pub fn prefix(text: &str) -> Result<KeyNames, String> {
    match text.len() {
        1..=LONGEST_PREFIX => Ok(KeyNames::given(text)),
        length => {
            Err(format!("it must be a name of 1 to {LONGEST_PREFIX} bytes, such as app:; it has {length}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_wrong_values_say_what_is_right() {
        assert_eq!(count("many").unwrap_err(), "'many' is not a count such as 50, 100k or 1.5M");
        assert_eq!(count("99999999999").unwrap_err(), "99999999999 is far too large");
        assert_eq!(whole::<u16>(1..=65535)("6379"), Ok(6379));
        for wrong in ["x", "0", "65536", "", "-1", "1.5", "99999999999999999999"] {
            let error = whole::<u16>(1..=65535)(wrong).unwrap_err();
            assert_eq!(error, "it must be a whole number from 1 to 65535", "{wrong}");
        }
        assert_eq!((some("10k"), some("0").is_err()), (Ok(10_000), true));
        assert!(requests("0").is_err() && threads("0").is_err() && threads("513").is_err());
        for wrong in ["-1", "nan", "0", "soon", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert!(prefix("").is_err() && prefix(&"x".repeat(513)).is_err() && prefix("app:").is_ok());
    }
}
