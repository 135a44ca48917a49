//! Formats parts of the texts of events.

use crate::units;

pub(super) fn latency_s(s: f64) -> String {
    units::latency((s * 1e9) as u64)
}

pub(super) fn micros(us: u64) -> String {
    units::latency(us.saturating_mul(1000))
}

/// Returns a number of entries of a log: `1 more entry`, `1 991 more entries`.
pub(super) fn more_entries(entries: u64) -> String {
    format!("{} more {}", units::grouped(entries), if entries == 1 { "entry" } else { "entries" })
}

/// Returns `word` followed by `known`, or an empty text if `known` is `None`.
pub(super) fn after(word: &str, known: &Option<String>) -> String {
    known.as_ref().map_or_else(String::new, |known| format!("{word}{known}"))
}

/// Returns the value of a parameter, or two quotes if the value is empty.
pub(super) fn quoted_empty(value: &str) -> &str {
    if value.is_empty() { "\"\"" } else { value }
}

pub(super) fn ended(length_s: Option<f64>, outcome: &str) -> String {
    match length_s {
        Some(length_s) => format!("ended after {length_s:.0} s: {outcome}"),
        None => format!("began and ended between two polls: {outcome}"),
    }
}
