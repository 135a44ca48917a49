//! How long the runs of a command took, as `LATENCY HISTOGRAM` tells it.

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
