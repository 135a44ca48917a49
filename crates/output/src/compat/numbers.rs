//! Parses numbers in options as other tools do. C's functions read the number at the beginning of a text.
//! memtier_benchmark accepts a text only if all of the text is a number. This file also writes bytes as a word of a
//! workload's command.

use std::{str::FromStr, time::Duration};

/// Parses the whole number at the beginning of a text, as C's atoi does. Returns 0 if there is no number. If
/// the number does not fit into 64 bits, returns the nearest number that fits.
pub fn atoi(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    let number = digits.fold(0_i64, |n, digit| n.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    sign * number
}

/// Parses the number of seconds at the beginning of a text. The number may have a fraction. Returns `None` for 0 or no
/// number. Returns the longest possible duration for a number that is too large.
pub fn seconds(text: &str) -> Option<Duration> {
    let text = text.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let mut points = 0;
    let digits = text.bytes().take_while(|byte| {
        points += u32::from(*byte == b'.');
        byte.is_ascii_digit() || (*byte == b'.' && points == 1)
    });
    let number: f64 = text[..digits.count()].parse().unwrap_or(0.0);
    Some(Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)).filter(|length| !length.is_zero())
}

/// Returns a parser of an option's value. `read` returns `None` for an invalid value. `reason` is the error. A `reason`
/// that begins with `must` follows the name of the option.
pub fn checked<T>(
    read: fn(&str) -> Option<T>,
    reason: &'static str,
) -> impl Fn(&str) -> Result<T, &'static str> + Clone + Send + Sync {
    move |text| read(text).ok_or(reason)
}

/// The error about a number that is not above zero.
pub const POSITIVE: &str = "must be greater than zero.";

/// Parses a number above zero.
pub fn positive<N: FromStr + PartialOrd + Default>(text: &str) -> Result<N, &'static str> {
    number(text).filter(|number| *number > N::default()).ok_or(POSITIVE)
}

/// Parses a number of this type.
pub fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    number(text).ok_or("must be a valid number.")
}

/// A ratio `a:b`: `a` requests of the first kind, then `b` requests of the second kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    pub a: u32,
    pub b: u32,
}

impl Ratio {
    /// Parses a ratio such as `1:10`. Refuses 0:0.
    pub fn read(text: &str) -> Option<Self> {
        let (a, b) = pair(text, ':')?;
        (a.max(b) > 0).then_some(Self { a, b })
    }
}

/// A range of numbers. In the text, either end may come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    pub min: u32,
    pub max: u32,
}

impl NumberRange {
    /// Parses a range such as `1-10`. Refuses 0-0.
    pub fn read(text: &str) -> Option<Self> {
        let (a, b) = pair(text, '-')?;
        (a.max(b) > 0).then_some(Self { min: a.min(b), max: a.max(b) })
    }
}

fn pair(text: &str, between: char) -> Option<(u32, u32)> {
    let (a, b) = text.split_once(between)?;
    Some((number(a)?, number(b)?))
}

/// Parses sizes with their weights, such as `32:9,4096:1`. The sizes and at least one weight must be above 0.
pub fn weights(text: &str) -> Option<Vec<(u32, u32)>> {
    let all: Vec<_> = text.split(',').map(|one| pair(one, ':')).collect::<Option<_>>()?;
    let is_drawn = all.iter().all(|(size, _)| *size > 0) && all.iter().any(|(_, weight)| *weight > 0);
    is_drawn.then_some(all)
}

/// Parses percentiles, such as `50,99,99.9`.
pub fn percentiles(text: &str) -> Option<Vec<f64>> {
    let percentile = |text: &str| text.parse().ok().filter(|percentile| (0.0..=100.0).contains(percentile));
    text.split(',').map(percentile).collect()
}

/// Parses a number. The text must contain nothing else.
pub fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

/// Returns bytes as text for a command of a workload. The text is for use between double quotes. Letters, digits,
/// spaces, most punctuation and the bytes in `plain` are unchanged. All other bytes become `\x` escapes.
pub fn escaped(bytes: &[u8], plain: &[u8]) -> String {
    let is_plain = |byte: &u8| {
        byte.is_ascii_alphanumeric() || b" ;<=>?@[].,/+-*()'!#$%&".contains(byte) || plain.contains(byte)
    };
    let one =
        |byte: &u8| if is_plain(byte) { char::from(*byte).to_string() } else { format!("\\x{byte:02x}") };
    bytes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests a number with a fraction. An earlier version of redyno parsed 1.9 as 1.
    #[test]
    fn seconds_have_a_fraction() {
        for (text, ms) in [("1.9", 1900), (" 2", 2000), ("+.5x", 500), ("3.", 3000), ("1.2.3", 1200)] {
            assert_eq!(seconds(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["0", "-1.5", "x", "", ".", "0.0"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(seconds("99999999999999999999"), Some(Duration::MAX));
    }

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        for (text, number) in [
            ("5", 5),
            (" -7x", -7),
            ("+3", 3),
            ("x", 0),
            ("", 0),
            ("1k", 1),
            ("99999999999999999999", i64::MAX),
        ] {
            assert_eq!(atoi(text), number, "{text}");
        }
    }

    #[test]
    fn invalid_ratios_ranges_and_lists_are_refused() {
        assert_eq!(Ratio::read("1:10"), Some(Ratio { a: 1, b: 10 }));
        assert_eq!(NumberRange::read("9-3"), Some(NumberRange { min: 3, max: 9 }));
        assert_eq!(weights("32:9,4096:1"), Some(vec![(32, 9), (4096, 1)]));
        assert_eq!(percentiles("50,99.9"), Some(vec![50.0, 99.9]));
        for bad in ["", "1", "1:", ":1", "1:x", "0:0", "1:-1", "1:5000000000"] {
            assert_eq!(Ratio::read(bad), None, "{bad}");
        }
        assert_eq!((NumberRange::read("0-0"), NumberRange::read("-5")), (None, None));
        assert_eq!(
            (weights("32"), weights("32:1,"), percentiles("50,x"), percentiles("101")),
            (None, None, None, None)
        );
        assert_eq!([weights("8:0,16:0"), weights("0:1,8:1")], [None, None]);
    }
}
