//! The event at the end of a prefill. The prefill is the phase that writes the keys of the workload.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::units::{self, count_with_noun, grouped};

/// The result of a prefill. The prefill is the phase that writes the keys of the workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PrefillResult {
    /// The number of requests.
    pub requests: u64,
    /// The number of requests that were answered without an error.
    pub answered: u64,
    /// How long the prefill took, in seconds.
    pub length_s: f64,
    /// The number of errors of each kind. Requests that were lost with a connection were sent again.
    pub errors: BTreeMap<String, u64>,
    /// The number of keys that were checked on the server.
    pub looked_for: u64,
    /// The number of checked keys that exist.
    pub there: u64,
    /// The reason why no keys were checked, or `None` if keys were checked.
    pub unseen: Option<String>,
}

impl PrefillResult {
    /// Returns whether every request was answered, and every checked key exists.
    pub fn is_whole(&self) -> bool {
        self.answered == self.requests && self.there == self.looked_for
    }
}

impl fmt::Display for PrefillResult {
    /// Writes `1 000 000 requests answered in 8.2 s, 122 k/s; all 100 000 keys that were checked exist`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, answered, length_s, looked_for, there, .. } = *self;
        if answered < requests {
            write!(f, "only {} of ", grouped(answered))?;
        }
        write!(f, "{} answered in {length_s:.1} s", count_with_noun(requests, "request"))?;
        if length_s > 0.0 {
            write!(f, ", {}", units::rate(answered as f64 / length_s))?;
        }
        if !self.errors.is_empty() {
            let errors: Vec<_> = self.errors.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
            write!(f, "; errors: {}", errors.join(", "))?;
        }
        let keys = count_with_noun(looked_for, "key");
        match &self.unseen {
            Some(cause) => write!(f, "; the keys were not checked: {cause}"),
            None if there == looked_for => write!(f, "; all {keys} that were checked exist"),
            None => write!(f, "; of {keys} that were checked, only {} exist", grouped(there)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_missing_keys_and_errors() {
        let whole = PrefillResult {
            requests: 20_000,
            answered: 20_000,
            length_s: 2.0,
            looked_for: 20_000,
            there: 20_000,
            ..PrefillResult::default()
        };
        let said = "20 000 requests answered in 2.0 s, 10.0 k/s; all 20 000 keys that were checked exist";
        assert_eq!((whole.to_string().as_str(), whole.is_whole()), (said, true));
        let errors = [("OOM".to_owned(), 37)].into();
        let some = PrefillResult { answered: 19_963, there: 19_963, errors, ..whole };
        let said = "only 19 963 of 20 000 requests answered in 2.0 s, 9.98 k/s; errors: OOM 37; of 20 000 keys that were checked, only 19 963 exist";
        assert_eq!((some.to_string().as_str(), some.is_whole()), (said, false));
        let unseen = PrefillResult { unseen: Some("not permitted".to_owned()), ..PrefillResult::default() };
        assert!(unseen.to_string().ends_with("; the keys were not checked: not permitted"));
    }
}
