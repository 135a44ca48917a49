//! Latency distributions for tests.

use super::{Latency, Recorder};

/// Builds a distribution with each of these latencies once.
pub fn latency_of(values_ns: impl IntoIterator<Item = u64>) -> Latency {
    Latency::of(&values_ns.into_iter().collect::<Vec<_>>())
}

/// Builds a distribution with one latency, `n` times.
pub fn repeated(ns: u64, n: u64) -> Latency {
    let mut recorder = Recorder::new();
    recorder.record_n(ns, n);
    recorder.latency()
}
