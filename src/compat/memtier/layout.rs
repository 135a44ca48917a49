//! memtier_benchmark's output. The configuration shows an option that redyno lacks with its default, and contains no
//! passwords and no URIs, which may contain a password. The progress line is redrawn each second, also without a
//! terminal. The table of a run has a row for each command and one for all. Below the table, each row has its
//! distribution of latencies.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::{
    asked::{MemtierOptions, Pattern},
    requests::Requests,
};
use crate::{
    compat::{
        numbers::{Ratio, Span},
        server::place,
    },
    endpoint::{Address, Target, Trust},
    export::memtier::{self, Json, Results, STEPS, kib, ms, plural, truth},
    session::{Interval, Summary},
    stats::{
        Latency,
        walks::{Level, percentile_steps},
    },
};

/// The results with their title.
pub(super) struct Report<'a> {
    pub(super) title: &'a str,
    pub(super) asked: &'a MemtierOptions,
    pub(super) requests: &'a Requests,
    pub(super) results: &'a Results,
}

impl<'a> Report<'a> {
    /// Returns this report for the writer of the JSON.
    fn exported(&self) -> memtier::Report<'a> {
        memtier::Report {
            title: self.title,
            rows: &self.requests.rows,
            results: self.results,
            percentiles: &self.asked.percentiles,
            has_distributions: !self.asked.hides_histogram,
        }
    }

    /// Returns whether the rows are commands given by the user.
    fn is_arbitrary(&self) -> bool {
        !self.asked.commands.is_empty()
    }
}

/// Returns the length of a run, in requests or in seconds.
fn amount(asked: &MemtierOptions) -> (u64, &'static str) {
    match (asked.requests_each(), asked.test_time_s) {
        (Some(requests), _) => (requests, "Requests per client"),
        (None, seconds) => (seconds.unwrap_or_default(), "Seconds"),
    }
}

/// Returns the JSON of all reports of a program's run.
pub(super) fn json(asked: &MemtierOptions, target: &Target, reports: &[Report]) -> Json {
    let (number, unit) = amount(asked);
    let information = vec![
        ("Threads", asked.threads.into()),
        ("Connections per thread", asked.clients.into()),
        (unit, number.into()),
    ];
    let reports: Vec<_> = reports.iter().map(Report::exported).collect();
    memtier::json(configuration(asked, target), information, &reports)
}

/// Returns the lines above the tables.
pub(super) fn head(asked: &MemtierOptions) -> String {
    let (number, unit) = amount(asked);
    let (threads, clients) = (asked.threads, asked.clients);
    format!("{threads:<9} Threads\n{clients:<9} Connections per thread\n{number:<9} {unit}\n")
}

