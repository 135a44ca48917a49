//! Prints results as memtier_benchmark does. The progress line is redrawn each second, even without a terminal. The
//! table of a run has a row for each command, and a row for all commands. Below the table are the latency distributions
//! of the rows.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use super::{
    configuration::configuration, import::Verification, options::MemtierOptions, requests::RunRequests,
};
use crate::{
    endpoint::Target,
    export::memtier::{self, JsonValue, Results, STEPS, kib, ms, plural},
    load::Retries,
    session::{Interval, Summary},
    stats::{
        Latency,
        walks::{IterationPoint, percentile_steps},
    },
};

/// The results of one or several runs, with their title.
pub(super) struct MemtierReport<'a> {
    pub(super) title: &'a str,
    pub(super) options: &'a MemtierOptions,
    pub(super) requests: &'a RunRequests,
    pub(super) results: &'a Results,
}

impl<'a> MemtierReport<'a> {
    /// Returns this report in the form that the JSON export reads.
    fn exported(&self) -> memtier::TitledResults<'a> {
        memtier::TitledResults {
            title: self.title,
            rows: &self.requests.rows,
            results: self.results,
            percentiles: &self.options.percentiles,
            has_transactions: self.options.is_transaction,
            has_distributions: !self.options.hides_histogram,
            more: self.options.clients_start.map(|_| ("Active Clients", self.active_clients())),
        }
    }

    /// Returns the number of clients in each second of a staircase. In a staircase, clients are added in steps during
    /// the run.
    fn active_clients(&self) -> JsonValue {
        let of_second = |second: u64| {
            let clients = self.options.clients_at(second);
            let all = u64::from(clients) * u64::from(self.options.threads);
            (
                second.to_string(),
                vec![("Clients per thread", clients.into()), ("Total clients", all.into())].into(),
            )
        };
        JsonValue::Object(self.results.seconds().into_iter().map(of_second).collect())
    }

    /// Returns whether the rows are commands given by the user.
    pub(super) fn is_arbitrary(&self) -> bool {
        !self.options.commands.is_empty()
    }
}

/// Returns the length of a run and its unit. The unit is requests per client, or seconds.
fn amount(options: &MemtierOptions) -> (u64, &'static str) {
    match (options.requests_per_client(), options.test_time_s) {
        (Some(requests), _) => (requests, "Requests per client"),
        (None, seconds) => (seconds.unwrap_or_default(), "Seconds"),
    }
}

/// Returns all reports of the program as JSON.
pub(super) fn json(
    options: &MemtierOptions,
    target: &Target,
    reports: &[MemtierReport],
    verified: Option<&Verification>,
) -> JsonValue {
    let (number, unit) = amount(options);
    let information = vec![
        ("Threads", options.threads.into()),
        ("Connections per thread", options.clients.into()),
        (unit, number.into()),
    ];
    let reports: Vec<_> = reports.iter().map(MemtierReport::exported).collect();
    let mut json = memtier::json(configuration(options, target), information, &reports);
    if let (Some(verified), JsonValue::Object(fields)) = (verified, &mut json) {
        let mut counts =
            vec![("keys verified successfuly", verified.good.into()), ("keys failed", verified.bad.into())];
        counts.extend((verified.left > 0).then(|| ("keys not read back", (verified.left as u64).into())));
        fields.push(("client verifications results".to_owned(), counts.into()));
    }
    json
}

/// Returns results with their titles. A single run has one result. For several runs, the results are those of the best
/// run, of the worst run, and of all runs together. With `--print-all-runs`, the results of each run come first.
pub(super) fn results_with_titles<'a>(
    options: &MemtierOptions,
    runs: &'a [Results],
    together: &'a Results,
) -> Vec<(String, &'a Results)> {
    let [first, _, ..] = runs else {
        return runs.iter().map(|only| ("ALL STATS".to_owned(), only)).collect();
    };
    let all = runs.iter().enumerate().filter(|_| options.prints_all_runs);
    let mut titled: Vec<_> = all.map(|(n, run)| (format!("RUN #{} RESULTS", n + 1), run)).collect();
    let ops_per_s = |run: &Results| run.per_s(run.totals.in_rate.ops);
    // Of equal runs, the first counts.
    let better = |best: &'a Results, run| if ops_per_s(run) > ops_per_s(best) { run } else { best };
    let worse = |worst: &'a Results, run| if ops_per_s(run) < ops_per_s(worst) { run } else { worst };
    titled.push(("BEST RUN RESULTS".to_owned(), runs.iter().fold(first, better)));
    titled.push(("WORST RUN RESULTS".to_owned(), runs.iter().fold(first, worse)));
    titled.push((format!("AGGREGATED AVERAGE RESULTS ({} runs)", runs.len()), together));
    titled
}

