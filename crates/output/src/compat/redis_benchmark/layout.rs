//! Prints results as redis-benchmark does, byte for byte. Each test has a page: its settings, two tables of the latency
//! distribution, and a summary. While a test runs, the progress line is redrawn four times per second, even without a
//! terminal.

#[cfg(test)]
mod tests;

pub(super) use crate::export::benchmark_csv::HEADER as CSV_HEADER;

use serde::Serialize;

use super::{
    catalogue::Test, masters::Masters, options::BenchOptions, parse::OutputFormat,
    server_config::ServerConfig,
};
use crate::{
    export::{
        benchmark_csv::{self, figures_ms},
        memtier::ms,
    },
    session::{Interval, SessionEnd, Summary},
    stats::{
        Latency,
        walks::{self, IterationPoint},
    },
};

/// The result of a test.
pub(super) struct TestReport<'a> {
    pub(super) test: &'a Test,
    pub(super) options: &'a BenchOptions,
    pub(super) config: Option<&'a ServerConfig>,
    /// The primaries of the cluster (`--cluster`).
    pub(super) masters: Option<&'a Masters>,
    /// The last record of the load, with the sum of all its intervals.
    pub(super) end: &'a SessionEnd,
    /// Requests per second in each interval of the run.
    pub(super) rates: &'a [f64],
}

impl TestReport<'_> {
    /// Returns the number of requests. An operation may consist of several requests, so there may be more requests than
    /// operations.
    fn requests(&self) -> u64 {
        self.end.summary.ops * self.test.commands
    }

    fn requests_per_s(&self) -> f64 {
        self.end.summary.ops_per_s * self.test.commands as f64
    }

    fn latency(&self) -> &Latency {
        &self.end.summary.service
    }

    /// Returns mean, minimum, p50, p95, p99 and maximum of the latency, in milliseconds.
    fn figures_ms(&self) -> [f64; 6] {
        figures_ms(self.latency())
    }

    /// Returns all lines in the requested format.
    pub(super) fn lines(&self) -> String {
        let (title, per_s) = (self.test.title.as_str(), self.requests_per_s());
        match self.options.form {
            OutputFormat::Normal => page(self),
            OutputFormat::Quiet => {
                let [_, _, p50, ..] = self.figures_ms();
                format!("{title}: {per_s:.2} requests per second, p50={p50:.3} msec\n")
            }
            OutputFormat::Csv => benchmark_csv::row(title, per_s, self.latency()),
            OutputFormat::Json => {
                let (requests, end) = (self.requests(), self.end);
                let line = TestObject { kind: "end", test: title, requests, requests_per_s: per_s, end };
                // Strings and numbers can always be encoded.
                serde_json::to_string(&line).unwrap_or_default() + "\n"
            }
        }
    }
}

/// A JSON object for a test, with the title, the number of requests, the requests per second, and the fields of a
/// session's last record.
#[derive(Serialize)]
struct TestObject<'a> {
    kind: &'a str,
    test: &'a str,
    requests: u64,
    requests_per_s: f64,
    #[serde(flatten)]
    end: &'a SessionEnd,
}

pub(super) fn page(report: &TestReport) -> String {
    let mut page = head(report) + &rates(report);
    page += "\nLatency by percentile distribution:\n";
    page += &table(report, &walks::over_percentiles(report.latency()));
    page += "\nCumulative distribution of latencies:\n";
    page += &table(report, &walks::over_values(report.latency()));
    page + &summary(report)
}

fn head(report: &TestReport) -> String {
    let TestReport { test, options, config, masters, .. } = report;
    let (requests, seconds) = (report.requests(), report.end.summary.length_s);
    let config = config.map_or_else(String::new, |ServerConfig { save, appendonly }| {
        format!("  host configuration \"save\": {save}\n  host configuration \"appendonly\": {appendonly}\n")
    });
    let config = masters.map_or(config, Masters::settings);
    let threads = match options.threads {
        0 => "no".to_owned(),
        threads => format!("yes\n  threads: {threads}"),
    };
    format!(
        "====== {} ======\n  {requests} requests completed in {seconds:.2} seconds\n  {} parallel clients\n  \
         {} bytes payload\n  keep alive: {}\n{config}  multi-thread: {threads}\n",
        test.title, options.clients, test.payload, options.keep_alive,
    )
}

