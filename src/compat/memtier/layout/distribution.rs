//! The distribution of latencies by row.

use super::Report;
use crate::{
    export::memtier::{STEPS, ms},
    stats::walks::percentile_steps,
};

/// The latencies up to which so many percent of a row's requests are, row after row.
pub(in crate::compat::memtier) fn distribution(report: &Report) -> String {
    let rule = "-".repeat(72);
    let head = format!(
        "\n\nRequest Latency Distribution\n{:<6} {:>12} {:>12}\n{rule}\n",
        "Type", "<= msec   ", "Percent"
    );
    let rows = report.requests.rows.iter().zip(&report.results.rows).map(|(name, row)| {
        let levels = percentile_steps(&row.all.latency, STEPS);
        let line = |level: &crate::stats::walks::Level| {
            format!("{name:<6} {:>8.3} {:>12.3}\n", ms(level.value_ns), level.percent)
        };
        levels.iter().map(line).collect::<String>()
    });
    // Theirs has none behind the last of the usual rows.
    let between = |(place, text): (usize, String)| {
        let is_last = place + 1 == report.requests.rows.len() && !report.is_arbitrary();
        if is_last { text } else { text + "---\n" }
    };
    head + &rows.enumerate().map(between).collect::<String>()
}