/// Returns the lines above the tables.
pub(super) fn head(options: &MemtierOptions) -> String {
    let (number, unit) = amount(options);
    let (threads, clients) = (options.threads, options.clients);
    format!("{threads:<9} Threads\n{clients:<9} Connections per thread\n{number:<9} {unit}\n")
}

/// The length at which a sum of intervals counts as a full second, in seconds. Each interval can be slightly shorter than its nominal length.
const SECOND: f64 = 0.95;

/// The progress of a run.
pub(in crate::compat::memtier) struct Progress<'a> {
    run: u32,
    options: &'a MemtierOptions,
    all: Summary,
    /// The sums of the last second.
    last: Summary,
    /// The counts of requests that redyno sent again.
    retries: Option<Arc<Retries>>,
}

impl<'a> Progress<'a> {
    /// Creates the progress of the run with this number, from 1.
    pub(in crate::compat::memtier) fn new(
        run: u32,
        options: &'a MemtierOptions,
        retries: Option<Arc<Retries>>,
    ) -> Self {
        Self { run, options, all: Summary::default(), last: Summary::default(), retries }
    }

    /// Adds an interval. Returns whether this interval completes a second.
    pub(in crate::compat::memtier) fn add(&mut self, interval: &Interval) -> bool {
        if self.last.length_s >= SECOND {
            self.last = Summary::default();
        }
        self.all.add(interval, true);
        self.last.add(interval, true);
        self.last.length_s >= SECOND
    }

    /// Returns the time under load in this run, in seconds.
    pub(in crate::compat::memtier) fn length_s(&self) -> f64 {
        self.all.length_s
    }

    fn percent(&self) -> f64 {
        match (self.options.total_requests(), self.options.test_time_s) {
            (Some(requests), _) => 100.0 * self.all.ops as f64 / requests.max(1) as f64,
            (None, Some(seconds)) => 100.0 * self.all.length_s / seconds as f64,
            (None, None) => 0.0,
        }
    }

    fn connection_errors(&self) -> u64 {
        self.all.connections_lost.values().chain(self.all.connects_failed.values()).sum()
    }

    /// Returns the metrics of the current second for StatsD: their names, values and types.
    pub(in crate::compat::memtier) fn metrics(&self, is_over: bool) -> Vec<String> {
        let (all, last) = (&self.all, &self.last);
        let connections = match is_over {
            true => 0,
            false => {
                u64::from(self.options.clients_at(all.length_s as u64)) * u64::from(self.options.threads)
            }
        };
        let mut metrics = vec![
            format!("ops_sec:{:.0}|g", per_s(last, last.ops).floor()),
            format!("ops_sec_avg:{:.0}|g", per_s(all, all.ops).floor()),
            format!("bytes_sec:{:.0}|g", per_s(last, last.bytes_in + last.bytes_out).floor()),
            format!("bytes_sec_avg:{:.0}|g", per_s(all, all.bytes_in + all.bytes_out).floor()),
            format!("latency_ms:{:.3}|ms", last.service.mean_ns() / 1e6),
            format!("latency_avg_ms:{:.3}|ms", all.service.mean_ns() / 1e6),
            format!("connections:{connections}|g"),
            format!("progress_pct:{:.6}|g", self.percent()),
        ];
        match self.connection_errors() {
            0 => {}
            n => metrics.push(format!("connection_errors:{n}|g")),
        }
        if !is_over && !last.service.is_empty() {
            metrics.extend(self.options.percentiles.iter().map(|percentile| {
                let name = percentile.to_string().replace('.', "_");
                let value_ns = last.service.value_at_percent(*percentile);
                format!("latency_p{name}:{:.6}|g", value_ns as f64 / 1e6)
            }));
        }
        metrics
    }

