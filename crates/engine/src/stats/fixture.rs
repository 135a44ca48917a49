//! Distributions for tests.

use super::{Latency, Recorder};

/// These latencies, each once.
pub fn latency_of(values_ns: impl IntoIterator<Item = u64>) -> Latency {
    let mut recorder = Recorder::new();
    values_ns.into_iter().for_each(|ns| recorder.record(ns));
    recorder.latency()
}

/// One latency, `n` times.
pub fn repeated(ns: u64, n: u64) -> Latency {
    let mut recorder = Recorder::new();
    recorder.record_n(ns, n);
    recorder.latency()
}
