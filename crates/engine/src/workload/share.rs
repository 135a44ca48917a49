//! The share of one worker, or of one machine, in the clients, requests and new keys of a load.

use serde::{Deserialize, Serialize};

/// A share in numbered items, such as requests or new keys. A share contains the item with the index `index` in each
/// group of `of` consecutive items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of the worker or machine, from 0.
    pub index: usize,
    /// The number of workers or machines, at least 1.
    pub of: usize,
}

impl Share {
    /// The share that contains all items.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// Converts the number of an item within this share to its number among all items.
    #[inline]
    pub fn nth(self, n: u64) -> u64 {
        n.saturating_mul(self.of as u64).saturating_add(self.index as u64)
    }

    /// Returns the number of items in this share, if there are `total` items. The shares with the lowest
    /// indices get the remainder of the division, one item each.
    pub fn part(self, total: u64) -> u64 {
        total / self.of as u64 + u64::from((self.index as u64) < total % self.of as u64)
    }

    /// Divides this share into `of` equal parts. Returns part number `index`.
    #[must_use]
    pub fn divided(self, index: usize, of: usize) -> Self {
        Self { index: self.index + index * self.of, of: self.of * of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_workers_contain_each_item_once() {
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
