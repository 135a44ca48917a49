//! Functions for the fields of records: leave empty values out of a line, and add counts and distributions.

use std::collections::BTreeMap;

use crate::stats::Latency;

/// Returns whether a field is left out of a line because it has its default value, such as 0.
pub(super) fn is_nothing<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// Adds the distribution `from`, if there is one, to `into`.
pub(super) fn merge_some(into: &mut Option<Latency>, from: Option<&Latency>) {
    if let Some(from) = from {
        into.get_or_insert_default().merge(from);
    }
}

/// Adds these fields of the second record to those of the first.
macro_rules! add_up {
    ($sum:ident += $part:expr, $($field:ident)+) => {
        $($sum.$field += $part.$field;)+
    };
}

pub(super) use add_up;

/// Adds each count of `from` to the count of the same kind in `into`.
pub fn add_counts(into: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    from.iter().for_each(|(kind, n)| add_count(into, kind, *n));
}

/// Adds `n` to the count of `kind`.
pub(super) fn add_count(into: &mut BTreeMap<String, u64>, kind: &str, n: u64) {
    match into.get_mut(kind) {
        Some(count) => *count += n,
        None => drop(into.insert(kind.to_owned(), n)),
    }
}

/// Returns `n` divided by the length in seconds; 0 if the length is 0.
pub(super) fn per_s(n: f64, length_s: f64) -> f64 {
    if length_s > 0.0 { n / length_s } else { 0.0 }
}
