//! Formats the figures of a window of PINGs as one line, in redis-cli's four formats.
//!
//! Figures are in milliseconds with three decimals.

use super::{
    pinging::LatencyWindow,
    plan::{FigureFormat, RequestedPercentile},
};
use crate::stats::Latency;

/// Returns the line for a window, without a line end. For a window without samples, the line has `-`, nothing or `null`
/// instead of figures.
///
/// PINGs that are unanswered at the end of the window are included with their waiting time so far. A figure that
/// includes such a waiting time is a lower bound. The standard format marks such a figure with `>`. The minimum
/// includes only answered PINGs.
pub(super) fn line(
    window: &LatencyWindow,
    percentiles: &[RequestedPercentile],
    format: FigureFormat,
) -> String {
    let (all, unanswered) = (window.all(), &window.unanswered);
    let absent = match format {
        FigureFormat::Standard | FigureFormat::Raw => "-",
        FigureFormat::Csv => "",
        FigureFormat::Json => "null",
    };
    let figure = |of: &Latency, ns: f64, is_bound: bool| match format {
        _ if of.is_empty() => absent.to_owned(),
        FigureFormat::Standard if is_bound => format!(">{:.3}", ns / 1e6),
        _ => format!("{:.3}", ns / 1e6),
    };
    let min = figure(&window.rtt, window.rtt.min_ns() as f64, false);
    let max = figure(&all, all.max_ns() as f64, unanswered.max_ns() > window.rtt.max_ns());
    let avg = figure(&all, all.mean_ns(), !unanswered.is_empty());
    let count = all.count();
    let percentiles = percentiles.iter().map(|p| {
        let ns = all.value_at_quantile(p.quantile);
        // Values below the shortest wait stay the same, however long the waits become.
        (&p.text, figure(&all, ns as f64, !unanswered.is_empty() && ns >= unanswered.min_ns()))
    });
    match format {
        FigureFormat::Standard => {
            let waiting = match unanswered.count() {
                0 => String::new(),
                n => format!(", {n} of them unanswered"),
            };
            let percentiles: String =
                percentiles.map(|(name, value)| format!(", p{name}: {value}")).collect();
            format!("min: {min}, max: {max}, avg: {avg} ({count} samples{waiting}){percentiles}")
        }
        FigureFormat::Raw | FigureFormat::Csv => {
            let figures = [min, max, avg, count.to_string()].into_iter();
            let all: Vec<_> = figures.chain(percentiles.map(|(_, value)| value)).collect();
            all.join(if format == FigureFormat::Raw { " " } else { "," })
        }
        FigureFormat::Json => {
            let mut line = format!(r#"{{"min": {min}, "max": {max}, "avg": {avg}, "count": {count}"#);
            let members: Vec<_> = percentiles.map(|(name, value)| format!(r#""{name}": {value}"#)).collect();
            if !members.is_empty() {
                line += &format!(r#", "percentiles": {{{}}}"#, members.join(", "));
            }
            if !unanswered.is_empty() {
                line += &format!(r#", "unanswered": {}"#, unanswered.count());
            }
            line + "}"
        }
    }
}

/// Returns the end of a window's line in `--latency-history` on a terminal.
pub(super) fn window_end(length_ns: u64) -> String {
    format!(" -- {:.2} seconds range\n", length_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    fn window() -> LatencyWindow {
        LatencyWindow { rtt: latency_of([31_000, 89_000, 89_000, 336_400]), ..LatencyWindow::default() }
    }

    fn all_formats(window: &LatencyWindow, percentiles: &str) -> [String; 4] {
        let percentiles = match percentiles {
            "" => Vec::new(),
            list => list.split(',').map(|text| text.parse().unwrap()).collect(),
        };
        [FigureFormat::Standard, FigureFormat::Raw, FigureFormat::Csv, FigureFormat::Json]
            .map(|f| line(window, &percentiles, f))
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
            all_formats(&LatencyWindow::default(), "99"),
            [
                "min: -, max: -, avg: - (0 samples), p99: -",
                "- - - 0 -",
                ",,,0,",
                r#"{"min": null, "max": null, "avg": null, "count": 0, "percentiles": {"99": null}}"#,
            ]
        );
    }

    #[test]
    fn waits_are_in_the_figures_as_lower_bounds() {
        let stalled = LatencyWindow { unanswered: latency_of([998_000_000, 1_998_000_000]), ..window() };
        assert_eq!(
            all_formats(&stalled, "50,99"),
            [
                "min: 0.031, max: >1998.000, avg: >499.424 (6 samples, 2 of them unanswered), p50: 0.089, p99: >1998.000",
                "0.031 1998.000 499.424 6 0.089 1998.000",
                "0.031,1998.000,499.424,6,0.089,1998.000",
                r#"{"min": 0.031, "max": 1998.000, "avg": 499.424, "count": 6, "percentiles": {"50": 0.089, "99": 1998.000}, "unanswered": 2}"#,
            ]
        );
        let silent = LatencyWindow { rtt: Latency::default(), ..stalled };
        assert_eq!(
            all_formats(&silent, "")[..2],
            [
                "min: -, max: >1998.000, avg: >1498.000 (2 samples, 2 of them unanswered)",
                "- 1998.000 1498.000 2"
            ]
        );
        let over = LatencyWindow { unanswered: latency_of([200_000]), ..window() };
        assert!(line(&over, &[], FigureFormat::Standard).contains("max: 0.336, avg: >0.149 (5 samples"));
    }

    #[test]
    fn a_window_ends_with_its_length() {
        assert_eq!(window_end(15_000_000_000), " -- 15.00 seconds range\n");
    }
}
