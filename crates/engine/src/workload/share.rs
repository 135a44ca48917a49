//! The share of one worker, or of one machine, in a load that several carry out together.

use serde::{Deserialize, Serialize};

/// A share in numbered things, such as requests or new keys: of each `of` of them in a row, the one at `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of the worker or machine, from 0.
    pub index: usize,
    /// How many workers or machines there are, at least 1.
    pub of: usize,
}

impl Share {
    /// Everything.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// Returns the number, among all things, of the thing that is number `n` of this share.
    #[inline]
    pub fn nth(self, n: u64) -> u64 {
        n.saturating_mul(self.of as u64).saturating_add(self.index as u64)
    }

    /// Returns how many of `total` things belong to this share. What is left over belongs to the lowest shares.
    pub fn part(self, total: u64) -> u64 {
        total / self.of as u64 + u64::from((self.index as u64) < total % self.of as u64)
    }

    /// Returns part `index` of `of` equal parts of this share.
    #[must_use]
    pub fn divided(self, index: usize, of: usize) -> Self {
        Self { index: self.index + index * self.of, of: self.of * of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_workers_of_all_machines_are_everything_once() {
        for (machines, workers, total) in [(3, 2, 100), (4, 3, 7), (1, 1, 5)] {
            let mut numbers = Vec::new();
            for machine in 0..machines {
                let machine = Share { index: machine, of: machines };
                let parts: Vec<_> = (0..workers).map(|worker| machine.divided(worker, workers)).collect();
                assert_eq!(parts.iter().map(|part| part.part(total)).sum::<u64>(), machine.part(total));
                numbers.extend(parts.iter().flat_map(|part| (0..part.part(total)).map(|n| part.nth(n))));
            }
            numbers.sort_unstable();
            assert_eq!(numbers, (0..total).collect::<Vec<_>>());
        }
    }
}
