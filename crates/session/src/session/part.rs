//! Common functions for parts of records: empty values are left out of a line, and counts and times are added.

use std::collections::BTreeMap;

use crate::stats::Latency;

/// Returns whether a value is left out of a line: zero counts, zero seconds, the first node.
pub(super) fn is_nothing<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// Adds optional times to optional times.
pub(super) fn merge_some(into: &mut Option<Latency>, from: Option<&Latency>) {
    if let Some(from) = from {
        into.get_or_insert_default().merge(from);
    }
}

/// Adds counts by kind to counts by kind.
pub fn add_counts(into: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    from.iter().for_each(|(kind, n)| add_count(into, kind, *n));
}

/// Adds a count to counts by kind.
pub(super) fn add_count(into: &mut BTreeMap<String, u64>, kind: &str, n: u64) {
    match into.get_mut(kind) {
        Some(count) => *count += n,
        None => drop(into.insert(kind.to_owned(), n)),
    }
}

/// Returns a number per second; 0 if no time was measured.
pub(super) fn per_s(n: f64, length_s: f64) -> f64 {
    if length_s > 0.0 { n / length_s } else { 0.0 }
}