type Fields = Vec<(&'static str, Json)>;

/// Returns the whole configuration.
pub(super) fn configuration(asked: &MemtierOptions, target: &Target) -> Json {
    [connection(asked, target), load(asked), objects(asked), others(asked)].concat().into()
}

fn path(path: Option<&PathBuf>) -> Json {
    path.map_or_else(String::new, |path| path.display().to_string()).into()
}

fn ratio(ratio: Option<Ratio>) -> Json {
    ratio.map_or("0:0".to_owned(), |ratio| format!("{}:{}", ratio.a, ratio.b)).into()
}

fn span(span: Option<Span>, between: char) -> Json {
    span.map_or(format!("0{between}0"), |span| format!("{}{between}{}", span.min, span.max)).into()
}

fn connection(asked: &MemtierOptions, target: &Target) -> Fields {
    let (server, port, socket) = match &target.address {
        Address::Tcp { host, port } => (host.clone(), u32::from(*port), String::new()),
        Address::Unix(_) | Address::Service(_) => (String::new(), 0, place(target)),
    };
    let cacert = match &asked.server.tls.trust {
        Trust::These { file, .. } => file.as_ref(),
        Trust::System | Trust::Anybody => None,
    };
    vec![
        ("server", server.into()),
        ("port", port.into()),
        ("unix socket", socket.into()),
        ("address family", "Unspecified".into()),
        ("protocol", asked.protocol.name().into()),
        ("out_file", path(asked.out_file.as_ref())),
        ("tls", truth(target.tls.is_some())),
        ("cert", path(asked.server.certificate.as_ref())),
        ("key", path(asked.server.key.as_ref())),
        ("cacert", path(cacert)),
        ("tls_skip_verify", truth(matches!(asked.server.tls.trust, Trust::Anybody))),
        ("sni", asked.server.tls.server_name.clone().unwrap_or_default().into()),
    ]
}

fn load(asked: &MemtierOptions) -> Fields {
    vec![
        ("client_stats", "".into()),
        ("run_count", asked.run_count.into()),
        ("debug", 0_u32.into()),
        ("requests", asked.requests_each().unwrap_or(0).into()),
        ("rate_limit", asked.rate.unwrap_or(0).into()),
        ("clients", asked.clients.into()),
        ("threads", asked.threads.into()),
        ("test_time", asked.test_time_s.unwrap_or(0).into()),
        ("ratio", ratio(Some(asked.ratio()))),
        ("pipeline", asked.pipeline.into()),
    ]
}

fn objects(asked: &MemtierOptions) -> Fields {
    let sizes = asked.data_size_list.iter().flatten().map(|(size, weight)| format!("{size}:{weight}"));
    let [set, get] = asked.patterns().map(Pattern::letter);
    let has_sizes = asked.data_size_list.is_some() || asked.data_size_range.is_some();
    let size = asked.data_size.unwrap_or(if has_sizes { 0 } else { 32 });
    vec![
        ("data_size", size.into()),
        ("data_offset", 0_u32.into()),
        ("random_data", truth(asked.is_data_random)),
        ("data_size_range", span(asked.data_size_range, ':')),
        ("data_size_list", sizes.collect::<Vec<_>>().join(",").into()),
        ("data_size_pattern", "R".into()),
        ("expiry_range", span(asked.expiry_range, ':')),
        ("data_import", "".into()),
        ("data_verify", truth(false)),
        ("verify_only", truth(false)),
        ("generate_keys", truth(false)),
        ("key_prefix", asked.key_prefix.clone().into()),
        ("key_minimum", asked.key_minimum.into()),
        ("key_maximum", asked.key_maximum.into()),
        ("key_pattern", format!("{set}:{get}").into()),
        ("key_stddev", Json::Decimal(asked.key_stddev.unwrap_or(0.0))),
        ("key_median", Json::Decimal(asked.key_median.unwrap_or(0.0))),
        ("key_zipf_exp", Json::Decimal(asked.key_zipf_exp.unwrap_or(0.0))),
    ]
}

fn others(asked: &MemtierOptions) -> Fields {
    vec![
        ("reconnect_interval", asked.reconnect_interval.unwrap_or(0).into()),
        ("connection_timeout", asked.connection_timeout_s.into()),
        ("thread_conn_start_min_jitter_micros", 0_u32.into()),
        ("thread_conn_start_max_jitter_micros", 0_u32.into()),
        ("multi_key_get", asked.multi_key_get.into()),
        ("select-db", (asked.server.db as u64).into()),
        ("no-expiry", truth(false)),
        ("wait-ratio", ratio(asked.wait_ratio)),
        ("num-slaves", span(asked.num_slaves, ':')),
        ("wait-timeout", span(asked.wait_timeout, '-')),
        ("print-all-runs", truth(asked.prints_all_runs)),
    ]
}

/// The progress of a run.
pub(in crate::compat::memtier) struct Progress<'a> {
    run: u32,
    asked: &'a MemtierOptions,
    all: Summary,
    /// The sums since the last progress line.
    last: Summary,
}

impl<'a> Progress<'a> {
    /// Creates the progress of the run with this number, from 1.
    pub(in crate::compat::memtier) fn new(run: u32, asked: &'a MemtierOptions) -> Self {
        Self { run, asked, all: Summary::default(), last: Summary::default() }
    }

    /// Adds an interval; returns the line, if a second has passed since the last one.
    pub(in crate::compat::memtier) fn add(&mut self, interval: &Interval) -> Option<String> {
        self.all.add(interval, true);
        self.last.add(interval, true);
        (self.last.length_s >= 1.0).then(|| self.line())
    }

    /// Returns how long the run has been under load, in seconds.
    pub(in crate::compat::memtier) fn length_s(&self) -> f64 {
        self.all.length_s
    }

    /// Returns the present line.
    pub(in crate::compat::memtier) fn line(&mut self) -> String {
        let (all, last) = (&self.all, std::mem::take(&mut self.last));
        let percent = match (self.asked.requests_in_all(), self.asked.test_time_s) {
            (Some(requests), _) => 100.0 * all.ops as f64 / requests.max(1) as f64,
            (None, Some(seconds)) => 100.0 * all.length_s / seconds as f64,
            (None, None) => 0.0,
        };
        let lost = all.connections_lost.values().chain(all.connects_failed.values());
        let errors = match lost.sum::<u64>() {
            0 => String::new(),
            n => format!(" {n} conn errors"),
        };
        let (run, threads, clients) = (self.run, self.asked.threads, self.asked.clients);
        format!(
            "[RUN #{run} {percent:.0}%, {:>3} secs] {threads:>2} threads {clients:>2} conns{errors}: {:>11} ops, {:>7.0} \
             (avg: {:>7.0}) ops/sec, {}/sec (avg: {}/sec), {:>5.2} (avg: {:>5.2}) msec latency\r",
            all.length_s as u64,
            all.ops,
            per_s(&last, last.ops),
            per_s(all, all.ops),
            size(per_s(&last, last.bytes_in + last.bytes_out)),
            size(per_s(all, all.bytes_in + all.bytes_out)),
            last.service.mean_ns() / 1e6,
            all.service.mean_ns() / 1e6,
        )
    }
}

