//! The table of a run: a row a command, and one for all; and the distribution of latencies by row.

use super::Report;
use crate::{
    export::memtier::{Counts, STEPS, kib, ms, plural},
    stats::{
        Latency,
        walks::{Level, percentile_steps},
    },
};

/// Where there is no figure.
const NONE: &str = "---";
/// Width of a column of rates, and of one of latencies.
const RATE: usize = 12;
const LATENCY: usize = 15;

/// A cell: its text and the width of its column.
type Cell = (String, usize);

/// Title, columns and rows.
pub(in crate::compat::memtier) fn table(report: &Report) -> String {
    let names = report.requests.rows.iter().map(|name| plural(name));
    let longest = report.requests.rows.iter().map(String::len).max().unwrap_or(0);
    let first = longest.max(6) + 1;
    let head = head(report);
    let width = first + 1 + head.iter().map(|(_, width)| width + 1).sum::<usize>();
    let mut text = format!("\n\n{}\n{}\n", report.title, "=".repeat(width));
    text += &line("Type", first, &head);
    text += &("-".repeat(width) + "\n");
    for (place, name) in names.enumerate() {
        text += &line(&name, first, &row(report, Some(place)));
    }
    text + &line("Totals", first, &row(report, None))
}

fn line(name: &str, first: usize, cells: &[Cell]) -> String {
    let cells: String = cells.iter().map(|(text, width)| format!("{text:>width$} ")).collect();
    format!("{name:<first$} {cells}\n")
}

fn head(report: &Report) -> Vec<Cell> {
    let rates: &[&str] =
        if report.is_arbitrary() { &["Ops/sec"] } else { &["Ops/sec", "Hits/sec", "Misses/sec"] };
    let rates = rates.iter().map(|name| ((*name).to_owned(), RATE));
    let percentiles =
        report.asked.percentiles.iter().map(|percentile| format!("p{} Latency", digits(*percentile)));
    let latencies = ["Avg. Latency".to_owned()].into_iter().chain(percentiles).map(|name| (name, LATENCY));
    rates.chain(latencies).chain([("KB/sec".to_owned(), RATE)]).collect()
}

/// A percentile with as many decimals as it has, three at the most.
fn digits(percentile: f64) -> String {
    let text = format!("{percentile:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The figures of the row at a place, or of all.
fn row(report: &Report, place: Option<usize>) -> Vec<Cell> {
    let results = report.results;
    let sums = place.map_or(&results.totals, |place| &results.rows[place]);
    let (part, in_rate) = (&sums.all, &sums.in_rate);
    let rate = |n: u64| format!("{:.2}", results.per_s(n));
    let is_usual =
        |name: &str| !report.is_arbitrary() && place.is_some_and(|place| report.requests.rows[place] == name);
    let mut cells = vec![(rate(in_rate.ops), RATE)];
    if !report.is_arbitrary() {
        let has_misses = place.is_none() || is_usual("GET");
        let found =
            [in_rate.hits, in_rate.misses].map(|n| if has_misses { rate(n) } else { NONE.to_owned() });
        cells.extend(found.map(|text| (text, RATE)));
    }
    // Theirs leaves a row empty that has none, but not where the commands are one's own.
    let is_empty = part.latency.is_empty() && place.is_some() && !report.is_arbitrary();
    let latency = |ms: f64| (if is_empty { NONE.to_owned() } else { format!("{ms:.5}") }, LATENCY);
    cells.extend(latencies(&part.latency, &report.asked.percentiles).map(latency));
    let bytes =
        if is_usual("WAIT") { NONE.to_owned() } else { format!("{:.2}", kib(bytes_per_s(report, in_rate))) };
    cells.push((bytes, RATE));
    cells
}

/// The mean and these percentiles in milliseconds.
fn latencies(latency: &Latency, percentiles: &[f64]) -> impl Iterator<Item = f64> {
    let at = |percentile: &f64| ms(latency.value_at_quantile(percentile / 100.0));
    [latency.mean_ns() / 1e6].into_iter().chain(percentiles.iter().map(at))
}

/// Bytes read and written in a second.
fn bytes_per_s(report: &Report, part: &Counts) -> f64 {
    report.results.per_s(part.bytes_in + part.bytes_out)
}

/// The latencies up to which so many percent of a row's requests are, row after row.
pub(in crate::compat::memtier) fn distribution(report: &Report) -> String {
    let rule = "-".repeat(72);
    let head = format!(
        "\n\nRequest Latency Distribution\n{:<6} {:>12} {:>12}\n{rule}\n",
        "Type", "<= msec   ", "Percent"
    );
    let rows = report.requests.rows.iter().zip(&report.results.rows).map(|(name, row)| {
        let levels = percentile_steps(&row.all.latency, STEPS);
        let line = |level: &Level| format!("{name:<6} {:>8.3} {:>12.3}\n", ms(level.value_ns), level.percent);
        levels.iter().map(line).collect::<String>()
    });
    // Theirs has none behind the last of the usual rows.
    let between = |(place, text): (usize, String)| {
        let is_last = place + 1 == report.requests.rows.len() && !report.is_arbitrary();
        if is_last { text } else { text + "---\n" }
    };
    head + &rows.enumerate().map(between).collect::<String>()
}
