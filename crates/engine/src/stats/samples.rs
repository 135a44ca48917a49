//! A list of latencies, for a thread that measures few latencies per tick (250 ms). The thread would need too long to
//! read and clear all cells of a [`Recorder`](super::Recorder).

use super::{HIGHEST_NS, Latency, totals::Totals};

/// Latencies in nanoseconds. Each sample takes eight bytes, and is as precise as in a [`Recorder`](super::Recorder).
#[derive(Debug, Clone, Default)]
pub struct Samples {
    values_ns: Vec<u64>,
}

impl Samples {
    /// Counts one latency of `ns` nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.values_ns.push(ns);
    }

    /// Returns the distribution of all latencies since the last call. The list keeps its memory for the next latencies.
    pub fn take(&mut self) -> Latency {
        self.values_ns.sort_unstable();
        let in_range = self.values_ns.partition_point(|ns| *ns <= HIGHEST_NS);
        let over_range = (self.values_ns.len() - in_range) as u64;
        let mut totals = Totals { over_range, ..Totals::default() };
        self.values_ns.iter().for_each(|ns| totals.record_n(*ns, 1));
        let latency = Latency::from_parts(self.values_ns[..in_range].iter().map(|ns| (*ns, 1)), totals);
        self.values_ns.clear();
        latency
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::Recorder;

    #[test]
    fn without_samples_the_distribution_is_empty() {
        assert_eq!(Samples::default().take(), Latency::default());
    }

    #[test]
    fn taking_empties_the_list() {
        let mut samples = Samples::default();
        samples.record(5);
        assert_eq!(samples.take().count(), 1);
        assert!(samples.take().is_empty());
    }

    proptest! {
        #[test]
        fn a_list_counts_as_a_recorder_does(values in proptest::collection::vec(0..80_000_000_000_u64, 0..300)) {
            let (mut samples, mut recorder) = (Samples::default(), Recorder::new());
            for ns in values.into_iter().chain([0, 1, HIGHEST_NS, HIGHEST_NS + 1, 1 << 36]) {
                samples.record(ns);
                recorder.record(ns);
            }
            prop_assert_eq!(samples.take(), recorder.latency());
        }
    }
}
