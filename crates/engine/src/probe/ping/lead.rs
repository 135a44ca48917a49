//! The lead of the ping thread: how long before a PING is due its sleep ends. The lead is about as long as recent
//! wake-ups were late.
//!
//! A sleeping thread wakes up late: by a median of some 90 µs on an idle virtual machine where the round trip took 95
//! µs. Without a lead, this delay would count as the server's. A thread that is awake sends the PING within 2 µs, but
//! uses CPU time until then. So the lead follows a high percentile of the lateness: it is short on a busy machine that
//! wakes its threads at once.

use std::num::NonZeroU32;

use crate::clock::SECOND_NS;

/// The PING thread wakes at most this much before a PING is due: 150 µs.
const MOST_NS: u64 = 150_000;
/// At high rates, the lead is at most the time between two PINGs divided by this number.
const MOST_PART: u64 = 10;
/// How far the lead rises after a wake-up that was later than the lead, and falls after any other wake-up. The lead
/// settles at the 90th percentile of the lateness, where rise and fall balance.
const UP_NS: u64 = 4_500;
const DOWN_NS: u64 = 500;

/// The lead and its maximum, in ns.
#[derive(Debug)]
pub(super) struct Lead {
    /// The lead, in ns.
    pub(super) ns: u64,
    most_ns: u64,
}

impl Lead {
    /// Creates the lead for this many PINGs a second. The lead begins at its maximum.
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        let most_ns = MOST_NS.min(SECOND_NS / u64::from(per_second.get()) / MOST_PART);
        Self { ns: most_ns, most_ns }
    }

    /// Adjusts the lead after a sleep that ended `late_ns` later than planned.
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
        // Late by 0 to 99 µs, in an order without a trend.
        for n in 0..100_000_u64 {
            lead.learn(n * 37 % 100 * 1_000);
        }
        assert!((80_000..100_000).contains(&lead.ns), "{}", lead.ns);
    }

    #[test]
    fn it_is_never_longer_than_it_may_be() {
        let [mut usual, mut fast] = [lead(100), lead(10_000)];
        for _ in 0..1000 {
            usual.learn(5_000_000);
            fast.learn(5_000_000);
        }
        assert_eq!((usual.ns, fast.ns), (150_000, 10_000));
    }

    #[test]
    fn a_machine_that_wakes_at_once_is_asked_for_next_to_nothing() {
        let mut lead = lead(100);
        (0..1000).for_each(|_| lead.learn(3_000));
        assert!(lead.ns < 8_000, "{}", lead.ns);
    }
}
