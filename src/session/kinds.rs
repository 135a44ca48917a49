//! The kinds of errors that a session tells apart. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::load::{MAX_KINDS, OTHER};

/// The first [`MAX_KINDS`] kinds that servers answered; errors of all others are counted as `other`, so that a
/// server that invents kinds grows neither our memory nor a recording's lines.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    known: BTreeSet<String>,
}

impl Kinds {
    /// The name under which an error of this kind is counted.
    pub(super) fn name<'a>(&mut self, kind: &'a str) -> &'a str {
        // Our own kinds are few, and written in small letters: `timeout`.
        if kind.starts_with(|first: char| first.is_lowercase()) || self.known.contains(kind) {
            return kind;
        }
        if self.known.len() == MAX_KINDS {
            return OTHER;
        }
        self.known.insert(kind.to_owned());
        kind
    }

    /// Counts what is beyond them as `other`.
    pub(super) fn limit(&mut self, errors: &mut BTreeMap<String, u64>) {
        let beyond: Vec<_> = errors.keys().filter(|kind| self.name(kind) == OTHER).cloned().collect();
        for kind in beyond.into_iter().filter(|kind| kind != OTHER) {
            let n = errors.remove(&kind).unwrap_or(0);
            *errors.entry(OTHER.to_owned()).or_default() += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kinds_keep_their_names_and_no_error_is_lost() {
        let mut kinds = Kinds::default();
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
        assert_eq!((kinds.known.len(), sum), (MAX_KINDS, 1000 - MAX_KINDS as u64));
        assert_eq!((kinds.name("E3"), kinds.name("E999")), ("E3", OTHER));
    }
}
