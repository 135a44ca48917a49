//! A JSON object a test: its title, and the last record of a session.

use serde::Serialize;

use super::Report;
use crate::session::End;

#[derive(Serialize)]
struct Line<'a> {
    kind: &'a str,
    test: &'a str,
    /// Requests, and how many a second.
    requests: u64,
    requests_per_s: f64,
    #[serde(flatten)]
    end: &'a End,
}

pub(super) fn line(report: &Report) -> String {
    let Report { title: test, requests, requests_per_s, end, .. } = *report;
    let line = Line { kind: "end", test, requests, requests_per_s, end };
    // Strings and numbers can always be encoded.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}