/// Returns `count` divided by the time of a sum, as a rate per second.
fn per_s(sum: &Summary, count: u64) -> f64 {
    if sum.length_s > 0.0 { count as f64 / sum.length_s } else { 0.0 }
}

/// Returns bytes in memtier_benchmark's format.
fn size(bytes: f64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    let (unit, shift) =
        units.into_iter().find(|(_, shift)| bytes >= f64::from(1 << shift)).unwrap_or(("KB", 10));
    format!("{:.2}{unit}", bytes / f64::from(1 << shift))
}

/// The sign for a missing figure.
const NONE: &str = "---";
/// The width of a column of rates, and of one of latencies.
const RATE: usize = 12;
const LATENCY: usize = 15;

/// A cell: its text and the width of its column.
type Cell = (String, usize);

/// Returns the title, columns and rows.
pub(in crate::compat::memtier) fn table(report: &Report) -> String {
    let names = report.requests.rows.iter().map(|name| plural(name));
    let longest = report.requests.rows.iter().map(String::len).max().unwrap_or(0);
    let first = longest.max(6) + 1;
    let head = table_head(report);
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

fn table_head(report: &Report) -> Vec<Cell> {
    let rates: &[&str] =
        if report.is_arbitrary() { &["Ops/sec"] } else { &["Ops/sec", "Hits/sec", "Misses/sec"] };
    let redirected = report.results.redirected().map(|(name, _)| name);
    let rates = rates.iter().copied().chain(redirected).map(|name| (name.to_owned(), RATE));
    let percentiles =
        report.asked.percentiles.iter().map(|percentile| format!("p{} Latency", digits(*percentile)));
    let latencies = ["Avg. Latency".to_owned()].into_iter().chain(percentiles).map(|name| (name, LATENCY));
    rates.chain(latencies).chain([("KB/sec".to_owned(), RATE)]).collect()
}

/// Returns a percentile with the decimals that it needs, at most three.
fn digits(percentile: f64) -> String {
    let text = format!("{percentile:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the figures of a row, or of all rows.
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
    // The redirects of each row are not counted.
    let redirected = |(_, n)| if place.is_none() { rate(n) } else { NONE.to_owned() };
    cells.extend(results.redirected().map(redirected).map(|text| (text, RATE)));
    // memtier_benchmark leaves a row without requests empty, except for commands given by the user.
    let is_empty = part.service.is_empty() && place.is_some() && !report.is_arbitrary();
    let latency = |ms: f64| (if is_empty { NONE.to_owned() } else { format!("{ms:.5}") }, LATENCY);
    cells.extend(latencies(&part.service, &report.asked.percentiles).map(latency));
    let bytes = if is_usual("WAIT") {
        NONE.to_owned()
    } else {
        format!("{:.2}", kib(report.results.per_s(in_rate.bytes_in + in_rate.bytes_out)))
    };
    cells.push((bytes, RATE));
    cells
}

/// Returns the mean and these percentiles in milliseconds.
fn latencies(latency: &Latency, percentiles: &[f64]) -> impl Iterator<Item = f64> {
    let at = |percentile: &f64| ms(latency.value_at_quantile(percentile / 100.0));
    [latency.mean_ns() / 1e6].into_iter().chain(percentiles.iter().map(at))
}

/// Returns the distribution of each row: latencies, and the percentage of requests that take at most that long.
pub(in crate::compat::memtier) fn distribution(report: &Report) -> String {
    let rule = "-".repeat(72);
    let head = format!(
        "\n\nRequest Latency Distribution\n{:<6} {:>12} {:>12}\n{rule}\n",
        "Type", "<= msec   ", "Percent"
    );
    let rows = report.requests.rows.iter().zip(&report.results.rows).map(|(name, row)| {
        let levels = percentile_steps(&row.all.service, STEPS);
        let line = |level: &Level| format!("{name:<6} {:>8.3} {:>12.3}\n", ms(level.value_ns), level.percent);
        levels.iter().map(line).collect::<String>()
    });
    // memtier_benchmark prints no separator after the last of the usual rows.
    let between = |(place, text): (usize, String)| {
        let is_last = place + 1 == report.requests.rows.len() && !report.is_arbitrary();
        if is_last { text } else { text + "---\n" }
    };
    head + &rows.enumerate().map(between).collect::<String>()
}
