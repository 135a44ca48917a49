//! The lines of the benchmarks, byte for byte: a file a form.

mod json;
mod normal;
mod progress;
mod quiet;

pub(super) use crate::export::benchmark_csv::HEADER as CSV_HEADER;
pub(super) use progress::{Behind, Progress};

use super::{asked::Form, server_config::ServerConfig};
use crate::{
    export::benchmark_csv::{self, figures_ms},
    session::End,
    stats::Latency,
};

/// What a test came to.
pub(super) struct Report<'a> {
    pub(super) title: &'a str,
    /// Requests, of which several may be one operation.
    pub(super) requests: u64,
    pub(super) requests_per_s: f64,
    pub(super) commands: u64,
    /// The sum of the load.
    pub(super) end: &'a End,
    pub(super) setting: &'a Setting,
    pub(super) payload: u64,
    /// Requests a second in each stretch of the run.
    pub(super) rates: &'a [f64],
}

/// What is the same for all tests.
pub(super) struct Setting {
    pub(super) clients: i64,
    pub(super) keep_alive: i64,
    pub(super) threads: i64,
    /// How many requests a second were asked for.
    pub(super) rps: Option<u32>,
    pub(super) config: Option<ServerConfig>,
}

impl Report<'_> {
    fn latency(&self) -> &Latency {
        &self.end.summary.service
    }

    /// Mean, least, p50, p95, p99 and greatest latency.
    fn figures_ms(&self) -> [f64; 6] {
        figures_ms(self.latency())
    }

    /// All lines in a form.
    pub(super) fn lines(&self, form: Form) -> String {
        match form {
            Form::Normal => normal::page(self),
            Form::Quiet => quiet::line(self),
            Form::Csv => benchmark_csv::row(self.title, self.requests_per_s, self.latency()),
            Form::Json => json::line(self),
        }
    }
}

/// Nanoseconds as milliseconds.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests;
