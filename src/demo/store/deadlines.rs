//! Which keys expire, in the order in which they do.

use std::collections::BTreeSet;

/// Keys sampled for the mean time to live.
const SAMPLE: usize = 100;

/// Moments in ms since 1970, each with the place of its key.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    in_order: BTreeSet<(u64, u32)>,
}

impl Deadlines {
    /// Moves the deadline of the key at `place` from `old_ms` to `new_ms`; 0 is none.
    pub fn move_to(&mut self, place: u32, old_ms: u64, new_ms: u64) {
        if old_ms > 0 {
            self.in_order.remove(&(old_ms, place));
        }
        if new_ms > 0 {
            self.in_order.insert((new_ms, place));
        }
    }

    /// The key that expires first: when, and its place.
    pub fn soonest(&self) -> Option<(u64, u32)> {
        self.in_order.first().copied()
    }

    /// How many keys expire.
    pub fn len(&self) -> usize {
        self.in_order.len()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.in_order.clear();
    }

    /// Mean time to live in ms of those that expire first; 0 if there is none.
    pub fn mean_ttl_ms(&self, now_ms: u64) -> u64 {
        let sample = self.in_order.iter().take(SAMPLE).map(|(at_ms, _)| at_ms.saturating_sub(now_ms));
        sample.clone().sum::<u64>() / (sample.count() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soonest_comes_first_and_a_key_has_one_deadline() {
        let mut deadlines = Deadlines::default();
        deadlines.move_to(1, 0, 500);
        deadlines.move_to(2, 0, 300);
        assert_eq!((deadlines.soonest(), deadlines.mean_ttl_ms(100)), (Some((300, 2)), 300));
        deadlines.move_to(2, 300, 900);
        assert_eq!((deadlines.soonest(), deadlines.len()), (Some((500, 1)), 2));
        deadlines.move_to(1, 500, 0);
        deadlines.move_to(2, 900, 0);
        assert_eq!((deadlines.soonest(), deadlines.mean_ttl_ms(0)), (None, 0));
    }
}
