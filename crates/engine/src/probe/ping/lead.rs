//! How long before a PING is due its thread wants to be awake: as long as it has lately been woken late.
//!
//! A sleeping thread is woken late, by some 90 µs in the median on an idle virtual machine where the round trip itself
//! takes 95 µs, and that would count as the server's. Awake it writes within 2 µs, and costs what it is awake for. So
//! the lead follows a high percentile of the lateness: a machine that is at work, and wakes its threads at once, is
//! not asked for more.

use std::num::NonZeroU32;

use crate::clock::SECOND_NS;

/// The longest lead: 150 µs.
const MOST_NS: u64 = 150_000;
/// At high rates it is no more than one part in this many of the time.
const MOST_PART: u64 = 10;
/// How far the lead goes up after a wake-up that was later, and down after another. It rests where these are as many as
/// those: at the 90th percentile.
const UP_NS: u64 = 4_500;
const DOWN_NS: u64 = 500;

/// The lead, and what it was learnt from.
#[derive(Debug)]
pub(super) struct Lead {
    ns: u64,
    most_ns: u64,
}

impl Lead {
    /// For so many PINGs a second. It begins as long as it may be.
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        let most_ns = MOST_NS.min(SECOND_NS / u64::from(per_second.get()) / MOST_PART);
        Self { ns: most_ns, most_ns }
    }

    /// How long it is.
    pub(super) fn ns(&self) -> u64 {
        self.ns
    }

    /// The thread slept to the end of its time, and was woken so much later.
    pub(super) fn learn(&mut self, late_ns: u64) {
        self.ns = if late_ns > self.ns { self.ns + UP_NS } else { self.ns.saturating_sub(DOWN_NS) }
            .min(self.most_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(per_second: u32) -> Lead {
        Lead::new(NonZeroU32::new(per_second).unwrap())
    }

    #[test]
    fn it_comes_to_rest_above_nine_of_ten_wake_ups() {
        let mut lead = lead(100);
        // Late by 0 to 99 µs, in an order that has no trend.
        for n in 0..100_000_u64 {
            lead.learn(n * 37 % 100 * 1_000);
        }
        assert!((80_000..100_000).contains(&lead.ns()), "{}", lead.ns());
    }

    #[test]
    fn it_is_never_longer_than_it_may_be() {
        let [mut usual, mut fast] = [lead(100), lead(10_000)];
        for _ in 0..1000 {
            usual.learn(5_000_000);
            fast.learn(5_000_000);
        }
        assert_eq!((usual.ns(), fast.ns()), (150_000, 10_000));
    }

    #[test]
    fn a_machine_that_wakes_at_once_is_asked_for_next_to_nothing() {
        let mut lead = lead(100);
        (0..1000).for_each(|_| lead.learn(3_000));
        assert!(lead.ns() < 8_000, "{}", lead.ns());
    }
}
