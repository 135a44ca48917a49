//! Limits how many different error codes of servers are counted and reported separately.

use std::collections::{BTreeMap, BTreeSet};

/// The largest number of kinds of server errors that are counted separately. Further kinds are counted as [`OTHER`].
/// Redis and Valkey have about thirty kinds.
pub const MAX_KINDS: usize = 64;

/// The name under which all kinds of errors beyond the first [`MAX_KINDS`] are counted.
pub const OTHER: &str = "other";

/// The first [`MAX_KINDS`] kinds of errors in server replies. Without a limit, a server that sends more and more kinds
/// could fill the memory and the recording. redyno's own kinds, such as `timeout`, are in lower case and do not count
/// against the limit.
#[derive(Debug, Default)]
pub struct ErrorKinds(BTreeSet<String>);

impl ErrorKinds {
    /// Adds a kind. Returns whether the kind is new and is counted separately.
    pub fn is_new(&mut self, kind: &str) -> bool {
        let is_new = !self.0.contains(kind) && (is_ours(kind) || self.0.len() < MAX_KINDS);
        if is_new {
            self.0.insert(kind.to_owned());
        }
        is_new
    }

    /// Returns the name of this kind of error in the counts.
    pub fn name<'a>(&mut self, kind: &'a str) -> &'a str {
        if is_ours(kind) || self.0.contains(kind) || self.is_new(kind) { kind } else { OTHER }
    }

    /// Merges the counts of kinds that are not counted separately into [`OTHER`].
    pub fn limit(&mut self, errors: &mut BTreeMap<String, u64>) {
        let beyond: Vec<_> = errors.keys().filter(|kind| self.name(kind) == OTHER).cloned().collect();
        for kind in beyond.into_iter().filter(|kind| kind != OTHER) {
            let n = errors.remove(&kind).unwrap_or(0);
            add_count(errors, OTHER, n);
        }
    }
}

/// Adds `n` to the count of `kind`.
pub fn add_count(into: &mut BTreeMap<String, u64>, kind: &str, n: u64) {
    match into.get_mut(kind) {
        Some(count) => *count += n,
        None => drop(into.insert(kind.to_owned(), n)),
    }
}

fn is_ours(kind: &str) -> bool {
    kind.starts_with(|first: char| first.is_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kinds_keep_their_names_and_no_error_is_lost() {
        let mut kinds = ErrorKinds::default();
        let mut sum = 0;
        for tick in 0..100 {
            let new = (0..10).map(|n| (format!("E{}", tick * 10 + n), 1));
            let mut errors: BTreeMap<_, _> =
                new.chain([("timeout".to_owned(), 1), ("E3".to_owned(), 1)]).collect();
            let before: u64 = errors.values().sum();
            kinds.limit(&mut errors);
            assert_eq!(errors.values().sum::<u64>(), before);
            assert!(errors.contains_key("timeout") && errors.contains_key("E3"));
            sum += errors.get(OTHER).unwrap_or(&0);
        }
        assert_eq!((kinds.0.len(), sum), (MAX_KINDS, 1000 - MAX_KINDS as u64));
        assert_eq!((kinds.name("E3"), kinds.name("E999")), ("E3", OTHER));
    }

    #[test]
    fn a_new_kind_is_reported_once_even_beyond_the_limit_if_it_is_ours() {
        let mut kinds = ErrorKinds::default();
        let new = (0..1000).filter(|n| kinds.is_new(&format!("E{}", n % 500))).count();
        assert_eq!(new, MAX_KINDS);
        assert_eq!(
            [kinds.is_new("timeout"), kinds.is_new("timeout"), kinds.is_new("E0")],
            [true, false, false]
        );
    }
}
