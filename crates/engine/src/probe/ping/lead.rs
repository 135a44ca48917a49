//! The lead time of the ping probe. The probe's thread wakes up this long before a PING is due. redyno adapts the lead
//! time to the lateness of recent wake-ups.
//!
//! A sleeping thread wakes up late. On an idle virtual machine with round trips of 95 µs, the median lateness was 90
//! µs. Without a lead time, the late wake-up would count as a delay of the server. If the thread wakes up early, the
//! thread waits in a busy loop and sends the PING within 2 µs of the due time. This wait uses CPU time. The lead time
//! therefore follows a high percentile of the lateness. A busy machine wakes its threads at once, so the lead time is
//! short there.

use std::num::NonZeroU32;

use crate::clock::SECOND_NS;

/// The longest lead time: 150 µs.
const MOST_NS: u64 = 150_000;
/// At high rates, the lead time is limited to the time between two PINGs, divided by this number.
const MOST_PART: u64 = 10;
/// The increase of the lead time after a wake-up that was later than the lead time, in ns. The lead time settles at the
/// 90th percentile of the lateness. There, increases and decreases balance.
const UP_NS: u64 = 4_500;
/// The decrease of the lead time after any other wake-up, in ns.
const DOWN_NS: u64 = 500;

/// The lead time and its maximum, in ns.
pub(super) struct Lead {
    /// The lead time, in ns.
    pub(super) ns: u64,
    most_ns: u64,
}

impl Lead {
    /// Creates the lead time for this many PINGs a second. The lead time begins at its maximum.
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        let most_ns = MOST_NS.min(SECOND_NS / u64::from(per_second.get()) / MOST_PART);
        Self { ns: most_ns, most_ns }
    }

    /// Adjusts the lead time after a sleep that ended `late_ns` later than planned.
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
    fn the_lead_settles_above_nine_of_ten_wake_ups() {
        let mut lead = lead(100);
        // Late by 0 to 99 µs, in an order without a trend.
        for n in 0..100_000_u64 {
            lead.learn(n * 37 % 100 * 1_000);
        }
        assert!((80_000..100_000).contains(&lead.ns), "{}", lead.ns);
    }

    #[test]
    fn the_lead_never_exceeds_its_maximum() {
        let [mut usual, mut fast] = [lead(100), lead(10_000)];
        for _ in 0..1000 {
            usual.learn(5_000_000);
            fast.learn(5_000_000);
        }
        assert_eq!((usual.ns, fast.ns), (150_000, 10_000));
    }

    #[test]
    fn on_a_machine_that_wakes_threads_at_once_the_lead_is_short() {
        let mut lead = lead(100);
        (0..1000).for_each(|_| lead.learn(3_000));
        assert!(lead.ns < 8_000, "{}", lead.ns);
    }
}