    /// Returns the current progress line.
    pub(in crate::compat::memtier) fn line(&self) -> String {
        let (all, last, percent) = (&self.all, &self.last, self.percent());
        let errors = match self.connection_errors() {
            0 => String::new(),
            n => format!(" {n} conn errors"),
        };
        let sum = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
        let retries = self.retries.as_ref().map_or_else(String::new, |retries| {
            let [errors, new_errors] = [all, last].map(|of| sum(&of.errors));
            let [attempts, new_attempts] = [all, last].map(|of| sum(&of.redirects));
            let retried = retries.requests();
            format!(
                " errors {errors} (+{new_errors}) retries {attempts} (+{new_attempts}) retried_ops {retried}"
            )
        });
        let (run, threads, clients) = (self.run, self.options.threads, self.options.clients);
        format!(
            "[RUN #{run} {percent:.0}%, {:>3} secs] {threads:>2} threads {clients:>2} conns{errors}: {:>11} ops, {:>7.0} \
             (avg: {:>7.0}) ops/sec, {}/sec (avg: {}/sec), {:>5.2} (avg: {:>5.2}) msec latency{retries}\r",
            all.length_s as u64,
            all.ops,
            per_s(last, last.ops),
            per_s(all, all.ops),
            size(per_s(last, last.bytes_in + last.bytes_out)),
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
/// The width of a column of rates.
const RATE: usize = 12;
/// The width of a column of latencies.
const LATENCY: usize = 15;

/// A cell: its text and the width of its column.
type TextCell = (String, usize);

/// Returns the table: its title, columns and rows.
pub(in crate::compat::memtier) fn table(report: &MemtierReport) -> String {
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

fn line(name: &str, first: usize, cells: &[TextCell]) -> String {
    let cells: String = cells.iter().map(|(text, width)| format!("{text:>width$} ")).collect();
    format!("{name:<first$} {cells}\n")
}

fn table_head(report: &MemtierReport) -> Vec<TextCell> {
    let rates: &[&str] =
        if report.is_arbitrary() { &["Ops/sec"] } else { &["Ops/sec", "Hits/sec", "Misses/sec"] };
    let redirected = report.results.redirected().map(|(name, _)| name);
    let aborts = report.options.is_transaction.then_some("Aborts/sec");
    let rates = rates.iter().copied().chain(aborts).chain(redirected).map(|name| (name.to_owned(), RATE));
    let percentiles =
        report.options.percentiles.iter().map(|percentile| format!("p{} Latency", digits(*percentile)));
    let latencies = ["Avg. Latency".to_owned()].into_iter().chain(percentiles).map(|name| (name, LATENCY));
    rates.chain(latencies).chain([("KB/sec".to_owned(), RATE)]).collect()
}

/// Returns a percentile with at most three decimals. The number of decimals is computed as in memtier_benchmark: 99.99
/// is `99.990`.
fn digits(percentile: f64) -> String {
    let (mut rest, mut decimals) = ((percentile as f32).fract(), 0);
    while rest > 0.001 && decimals < 3 {
        (rest, decimals) = ((rest * 10.0).fract(), decimals + 1);
    }
    format!("{percentile:.decimals$}")
}

/// Returns the figures of the row with the index `place`, or the figures of all rows together.
fn row(report: &MemtierReport, place: Option<usize>) -> Vec<TextCell> {
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
    if report.options.is_transaction {
        cells.push((report.exported().aborts(place).map_or_else(|| NONE.to_owned(), rate), RATE));
    }
    // Redirects are only counted for all rows together.
    let redirected = |(_, n)| if place.is_none() { rate(n) } else { NONE.to_owned() };
    cells.extend(results.redirected().map(redirected).map(|text| (text, RATE)));
    // memtier_benchmark leaves a row without requests empty, except for commands given by the user.
    let is_empty = part.service.is_empty() && place.is_some() && !report.is_arbitrary();
    let latency = |ms: f64| (if is_empty { NONE.to_owned() } else { format!("{ms:.5}") }, LATENCY);
    cells.extend(latencies(&part.service, &report.options.percentiles).map(latency));
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
    let at = |percentile: &f64| ms(latency.value_at_percent(*percentile));
    [latency.mean_ns() / 1e6].into_iter().chain(percentiles.iter().map(at))
}

/// Returns the latency distribution of each row. A distribution has latencies, and for each latency the percentage of
/// requests that take at most this time.
pub(in crate::compat::memtier) fn distribution(report: &MemtierReport) -> String {
    let rule = "-".repeat(72);
    let head = format!(
        "\n\nRequest Latency Distribution\n{:<6} {:>12} {:>12}\n{rule}\n",
        "Type", "<= msec   ", "Percent"
    );
    let rows = report.requests.rows.iter().zip(&report.results.rows).map(|(name, row)| {
        let levels = percentile_steps(&row.all.service, STEPS);
        let line = |level: &IterationPoint| {
            format!("{name:<6} {:>8.3} {:>12.3}\n", ms(level.value_ns), level.percent)
        };
        levels.iter().map(line).collect::<String>()
    });
    // memtier_benchmark prints no separator after the last of the usual rows.
    let between = |(place, text): (usize, String)| {
        let is_last = place + 1 == report.requests.rows.len() && !report.is_arbitrary();
        if is_last { text } else { text + "---\n" }
    };
    head + &rows.enumerate().map(between).collect::<String>()
}
