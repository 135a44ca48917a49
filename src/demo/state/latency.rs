//! How long commands took: the latency monitor's events, and a histogram a command.

use std::collections::{BTreeMap, VecDeque};

/// Samples that an event keeps, as in Redis.
const HISTORY: usize = 160;

/// Spikes by event, as `LATENCY LATEST` and `LATENCY HISTORY` tell them.
#[derive(Debug, Default)]
pub struct LatencyMonitor {
    events: BTreeMap<&'static str, Spikes>,
}

/// The spikes of one event.
#[derive(Debug, Default)]
pub struct Spikes {
    /// Unix time in seconds and the longest of that second in ms, oldest first.
    pub samples: VecDeque<(u64, u64)>,
    /// The longest ever, in ms.
    pub max_ms: u64,
}

impl LatencyMonitor {
    /// Notes a spike.
    pub fn add(&mut self, event: &'static str, at_s: u64, ms: u64) {
        let spikes = self.events.entry(event).or_default();
        spikes.max_ms = spikes.max_ms.max(ms);
        match spikes.samples.back_mut() {
            Some((second, longest)) if *second == at_s => *longest = ms.max(*longest),
            _ => {
                if spikes.samples.len() == HISTORY {
                    spikes.samples.pop_front();
                }
                spikes.samples.push_back((at_s, ms));
            }
        }
    }

    /// All events that have samples.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (&'static str, &Spikes)> {
        self.events.iter().map(|(name, spikes)| (*name, spikes))
    }

    /// One event's spikes.
    pub fn event(&self, name: &[u8]) -> Option<&Spikes> {
        self.events
            .iter()
            .find(|(event, _)| event.as_bytes().eq_ignore_ascii_case(name))
            .map(|(_, spikes)| spikes)
    }

    /// Forgets one event; whether there was one.
    pub fn forget(&mut self, name: &[u8]) -> bool {
        let before = self.events.len();
        self.events.retain(|event, _| !event.as_bytes().eq_ignore_ascii_case(name));
        self.events.len() < before
    }

    /// Forgets all events; how many there were.
    pub fn clear(&mut self) -> usize {
        let before = self.events.len();
        self.events.clear();
        before
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
    fn the_spikes_of_a_second_are_one_sample_and_old_samples_go() {
        let mut monitor = LatencyMonitor::default();
        for (at_s, ms) in [(10, 5), (10, 9), (10, 3), (11, 1)] {
            monitor.add("command", at_s, ms);
        }
        let spikes = monitor.event(b"COMMAND").unwrap();
        assert_eq!(
            (spikes.samples.iter().copied().collect::<Vec<_>>(), spikes.max_ms),
            (vec![(10, 9), (11, 1)], 9)
        );
        for at_s in 100..400 {
            monitor.add("command", at_s, 1);
        }
        assert_eq!(monitor.event(b"command").unwrap().samples.len(), HISTORY);
        assert!(monitor.forget(b"command") && !monitor.forget(b"command"));
        assert_eq!(monitor.clear(), 0);
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
