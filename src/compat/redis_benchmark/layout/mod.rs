//! The lines of the benchmarks, byte for byte.

mod normal;
mod progress;

use serde::Serialize;

pub(super) use crate::export::benchmark_csv::HEADER as CSV_HEADER;
pub(super) use progress::{Behind, Progress};

use super::{
    asked::{BenchOptions, Form},
    server_config::ServerConfig,
    suite::Test,
};
use crate::{
    export::benchmark_csv::{self, figures_ms},
    session::End,
    stats::Latency,
};

/// What a test came to.
pub(super) struct Report<'a> {
    pub(super) test: &'a Test,
    pub(super) asked: &'a BenchOptions,
    pub(super) config: Option<&'a ServerConfig>,
    /// The sum of the load.
    pub(super) end: &'a End,
    /// Requests a second in each stretch of the run.
    pub(super) rates: &'a [f64],
}

impl Report<'_> {
    /// Requests, of which several may be one operation.
    fn requests(&self) -> u64 {
        self.end.summary.ops * self.test.commands
    }

    fn requests_per_s(&self) -> f64 {
        self.end.summary.ops_per_s * self.test.commands as f64
    }

    fn latency(&self) -> &Latency {
        &self.end.summary.service
    }

    /// Mean, least, p50, p95, p99 and greatest latency.
    fn figures_ms(&self) -> [f64; 6] {
        figures_ms(self.latency())
    }

    /// All lines in the form that is asked for.
    pub(super) fn lines(&self) -> String {
        let (title, per_s) = (self.test.title.as_str(), self.requests_per_s());
        match self.asked.form {
            Form::Normal => normal::page(self),
            Form::Quiet => {
                let [_, _, p50, ..] = self.figures_ms();
                format!("{title}: {per_s:.2} requests per second, p50={p50:.3} msec\n")
            }
            Form::Csv => benchmark_csv::row(title, per_s, self.latency()),
            Form::Json => {
                let (requests, end) = (self.requests(), self.end);
                let line = TestObject { kind: "end", test: title, requests, requests_per_s: per_s, end };
                // Strings and numbers can always be encoded.
                serde_json::to_string(&line).unwrap_or_default() + "\n"
            }
        }
    }
}

/// A JSON object a test: its title, requests and how many a second, and the last record of a session.
#[derive(Serialize)]
struct TestObject<'a> {
    kind: &'a str,
    test: &'a str,
    requests: u64,
    requests_per_s: f64,
    #[serde(flatten)]
    end: &'a End,
}

/// Nanoseconds as milliseconds.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests;
