//! The errors of a session by kind: their number, and the first message of each kind.

use std::collections::BTreeMap;

/// One kind of error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCount {
    /// The number of requests or PINGs with this error.
    pub count: u64,
    /// The errors in `count` that are not from the measured load, by source: `prefill`, `warm-up` or PING.
    pub aside: BTreeMap<&'static str, u64>,
    /// The first message of this kind of error; `None` until a message has arrived.
    pub first: Option<String>,
    /// The time of the latest error of this kind, in whole seconds of the session.
    pub last_s: u64,
}

/// All errors of a session, by kind.
#[derive(Debug, Clone, Default)]
pub struct ErrorLog {
    kinds: BTreeMap<String, ErrorCount>,
}

impl ErrorLog {
    /// Returns the kinds and their counts, the most frequent first.
    pub fn by_count(&self) -> Vec<(&str, &ErrorCount)> {
        // Some kinds have only a message. For example, a failed attempt to connect is not a request.
        let counted = self.kinds.iter().filter(|(_, error)| error.count > 0);
        let mut kinds: Vec<_> = counted.map(|(kind, error)| (kind.as_str(), error)).collect();
        kinds.sort_by_key(|(_, error)| std::cmp::Reverse(error.count));
        kinds
    }

    /// Returns the number of errors of all kinds.
    pub fn total(&self) -> u64 {
        self.kinds.values().map(|error| error.count).sum()
    }

    /// Returns the first error message of `kind`, from a request or a connection.
    pub fn first_of(&self, kind: &str) -> Option<&str> {
        self.kinds.get(kind)?.first.as_deref()
    }

    /// Adds errors. `aside` is the source of errors that are not from the measured load, such as the warm-up.
    pub(super) fn count(&mut self, t_s: f64, errors: &BTreeMap<String, u64>, aside: Option<&'static str>) {
        for (kind, n) in errors.iter().filter(|(_, n)| **n > 0) {
            let error = self.kinds.entry(kind.clone()).or_default();
            error.count += n;
            if let Some(aside) = aside {
                *error.aside.entry(aside).or_default() += n;
            }
            error.last_s = error.last_s.max(t_s as u64);
        }
    }

    /// Returns the same errors with the first messages from `all`.
    pub(super) fn with_first_messages_of(mut self, all: &Self) -> Self {
        for (kind, error) in &mut self.kinds {
            error.first = all.kinds.get(kind).and_then(|known| known.first.clone());
        }
        self
    }

    /// Sets the first message of a kind of error.
    pub(super) fn first(&mut self, kind: &str, message: &str) {
        self.kinds.entry(kind.to_owned()).or_default().first.get_or_insert_with(|| message.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_kind_comes_first_with_its_first_message() {
        let mut log = ErrorLog::default();
        log.count(1.0, &BTreeMap::from([("timeout".to_owned(), 2), ("OOM".to_owned(), 5)]), None);
        log.first("OOM", "OOM command not allowed: maxmemory");
        log.first("OOM", "another");
        let kinds = log.by_count();
        assert_eq!((kinds[0].0, kinds[0].1.count), ("OOM", 5));
        assert_eq!(kinds[0].1.first.as_deref(), Some("OOM command not allowed: maxmemory"));
        assert_eq!((kinds[1].0, &kinds[1].1.first, log.total()), ("timeout", &None, 7));
    }
}
