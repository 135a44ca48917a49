//! A line a test.

use super::Report;

pub(super) fn line(report: &Report) -> String {
    let [_, _, p50, ..] = report.figures_ms();
    format!("{}: {:.2} requests per second, p50={p50:.3} msec\n", report.title, report.requests_per_s)
}
