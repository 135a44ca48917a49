//! What is told, as memtier_benchmark writes it: a file a form.

mod distribution;
mod json;
mod progress;
mod table;

use super::{asked::Asked, requests::Requests, results::Results};

pub(super) use distribution::distribution;
pub(super) use json::json;
pub(super) use progress::Progress;
pub(super) use table::table;

/// Results under their title.
pub(super) struct Report<'a> {
    pub(super) title: &'a str,
    pub(super) asked: &'a Asked,
    pub(super) requests: &'a Requests,
    pub(super) results: &'a Results,
}

impl Report<'_> {
    /// A row by its command, `SET`, as the table calls it: `Sets`.
    fn plural(name: &str) -> String {
        let mut letters = name.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        first + &letters.as_str().to_lowercase() + "s"
    }

    /// Whether the rows are those of commands of one's own.
    fn is_arbitrary(&self) -> bool {
        !self.asked.commands.is_empty()
    }
}

/// How long a run is, in requests or in seconds.
fn amount(asked: &Asked) -> (u64, &'static str) {
    match (asked.requests_each(), asked.test_time_s) {
        (Some(requests), _) => (requests, "Requests per client"),
        (None, seconds) => (seconds.unwrap_or_default(), "Seconds"),
    }
}

/// The lines above all tables.
pub(super) fn head(asked: &Asked) -> String {
    let (number, unit) = amount(asked);
    let (threads, clients) = (asked.threads, asked.clients);
    format!("{threads:<9} Threads\n{clients:<9} Connections per thread\n{number:<9} {unit}\n")
}

/// Nanoseconds as milliseconds.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Bytes as KiB, which memtier_benchmark calls KB.
fn kib(bytes: f64) -> f64 {
    bytes / 1024.0
}

#[cfg(test)]
mod tests;
