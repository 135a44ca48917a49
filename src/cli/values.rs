//! Parsers for the values of redyno's options. In errors, clap puts the name of the option before the texts of these
//! parsers.

use std::{ops::RangeInclusive, time::Duration};

pub use crate::units::{parse_seconds as seconds, whole_number as whole};
use crate::{
    load::MOST_THREADS,
    units::{ParseQuantityError, parse_bytes, parse_count, parse_duration},
    workload::KeyNames,
};

/// The longest prefix of keys, in bytes.
const LONGEST_PREFIX: usize = 512;
/// The lowest and the highest speed of a trace.
const MIN_SPEED: f64 = 0.001;
const MAX_SPEED: f64 = 1000.0;

/// Returns a parser of counts in `range`, optionally followed by k or M.
pub fn count<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    amount(parse_count, range)
}

/// Returns a parser of a number of bytes in `range`, optionally followed by k or M.
pub fn bytes<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    amount(parse_bytes, range)
}

fn amount<T: TryFrom<u64>>(
    parse: fn(&str) -> Result<u64, ParseQuantityError>,
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let given = parse(text).map_err(|error| error.to_string())?;
        let fitting = T::try_from(given).ok().filter(|_| range.contains(&given));
        fitting.ok_or_else(|| format!("it must be between {} and {}", range.start(), range.end()))
    }
}

/// The value of `--rate`: requests per second. `None` stands for `max`, a closed loop.
#[derive(Debug, Clone, Copy)]
pub struct GivenRate(pub Option<u32>);

/// Parses a rate: a count, or `max`.
pub fn rate(text: &str) -> Result<GivenRate, String> {
    let count = (!text.eq_ignore_ascii_case("max")).then(|| count(1..=u32::MAX.into())(text));
    count.transpose().map(GivenRate).map_err(|error| format!("{error}; or give max"))
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
    count(1..=MOST_THREADS as u64)(text)
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
        assert_eq!(
            count::<u32>(1..=9)("many").unwrap_err(),
            "'many' is not a count such as 50, 100k or 1.5M"
        );
        assert_eq!(count::<u32>(1..=9)("99999999999").unwrap_err(), "it must be between 1 and 9");
        assert_eq!(whole::<u16>(1..=65535)("6379"), Ok(6379));
        for wrong in ["x", "0", "65536", "", "-1", "1.5", "99999999999999999999"] {
            let error = whole::<u16>(1..=65535)(wrong).unwrap_err();
            assert_eq!(error, "it must be a whole number from 1 to 65535", "{wrong}");
        }
        let some = count::<u32>(1..=u32::MAX.into());
        assert_eq!(
            (some("10k"), some("0")),
            (Ok(10_000), Err("it must be between 1 and 4294967295".to_owned()))
        );
        assert!(requests("0").is_err() && threads("0").is_err() && threads("513").is_err());
        for wrong in ["-1", "nan", "0", "soon", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert!(prefix("").is_err() && prefix(&"x".repeat(513)).is_err() && prefix("app:").is_ok());
    }
}