fn table(report: &TestReport, levels: &[IterationPoint]) -> String {
    let line = |level: &IterationPoint| {
        let (value, count) = (ms(level.value_ns), level.count * report.test.commands);
        format!("{:.3}% <= {value:.3} milliseconds (cumulative count {count})\n", level.percent)
    };
    levels.iter().map(line).collect()
}

fn summary(report: &TestReport) -> String {
    let per_s = report.requests_per_s();
    let head = "  latency summary (msec):\n";
    format!(
        "\nSummary:\n  throughput summary: {per_s:.2} requests per second\n{head}{}",
        row(report.figures_ms())
    )
}

/// Returns two lines: the names and the values of mean, minimum, p50, p95, p99 and maximum.
fn row(figures: [f64; 6]) -> String {
    let names = ["avg", "min", "p50", "p95", "p99", "max"].map(|name| format!(" {name:>9}")).concat();
    let figures = figures.map(|figure| format!(" {figure:>9.3}")).concat();
    format!("   {names}\n   {figures}\n")
}

/// Returns the summary of the rates in the intervals of the run, if a rate was requested.
fn rates(report: &TestReport) -> String {
    let Some(rps) = report.options.rps.filter(|_| !report.rates.is_empty()) else { return String::new() };
    let mut rates = report.rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let at =
        |quantile: f64| rates[((quantile * rates.len() as f64).ceil() as usize).clamp(1, rates.len()) - 1];
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let row = row([mean, at(0.0), at(0.5), at(0.95), at(0.99), at(1.0)]);
    format!("\nRPS Summary:\n  target RPS: {:.2}\n  RPS distribution (reqs/sec):\n{row}", f64::from(rps))
}

/// The progress line.
pub(in crate::compat::redis_benchmark) struct Progress<'a> {
    test: &'a Test,
    pub(super) behind: ProgressSuffix,
    /// The length of the last line, in characters.
    drawn: usize,
    /// The sum of the warm-up's intervals.
    warm: Summary,
}

/// The text at the end of the progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compat::redis_benchmark) enum ProgressSuffix {
    Nothing,
    /// The number of requests that were sent.
    Requests,
    /// The number of seconds since the test began.
    Seconds,
}

impl<'a> Progress<'a> {
    pub(in crate::compat::redis_benchmark) fn new(test: &'a Test, behind: ProgressSuffix) -> Self {
        Self { test, behind, drawn: 0, warm: Summary::default() }
    }

    /// Returns the text that clears the progress line. The text has as many spaces as the line had characters, but at
    /// least one space.
    pub(in crate::compat::redis_benchmark) fn clear(&mut self) -> String {
        format!("{:>1$}\r", " ", std::mem::take(&mut self.drawn))
    }

    /// Returns the progress line after the interval `last`. `all` is the sum of all measured intervals.
    pub(in crate::compat::redis_benchmark) fn line(
        &mut self,
        last: &Interval,
        all: &Summary,
        is_warmup: bool,
    ) -> String {
        if is_warmup {
            self.warm.add(last, true);
        }
        let (all, before) = if is_warmup { (&self.warm, "Warming up ") } else { (all, "") };
        let Test { title, commands, .. } = self.test;
        let line = format!(
            "{before}{title}: rps={:.1} (overall: {:.1}) avg_msec={:.3} (overall: {:.3}){}",
            last.ops_per_s * *commands as f64,
            all.ops_per_s * *commands as f64,
            last.service.mean_ns() / 1e6,
            all.service.mean_ns() / 1e6,
            match self.behind {
                ProgressSuffix::Nothing if !is_warmup => String::new(),
                ProgressSuffix::Requests if !is_warmup => format!(" {} requests", all.ops * commands),
                _ => format!(" {:.1} seconds", all.length_s),
            },
        );
        let cleared = self.clear();
        self.drawn = line.chars().count();
        format!("{cleared}{line}\r")
    }
}
