//! The errors of a session by kind: their number, and the first message of each kind.

use std::collections::BTreeMap;

/// The source of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorSource {
    /// Requests of the measured load.
    Load,
    /// Requests of the load in a phase that is not measured: `prefill` or `warm-up`.
    Aside(&'static str),
    /// PINGs. The field is the name of PING in the dialect.
    Ping(&'static str),
}

impl ErrorSource {
    /// Returns the name of PING, if this is the source.
    pub fn ping(self) -> Option<&'static str> {
        if let Self::Ping(name) = self { Some(name) } else { None }
    }
}

/// One kind of error, either of requests or of PINGs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCount {
    /// The number of requests or PINGs with this error.
    pub count: u64,
    /// The name of PING if these are errors of PINGs. `None` for errors of requests.
    pub ping: Option<&'static str>,
    /// The errors in `count` that are not from the measured load, by phase: `prefill` or `warm-up`.
    pub aside: BTreeMap<&'static str, u64>,
    /// The first message of this kind of error. `None` until a message has arrived.
    pub first: Option<String>,
    /// The time of the latest error of this kind, in whole seconds of the session.
    pub last_s: u64,
}

/// All errors of a session, by kind. Errors of requests and errors of PINGs are counted apart.
#[derive(Debug, Clone, Default)]
pub struct ErrorLog {
    requests: BTreeMap<String, ErrorCount>,
    pings: BTreeMap<String, ErrorCount>,
}

impl ErrorLog {
    /// Returns the kinds and their counts, the most frequent first.
    pub fn by_count(&self) -> Vec<(&str, &ErrorCount)> {
        // Some kinds have only a message. For example, a failed attempt to connect is not a request.
        let counted = self.requests.iter().chain(&self.pings).filter(|(_, error)| error.count > 0);
        let mut kinds: Vec<_> = counted.map(|(kind, error)| (kind.as_str(), error)).collect();
        kinds.sort_by_key(|(_, error)| std::cmp::Reverse(error.count));
        kinds
    }

    /// Returns whether there was any error.
    pub fn has_any(&self) -> bool {
        self.requests.values().chain(self.pings.values()).any(|error| error.count > 0)
    }

    /// Returns the kinds that have only a message, and the first message of each kind. Errors of receivers have no
    /// counts.
    pub fn uncounted(&self) -> impl Iterator<Item = (&str, &str)> {
        let uncounted = self.requests.iter().filter(|(_, error)| error.count == 0);
        uncounted.filter_map(|(kind, error)| Some((kind.as_str(), error.first.as_deref()?)))
    }

    /// Returns the first error message of `kind`, from a request or a connection.
    pub fn first_of(&self, kind: &str) -> Option<&str> {
        self.requests.get(kind)?.first.as_deref()
    }

    /// Adds errors from `source`.
    pub(super) fn count(&mut self, t_s: f64, errors: &BTreeMap<String, u64>, source: ErrorSource) {
        let kinds = if source.ping().is_some() { &mut self.pings } else { &mut self.requests };
        for (kind, n) in errors.iter().filter(|(_, n)| **n > 0) {
            let error = kinds.entry(kind.clone()).or_default();
            error.ping = source.ping();
            error.count += n;
            if let ErrorSource::Aside(aside) = source {
                *error.aside.entry(aside).or_default() += n;
            }
            error.last_s = error.last_s.max(t_s as u64);
        }
    }

    /// Returns the same errors with the first messages from `all`.
    pub(super) fn with_first_messages_of(mut self, all: &Self) -> Self {
        for (kind, error) in &mut self.requests {
            error.first = all.requests.get(kind).and_then(|known| known.first.clone());
        }
        self
    }

    /// Sets the first message of a kind of error.
    pub(super) fn first(&mut self, kind: &str, message: &str) {
        let error = self.requests.entry(kind.to_owned()).or_default();
        error.first.get_or_insert_with(|| message.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_kind_comes_first_with_its_first_message() {
        let mut log = ErrorLog::default();
        let errors = BTreeMap::from([("timeout".to_owned(), 2), ("OOM".to_owned(), 5)]);
        log.count(1.0, &errors, ErrorSource::Load);
        log.first("OOM", "OOM command not allowed: maxmemory");
        log.first("OOM", "another");
        let kinds = log.by_count();
        assert_eq!((kinds[0].0, kinds[0].1.count), ("OOM", 5));
        assert_eq!(kinds[0].1.first.as_deref(), Some("OOM command not allowed: maxmemory"));
        assert_eq!((kinds[1].0, &kinds[1].1.first), ("timeout", &None));
    }

    #[test]
    fn an_error_of_requests_and_the_same_error_of_pings_are_two_rows() {
        let mut log = ErrorLog::default();
        let errors = BTreeMap::from([("timeout".to_owned(), 2)]);
        for source in [ErrorSource::Load, ErrorSource::Aside("warm-up"), ErrorSource::Ping("PING")] {
            log.count(1.0, &errors, source);
        }
        log.first("timeout", "no reply within 1 s");
        let rows: Vec<_> = log.by_count().into_iter().map(|(kind, e)| (kind, e.count, e.ping)).collect();
        assert_eq!(rows, [("timeout", 4, None), ("timeout", 2, Some("PING"))]);
        assert_eq!(log.by_count()[1].1.first, None, "the message is of a request");
    }
}
