//! Formats quantities with units (`1.2 ms`, `64 KiB`) for people, and parses them.
//!
//! Every function returns a value with its unit. Latencies have three significant digits. A latency that is not zero
//! never appears as zero. Machine-readable output contains plain numbers without this module.

use std::{ops::RangeInclusive, time::Duration};

use thiserror::Error;

/// Defines an enum with names for its values, for the command line or the screen. The enum has the constant `ALL` and
/// the method `name`.
#[macro_export]
macro_rules! named_values {
    ($(#[$meta:meta])* $see:vis enum $values:ident { $($(#[$about:meta])* $value:ident $name:literal,)+ }) => {
        $(#[$meta])*
        $see enum $values {
            $($(#[$about])* $value,)+
        }

        impl $values {
            /// All values, in their order.
            $see const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name of the value.
            $see const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

/// Expands to a pattern that matches these variants of an enum, with any fields.
#[macro_export]
macro_rules! any_of {
    ($of:ident $($kind:ident)+) => { $($of::$kind { .. })|+ };
}

/// Formats a latency of `ns` nanoseconds with three significant digits: `88 ns`, `3.12 µs`, `312 µs`, `1.94 ms`,
/// `12.1 s`.
pub fn latency(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        // At these limits, three digits would round up to 1.00 of the next unit.
        1_000..999_500 => format!("{} µs", three_digits(value / 1e3)),
        999_500..999_500_000 => format!("{} ms", three_digits(value / 1e6)),
        _ => format!("{} s", three_digits(value / 1e9)),
    }
}

/// Formats a count with three significant digits: `950`, `12.4 k`, `121 k`, `3.20 M`.
pub fn count(n: f64) -> String {
    match n.abs() {
        a if a < 999.5 => three_digits_or_integer(n),
        a if a < 999_500.0 => format!("{} k", three_digits(n / 1e3)),
        a if a < 999_500_000.0 => format!("{} M", three_digits(n / 1e6)),
        _ => format!("{} G", three_digits(n / 1e9)),
    }
}

/// Formats a number that a user has set. A number below a million is exact, with a suffix if nothing is rounded:
/// `1500`, `100 k`, `1 M`. From a million on, a number may be rounded to three significant digits.
pub fn setting(n: u64) -> String {
    match n {
        n if n >= 1_000_000_000 && n.is_multiple_of(1_000_000_000) => format!("{} G", n / 1_000_000_000),
        n if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{} M", n / 1_000_000),
        n if n >= 10_000 && n.is_multiple_of(1_000) => format!("{} k", n / 1_000),
        0..=999_999 => n.to_string(),
        n => count(n as f64),
    }
}

/// Formats a whole number in groups of three digits: `1 234 567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a whole number, which is not rounded, with a noun: `1 key`, `1 204 331 keys`.
pub fn count_with_noun(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Formats a number of lines with its verb: `1 line was`, `7 lines were`.
pub fn lines_with_verb(lines: u64) -> String {
    format!("{} {}", count_with_noun(lines, "line"), if lines == 1 { "was" } else { "were" })
}

/// Formats a rate of operations: `121 k/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", count(per_second))
}

/// Formats a size in bytes with units that are powers of 1024: `32 B`, `1.50 KiB`, `512 MiB`. Redis also uses powers of
/// 1024 in INFO.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// Formats a duration like a clock: `00:04:12`. If the duration is a day or more, the text begins with the days: `1d
/// 02:03:04`.
pub fn elapsed(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    let clock = format!("{:02}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
    if s >= 86_400 { format!("{}d {clock}", s / 86_400) } else { clock }
}

/// Formats a time of the session or a duration in seconds: `04:12`, `01:04:12`. Zero hours are left out.
pub fn clock(s: f64) -> String {
    let text = elapsed((s * 1e9) as u64);
    text.strip_prefix("00:").map(str::to_owned).unwrap_or(text)
}

/// Formats the length of a run: `0.48 s`, `38 s`, `04:12`, `01:04:12`. A length below a minute includes fractions of a
/// second.
pub fn run_length(s: f64) -> String {
    if s < 59.5 { length(s) } else { clock(s) }
}

/// Formats a duration that is only as exact as the interval between two polls: `0.25 s`, `38 s`, `3 min`, `1 h 20 min`.
pub fn length(s: f64) -> String {
    let minutes = (s / 60.0).round() as u64;
    match s {
        ..9.95 => format!("{} s", three_digits(s)),
        ..119.5 => format!("{s:.0} s"),
        ..3570.0 => format!("{minutes} min"),
        _ if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Formats a share as a percentage: `91 %`, `9.1 %`, `0.05 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value == 0.0 || value >= 9.95 {
        format!("{value:.0} %")
    } else if value >= 0.095 {
        format!("{value:.1} %")
    } else {
        format!("{value:.2} %")
    }
}

/// Formats the relative change between two values: `+12 %`, `-0.6 %`, `±0 %`, `×12`.
pub fn change(share: f64) -> String {
    match share {
        _ if share.abs() < 0.000_5 => "±0 %".to_owned(),
        // From ten times on, a factor is easier to read than a percentage.
        9.995.. => format!("×{}", count((1.0 + share).round())),
        ..-0.995 => format!("{:.2} %", share * 100.0),
        _ => format!("{}{}", if share < 0.0 { "-" } else { "+" }, percent(share.abs())),
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        a if a < 9.995 => format!("{value:.2}"),
        a if a < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn three_digits_or_integer(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
}

/// The error for a text that is not a valid quantity.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{text}' is not {expected}")]
pub struct ParseQuantityError {
    text: String,
    expected: &'static str,
}

/// Parses a count: digits, optionally followed by `k`, `M` or `G` (powers of 1000): `100k` or `1.5M`.
///
/// # Errors
/// Fails if the text is not a number, is negative, or is not a whole number of units.
pub fn parse_count(text: &str) -> Result<u64, ParseQuantityError> {
    scaled(text, &[("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)], "a count such as 50, 100k or 1.5M")
}

/// Parses a size in bytes: digits, optionally followed by `k`, `M` or `G` (powers of 1024). Suffixes such as `kb` and
/// `KiB` are accepted, too.
///
/// # Errors
/// Fails in the same cases as [`parse_count`].
pub fn parse_bytes(text: &str) -> Result<u64, ParseQuantityError> {
    let scales = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    scaled(bare, &scales, "a size in bytes such as 32, 4k or 1M")
        .map_err(|e| ParseQuantityError { text: text.to_owned(), ..e })
}

/// Parses a duration: a number followed by its unit, `100us`, `1.5 ms`, `5s`, `1m` or `1h`.
///
/// # Errors
/// Fails if the text is not a number with a known unit, is negative, or is too long for a duration.
pub fn parse_duration(text: &str) -> Result<Duration, ParseQuantityError> {
    let expected = "a duration such as 100us, 2ms, 5s or 1m";
    let error = || ParseQuantityError { text: text.to_owned(), expected };
    let bare = text.trim();
    let digits = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
    let unit_s = match &bare[digits.len()..] {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(error()),
    };
    let number = digits.trim_end().parse::<f64>().map_err(|_| error())?;
    Duration::try_from_secs_f64(number * unit_s).map_err(|_| error())
}

/// Parses a duration and returns its microseconds.
///
/// # Errors
/// Fails in the same cases as [`parse_duration`], and if the duration is no whole number of microseconds.
pub fn parse_microseconds(text: &str) -> Result<u64, ParseQuantityError> {
    let (length, expected) = (parse_duration(text)?, "a duration in whole microseconds such as 100us or 2ms");
    let us = u64::try_from(length.as_micros()).ok().filter(|us| Duration::from_micros(*us) == length);
    us.ok_or_else(|| ParseQuantityError { text: text.to_owned(), expected })
}

/// The longest possible run, window or pause: a year. This time easily fits into a count of nanoseconds.
pub const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Parses a number of seconds above 0 and up to [`LONGEST`], such as `2.5`.
///
/// # Errors
/// Fails if the text is not a number in this range.
pub fn parse_seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let is_possible = |length: &Duration| !length.is_zero() && *length <= LONGEST;
    seconds.filter(is_possible).ok_or("it must be a number of seconds above 0, up to a year")
}

/// Returns a parser of whole numbers in `range`.
pub fn whole_number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number)).map(T::try_from);
        let (least, most) = range.clone().into_inner();
        number.and_then(Result::ok).ok_or_else(|| format!("it must be a whole number from {least} to {most}"))
    }
}

fn scaled(text: &str, scales: &[(&str, u64)], expected: &'static str) -> Result<u64, ParseQuantityError> {
    let error = || ParseQuantityError { text: text.to_owned(), expected };
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = scales
        .iter()
        .find_map(|(suffix, factor)| lower.strip_suffix(suffix).map(|rest| (rest.trim_end(), *factor)))
        .unwrap_or((lower.as_str(), 1));
    let (whole, fraction) = digits.split_once('.').filter(|_| factor > 1).unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let is_number = |c: &str| c.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return Err(error());
    }
    let value = || {
        let parts = 10_u128.checked_pow(fraction.len() as u32)?;
        let in_parts = format!("{whole}{fraction}").parse::<u128>().ok()?.checked_mul(factor.into())?;
        u64::try_from(in_parts / parts).ok().filter(|_| in_parts % parts == 0)
    };
    value().ok_or_else(error)
}

/// Aligns the cells of lines in columns. The columns that `is_right` selects are flush right, and all other columns are
/// flush left. The first line must have a cell for every column. The last cell of a shorter line does not make its
/// column wider.
pub fn aligned(lines: &[Vec<String>], is_right: impl Fn(usize) -> bool) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |n: usize| {
        let of = lines.iter().filter(|line| line.len() == columns || n + 1 < line.len());
        of.map(|line| line[n].chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells = cells.map(|(n, (cell, &width))| match is_right(n) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_has_three_digits_and_its_unit() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (31_249, "31.2 µs"),
            (312_000, "312 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (1_940_000, "1.94 ms"),
            (999_500_000, "1.00 s"),
            (61_000_000_000, "61.0 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(latency(ns), text, "{ns} ns");
        }
    }

    #[test]
    fn counts_rates_and_sizes_carry_their_scale() {
        assert_eq!(count(950.0), "950");
        assert_eq!(count(0.5), "0.50");
        assert_eq!(rate(121_300.0), "121 k/s");
        assert_eq!([setting(10_000), setting(1500), setting(1_234_567)], ["10 k", "1500", "1.23 M"]);
        assert_eq!(count(999_600.0), "1.00 M");
        assert_eq!(bytes(32), "32 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(1 << 30), "1.00 GiB");
        assert_eq!(elapsed(252 * 1_000_000_000), "00:04:12");
        assert_eq!(percent(0.9091), "91 %");
        assert_eq!(percent(0.0004), "0.04 %");
        for (share, written) in [
            (0.12, "+12 %"),
            (-0.006, "-0.6 %"),
            (0.000_4, "±0 %"),
            (-0.998_3, "-99.83 %"),
            (6.5, "+650 %"),
            (11.0, "×12"),
            (478.3, "×479"),
        ] {
            assert_eq!(change(share), written);
        }
    }

    #[test]
    fn a_length_is_as_coarse_as_it_is_long() {
        let written = [0.25, 9.96, 38.2, 119.0, 180.0, 3600.0, 4800.0].map(length);
        assert_eq!(written, ["0.25 s", "10 s", "38 s", "119 s", "3 min", "1 h", "1 h 20 min"]);
    }

    #[test]
    fn durations_have_a_unit() {
        let ns = |text| parse_duration(text).map(|length| length.as_nanos());
        assert_eq!([ns("250us"), ns("1.5 ms"), ns("2µs")], [Ok(250_000), Ok(1_500_000), Ok(2_000)]);
        assert_eq!(
            [ns("5s"), ns("1m"), ns("1h")],
            [Ok(5_000_000_000), Ok(60_000_000_000), Ok(3_600_000_000_000)]
        );
        for bad in ["", "5", "ms", "-1ms", "1d", "1e400s", "nans", "1 0ms"] {
            assert!(parse_duration(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn quantities_read_back_and_nonsense_is_refused() {
        assert_eq!(parse_count("100k"), Ok(100_000));
        assert_eq!(parse_count("1.5M"), Ok(1_500_000));
        assert_eq!(["4.1M", "16.1k", "2.010k"].map(parse_count), [Ok(4_100_000), Ok(16_100), Ok(2010)]);
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("1MiB"), Ok(1 << 20));
        assert_eq!(parse_bytes("64B"), Ok(64));
        for bad in ["", "-1", "k", "1.5", "1e9", "ten", "1.0005k", "0x10", "infk", "nan"] {
            assert!(parse_count(bad).is_err(), "{bad:?} was taken");
        }
        assert_eq!(
            parse_bytes("big").unwrap_err().to_string(),
            "'big' is not a size in bytes such as 32, 4k or 1M"
        );
    }
}
