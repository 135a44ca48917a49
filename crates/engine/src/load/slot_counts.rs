//! Counts the requests of a load worker for each slot of a cluster, to find slots that get far more requests
//! than others.

use crate::protocol::SLOTS;

/// A slot is busy if it gets at least one in 32 requests. If the keys are used evenly, no slot gets as many requests.
const SHARE: u32 = 32;
/// A slot with fewer requests than this is not busy.
const FEWEST: u32 = 4;
/// The largest number of slots in a report.
const MOST: usize = 8;

/// Requests by slot since the last report.
pub(super) struct SlotCounts {
    requests: Box<[u32]>,
    all: u32,
}

impl SlotCounts {
    pub(super) fn new() -> Self {
        Self { requests: vec![0; SLOTS.into()].into(), all: 0 }
    }

    /// Counts a request.
    pub(super) fn count(&mut self, slot: u16) {
        if let Some(requests) = self.requests.get_mut(usize::from(slot)) {
            *requests = requests.saturating_add(1);
            self.all = self.all.saturating_add(1);
        }
    }

    /// Adds the busiest slots to `slots`, and resets all counts.
    pub(super) fn report(&mut self, slots: &mut Vec<(u16, u32)>) {
        if self.all == 0 {
            return;
        }
        let least = (self.all / SHARE).max(FEWEST);
        let busy = (0..).zip(&self.requests).filter(|(_, requests)| **requests >= least);
        let mut busy: Vec<(u16, u32)> = busy.map(|(slot, requests)| (slot, *requests)).collect();
        busy.sort_unstable_by_key(|(_, requests)| std::cmp::Reverse(*requests));
        for (slot, requests) in busy.into_iter().take(MOST) {
            match slots.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, known)) => *known += requests,
                None => slots.push((slot, requests)),
            }
        }
        self.requests.fill(0);
        self.all = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_with_most_of_the_requests_is_reported() {
        let (mut counts, mut slots) = (SlotCounts::new(), Vec::new());
        for n in 0..1000 {
            counts.count(n % 100);
        }
        counts.report(&mut slots);
        assert_eq!(slots, []);
        for n in 0..1000 {
            counts.count(if n % 10 < 6 { 1234 } else { n });
        }
        counts.count(SLOTS);
        counts.report(&mut slots);
        counts.report(&mut slots);
        assert_eq!(slots, [(1234, 600)]);
    }

    #[test]
    fn a_slot_with_a_few_requests_is_not_reported() {
        let (mut counts, mut slots) = (SlotCounts::new(), Vec::new());
        (0..3).for_each(|_| counts.count(7));
        counts.report(&mut slots);
        assert_eq!(slots, []);
    }
}
