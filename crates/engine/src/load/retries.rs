//! Rules for sending failed requests of the load again: for which errors, how often, and after which pause.

use std::{
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::SyncSender,
    },
    time::Duration,
};

use crate::clock::SECOND_NS;

/// After these errors, another attempt is useless. memtier_benchmark has the same list.
const PERMANENT: [&str; 10] = [
    "WRONGTYPE",
    "NOAUTH",
    "NOPERM",
    "NOSCRIPT",
    "NOREPLICAS",
    "ERR wrong number of arguments",
    "ERR syntax error",
    "ERR unknown command",
    "ERR Unknown subcommand",
    "CLIENT_ERROR",
];

/// The longest pause before an attempt: 60 s.
const LONGEST_PAUSE_NS: u64 = 60 * SECOND_NS;

/// The rules by which failed requests are sent again. If a connection was lost before the reply arrived, the server
/// may execute the request twice.
#[derive(Debug, Default)]
pub struct Retries {
    /// The largest number of times that a request is sent again, or `None` if there is no limit.
    pub most: Option<u32>,
    /// The pause before a request is sent for the second time, at most 60 s.
    pub pause: Duration,
    /// Each further pause is longer than the previous one by this factor, up to 60 s. With the factor 0, all
    /// pauses are equal.
    pub factor: f64,
    /// If an error reply begins with one of these texts, the request is sent again. If the list is empty,
    /// every error counts, except permanent errors.
    pub only: Vec<String>,
    /// The channel for requests that failed and were not sent again. If the channel is full, the load is
    /// delayed.
    pub failed: Option<SyncSender<FailedRequest>>,
    /// The number of different requests that were sent again. The load counts these requests.
    pub requests: AtomicU64,
}

/// A request that failed, and was not sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// The name of the operation.
    pub operation: String,
    /// The first key of the request. This text is empty if the request has no key.
    pub key: Vec<u8>,
    /// The error line of the server, or the error of the connection.
    pub error: String,
    /// How often the request was sent again.
    pub retries: u32,
}

impl Retries {
    /// Returns how many different requests were sent again.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Counts `n` requests that are sent again now. Each of these requests was already sent again `retries`
    /// times.
    pub(super) fn count(&self, n: usize, retries: u32) {
        if retries == 0 {
            self.requests.fetch_add(n as u64, Relaxed);
        }
    }

    /// Returns whether a failed request should be sent again after `retries` earlier retries. `line` is the
    /// server's error line, or `None` if the connection was lost.
    pub(super) fn allows(&self, line: Option<&str>, retries: u32) -> bool {
        let begins = |line: &str, known: &str| {
            line.get(..known.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(known))
        };
        let is_mendable = line.is_none_or(|line| {
            !PERMANENT.iter().any(|known| begins(line, known))
                && (self.only.is_empty() || self.only.iter().any(|known| begins(line, known)))
        });
        is_mendable && self.most.is_none_or(|most| retries < most)
    }

    /// Returns the pause before the next attempt of a failed request after `retries` earlier retries, in ns.
    pub(super) fn pause_ns(&self, retries: u32) -> u64 {
        let factor = if self.factor > 0.0 { self.factor.powi(retries.min(1 << 20) as i32) } else { 1.0 };
        ((self.pause.as_secs_f64() * factor * 1e9) as u64).min(LONGEST_PAUSE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permanent_error_is_final_even_if_the_list_has_it() {
        let every = Retries::default();
        assert!(every.allows(Some("LOADING Redis is loading"), 7) && every.allows(None, 7));
        assert!(
            !every.allows(Some("WRONGTYPE Operation"), 0) && !every.allows(Some("err Syntax Error, x"), 0)
        );
        let some = Retries { only: vec!["loading".to_owned(), "WRONGTYPE".to_owned()], ..Retries::default() };
        assert!(some.allows(Some("LOADING x"), 0) && !some.allows(Some("BUSY x"), 0));
        assert!(!some.allows(Some("WRONGTYPE x"), 0) && some.allows(None, 0));
    }

    #[test]
    fn the_number_of_attempts_has_a_limit_and_pauses_grow_by_the_factor_to_one_minute() {
        let retries =
            Retries { most: Some(2), pause: Duration::from_millis(10), factor: 3.0, ..Retries::default() };
        assert_eq!([0, 1, 2].map(|n| retries.allows(None, n)), [true, true, false]);
        let pauses = [0, 1, 2, 2_000_000_000].map(|n| retries.pause_ns(n) / 1_000_000);
        assert_eq!(pauses, [10, 30, 90, 60_000]);
        let equal = Retries { factor: 0.0, ..retries };
        assert_eq!(equal.pause_ns(5), 10_000_000);
    }
}
