//! A window's figures as one line, in redis-cli's four formats. Pure.
//!
//! Figures are milliseconds with three decimals, so whole microseconds.

use std::fmt::Write as _;

use super::plan::{Format, Percentile};
use crate::stats::Latency;

/// The line for a window, without a line end. A window without samples has no figures: it says so in place of
/// zeros.
pub(super) fn line(window: &Latency, percentiles: &[Percentile], format: Format) -> String {
    let absent = match format {
        Format::Standard | Format::Raw => "-",
        Format::Csv => "",
        Format::Json => "null",
    };
    let figure = |ns: f64| if window.is_empty() { absent.to_owned() } else { format!("{:.3}", ns / 1e6) };
    let min = figure(window.min_ns() as f64);
    let max = figure(window.max_ns() as f64);
    let avg = figure(window.mean_ns());
    let count = window.count();
    let percentiles =
        percentiles.iter().map(|p| (p.text(), figure(window.value_at_quantile(p.quantile()) as f64)));
    match format {
        Format::Standard => {
            let mut line = format!("min: {min}, max: {max}, avg: {avg} ({count} samples)");
            percentiles.for_each(|(name, value)| append(&mut line, format_args!(", p{name}: {value}")));
            line
        }
        Format::Raw => separated(' ', [min, max, avg, count.to_string()], percentiles),
        Format::Csv => separated(',', [min, max, avg, count.to_string()], percentiles),
        Format::Json => {
            let mut line = format!(r#"{{"min": {min}, "max": {max}, "avg": {avg}, "count": {count}"#);
            let members: Vec<_> = percentiles.map(|(name, value)| format!(r#""{name}": {value}"#)).collect();
            if !members.is_empty() {
                append(&mut line, format_args!(r#", "percentiles": {{{}}}"#, members.join(", ")));
            }
            line.push('}');
            line
        }
    }
}

fn separated<'a>(
    separator: char,
    figures: [String; 4],
    percentiles: impl Iterator<Item = (&'a str, String)>,
) -> String {
    let all: Vec<_> = figures.into_iter().chain(percentiles.map(|(_, value)| value)).collect();
    all.join(separator.encode_utf8(&mut [0; 4]))
}

fn append(line: &mut String, text: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = line.write_fmt(text);
}

/// What ends a window's line in `--latency-history` on a terminal.
pub(super) fn window_end(length_ns: u64) -> String {
    format!(" -- {:.2} seconds range\n", length_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    fn window() -> Latency {
        latency_of([31_000, 89_000, 89_000, 336_400])
    }

    fn all_formats(window: &Latency, percentiles: &str) -> [String; 4] {
        let percentiles = match percentiles {
            "" => Vec::new(),
            list => Percentile::parse_list(list).unwrap(),
        };
        [Format::Standard, Format::Raw, Format::Csv, Format::Json].map(|f| line(window, &percentiles, f))
    }

    #[test]
    fn lines_are_those_of_redis_cli() {
        assert_eq!(
            all_formats(&window(), ""),
            [
                "min: 0.031, max: 0.336, avg: 0.136 (4 samples)",
                "0.031 0.336 0.136 4",
                "0.031,0.336,0.136,4",
                r#"{"min": 0.031, "max": 0.336, "avg": 0.136, "count": 4}"#,
            ]
        );
    }

    #[test]
    fn percentiles_follow_in_each_format() {
        assert_eq!(
            all_formats(&window(), "50,99.9"),
            [
                "min: 0.031, max: 0.336, avg: 0.136 (4 samples), p50: 0.089, p99.9: 0.336",
                "0.031 0.336 0.136 4 0.089 0.336",
                "0.031,0.336,0.136,4,0.089,0.336",
                r#"{"min": 0.031, "max": 0.336, "avg": 0.136, "count": 4, "percentiles": {"50": 0.089, "99.9": 0.336}}"#,
            ]
        );
    }

    #[test]
    fn a_window_without_samples_has_no_figures() {
        assert_eq!(
            all_formats(&Latency::default(), "99"),
            [
                "min: -, max: -, avg: - (0 samples), p99: -",
                "- - - 0 -",
                ",,,0,",
                r#"{"min": null, "max": null, "avg": null, "count": 0, "percentiles": {"99": null}}"#,
            ]
        );
    }

    #[test]
    fn a_window_ends_with_its_length() {
        assert_eq!(window_end(15_000_000_000), " -- 15.00 seconds range\n");
    }
}
