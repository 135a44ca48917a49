//! What the parts of records have in common: a line leaves out what is nothing, and counts and times add up.

use std::collections::BTreeMap;

use crate::stats::Latency;

/// Whether a field holds nothing, so that a line leaves it out: no count, no seconds, the first node.
pub(super) fn is_nothing<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// Adds times, where there are some, to times.
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

/// How many of so many there were a second; 0 where no time was measured.
pub(super) fn per_s(n: f64, length_s: f64) -> f64 {
    if length_s > 0.0 { n / length_s } else { 0.0 }
}
