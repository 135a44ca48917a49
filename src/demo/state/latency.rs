//! How long commands took: the latency monitor's events, and a histogram a command.

use std::collections::BTreeMap;

/// Spikes by event, as `LATENCY LATEST` tells them.
#[derive(Debug, Default)]
pub struct LatencyMonitor {
    events: BTreeMap<&'static str, Spike>,
}

/// The latest spike of one event, and the longest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spike {
    /// Unix time of the latest in seconds.
    pub at_s: u64,
    /// The longest of that second in ms.
    pub ms: u64,
    /// The longest ever, in ms.
    pub max_ms: u64,
}

impl LatencyMonitor {
    /// Notes a spike.
    pub fn add(&mut self, event: &'static str, at_s: u64, ms: u64) {
        let spike = self.events.entry(event).or_default();
        let of_this_second = if spike.at_s == at_s { spike.ms } else { 0 };
        *spike = Spike { at_s, ms: ms.max(of_this_second), max_ms: ms.max(spike.max_ms) };
    }

    /// All events that have spikes.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (&'static str, Spike)> {
        self.events.iter().map(|(name, spike)| (*name, *spike))
    }

    /// Forgets these events, without names all of them; how many there were.
    pub fn forget(&mut self, names: &[&[u8]]) -> usize {
        let before = self.events.len();
        let named = |event: &str| names.iter().any(|name| name.eq_ignore_ascii_case(event.as_bytes()));
        self.events.retain(|event, _| !names.is_empty() && !named(event));
        before - self.events.len()
    }
}

/// Durations counted in buckets that double, with the borders of `LATENCY HISTOGRAM`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationCounts {
    counts: [u64; BUCKETS],
}

/// From 1 µs to above an hour.
const BUCKETS: usize = 32;

/// The highest duration in ns that falls into bucket `index`. Redis lists its HDR histogram of two digits at
/// 1024 ns × 2^n; there a value stands for all up to 1032 × 2^n − 1.
fn border_ns(index: usize) -> u64 {
    (1032 << index) - 1
}

impl DurationCounts {
    /// Counts one.
    pub fn add(&mut self, ns: u64) {
        // 1032 is a little above 2^10: the bit length gives the bucket or the one above it.
        let guess = (u64::BITS - (ns >> 10).leading_zeros()) as usize;
        let index = if guess > 0 && ns <= border_ns(guess - 1) { guess - 1 } else { guess };
        self.counts[index.min(BUCKETS - 1)] += 1;
    }

    /// The borders in µs of the buckets that hold something, each with how many lie at or below it.
    pub fn cumulative(&self) -> Vec<(u64, u64)> {
        let mut total = 0;
        let mut listed = Vec::new();
        for (index, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            total += count;
            listed.push((border_ns(index) / 1000, total));
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spikes_of_a_second_are_one() {
        let mut monitor = LatencyMonitor::default();
        for (at_s, ms, latest) in [(10, 5, 5), (10, 9, 9), (10, 3, 9), (11, 1, 1)] {
            monitor.add("command", at_s, ms);
            let max_ms = latest.max(if at_s == 11 { 9 } else { 0 });
            assert_eq!(monitor.events().next(), Some(("command", Spike { at_s, ms: latest, max_ms })));
        }
        assert_eq!(
            (monitor.forget(&[b"fork"]), monitor.forget(&[b"COMMAND"]), monitor.forget(&[])),
            (0, 1, 0)
        );
    }

    #[test]
    fn durations_fall_into_the_buckets_of_redis() {
        let borders: Vec<u64> = (0..10).map(|index| border_ns(index) / 1000).collect();
        assert_eq!(borders, [1, 2, 4, 8, 16, 33, 66, 132, 264, 528]);
        let mut counts = DurationCounts::default();
        for ns in [0, 1031, 1032, 2063, 2064, 4127] {
            counts.add(ns);
        }
        assert_eq!(counts.cumulative(), [(1, 2), (2, 4), (4, 6)]);
        counts.add(u64::MAX);
        assert_eq!(counts.cumulative().last().map(|(_, total)| *total), Some(7));
    }
}
