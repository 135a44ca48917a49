//! The results of the load by node of a cluster, and the busiest slots.

use super::Interval;

/// The largest number of slots in an interval. In the sum of many intervals, those with the fewest requests are left out.
const MOST_SLOTS: usize = 64;

impl Interval {
    /// Adds the results by node, and the busiest slots, of `later`.
    pub(super) fn add_nodes(&mut self, later: &Self) {
        for (node, part) in &later.nodes {
            self.nodes.entry(*node).or_default().merge(part);
        }
        self.add_slots(later.slots.iter().map(|(slot, requests)| (*slot, *requests)));
    }

    /// Adds requests to slots.
    pub(super) fn add_slots(&mut self, slots: impl Iterator<Item = (u16, u64)>) {
        for (slot, requests) in slots {
            *self.slots.entry(slot).or_default() += requests;
        }
        if self.slots.len() > MOST_SLOTS {
            let mut most: Vec<u64> = self.slots.values().copied().collect();
            most.sort_unstable_by(|a, b| b.cmp(a));
            let least = most[MOST_SLOTS / 2];
            self.slots.retain(|_, requests| *requests > least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::OperationInterval;

    #[test]
    fn sums_keep_the_busiest_slots_and_all_nodes() {
        let mut sum = Interval::default();
        for n in 0..1000_u16 {
            let part = OperationInterval { ops: 2, ..OperationInterval::default() };
            let slots = [(7, 100), (n, 5)].into();
            sum.add(&Interval { nodes: [(n % 3, part)].into(), slots, ..Interval::default() });
        }
        assert!(sum.slots.len() <= MOST_SLOTS, "{:?}", sum.slots);
        assert_eq!(sum.slots.iter().max_by_key(|(_, n)| **n), Some((&7, &99_905)));
        let ops: Vec<_> = sum.nodes.iter().map(|(node, part)| (*node, part.ops)).collect();
        assert_eq!(ops, [(0, 668), (1, 666), (2, 666)]);
    }
}
