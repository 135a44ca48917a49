//! Numbers as C reads them: what a text begins with counts, and the rest does not.

use std::time::Duration;

/// C's atoi: the whole number that a text begins with, else 0. Beyond 64 bits it is the last that there is.
pub(super) fn atoi(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    let number = digits.fold(0_i64, |n, digit| n.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    sign * number
}

/// The seconds that a text begins with, with their fraction; none is no time at all.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let text = text.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let mut points = 0;
    let digits = text.bytes().take_while(|byte| {
        points += u32::from(*byte == b'.');
        byte.is_ascii_digit() || (*byte == b'.' && points == 1)
    });
    let number: f64 = text[..digits.count()].parse().unwrap_or(0.0);
    Duration::try_from_secs_f64(number).ok().filter(|length| !length.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.9 was 1.
    #[test]
    fn seconds_have_a_fraction() {
        for (text, ms) in [("1.9", 1900), (" 2", 2000), ("+.5x", 500), ("3.", 3000), ("1.2.3", 1200)] {
            assert_eq!(seconds(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["0", "-1.5", "x", "", ".", "0.0", "99999999999999999999"] {
            assert_eq!(seconds(text), None, "{text}");
        }
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
}
