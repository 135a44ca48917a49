//! What is told, as memtier_benchmark writes it: a file a form.

mod configuration;
mod progress;
mod table;

use super::{asked::MemtierOptions, requests::Requests};
use crate::{
    endpoint::Target,
    export::memtier::{self, Json, Results},
};

pub(super) use progress::Progress;
pub(super) use table::{distribution, table};

/// Results under their title.
pub(super) struct Report<'a> {
    pub(super) title: &'a str,
    pub(super) asked: &'a MemtierOptions,
    pub(super) requests: &'a Requests,
    pub(super) results: &'a Results,
}

impl<'a> Report<'a> {
    /// The same for the writer of the JSON.
    fn exported(&self) -> memtier::Report<'a> {
        memtier::Report {
            title: self.title,
            rows: &self.requests.rows,
            results: self.results,
            percentiles: &self.asked.percentiles,
            has_distributions: !self.asked.hides_histogram,
        }
    }

    /// Whether the rows are those of commands of one's own.
    fn is_arbitrary(&self) -> bool {
        !self.asked.commands.is_empty()
    }
}

/// How long a run is, in requests or in seconds.
fn amount(asked: &MemtierOptions) -> (u64, &'static str) {
    match (asked.requests_each(), asked.test_time_s) {
        (Some(requests), _) => (requests, "Requests per client"),
        (None, seconds) => (seconds.unwrap_or_default(), "Seconds"),
    }
}

/// The JSON of all reports of a program's run.
pub(super) fn json(asked: &MemtierOptions, target: &Target, reports: &[Report]) -> Json {
    let (number, unit) = amount(asked);
    let information = vec![
        ("Threads", asked.threads.into()),
        ("Connections per thread", asked.clients.into()),
        (unit, number.into()),
    ];
    let reports: Vec<_> = reports.iter().map(Report::exported).collect();
    memtier::json(configuration::configuration(asked, target), information, &reports)
}

/// The lines above all tables.
pub(super) fn head(asked: &MemtierOptions) -> String {
    let (number, unit) = amount(asked);
    let (threads, clients) = (asked.threads, asked.clients);
    format!("{threads:<9} Threads\n{clients:<9} Connections per thread\n{number:<9} {unit}\n")
}

#[cfg(test)]
mod tests;
