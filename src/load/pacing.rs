//! When the next batch may be sent under a rate.
//!
//! A cap: a batch of P requests makes the next one wait P intervals, counted from when it was due, so lateness does
//! not add up. After a stall of more than [`CATCH_UP_NS`] what was missed stays missed.

use crate::clock::SECOND_NS;

/// How much lateness of our own is made good by sending sooner. Longer than any wake-up takes, shorter than what a
/// person would call a burst.
const CATCH_UP_NS: f64 = 10e6;

/// The pace of one worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Time between two requests; `None` sends as fast as replies come.
    interval_ns: Option<f64>,
    next_ns: f64,
}

impl Pace {
    /// No cap.
    pub(super) fn unlimited() -> Self {
        Self { interval_ns: None, next_ns: 0.0 }
    }

    /// Changes to `per_second` requests (above 0) from `now_ns` on, or to no cap. `phase` (0 to 1) shifts the
    /// grid, so that workers do not all send at once.
    pub(super) fn change(&mut self, per_second: Option<f64>, phase: f64, now_ns: u64) {
        let now = now_ns as f64;
        let interval_ns = per_second.map(|rate| SECOND_NS as f64 / rate);
        if let Some(new) = interval_ns {
            // A batch that was due soon stays due; one that a slower pace put far away comes closer.
            let first = if self.interval_ns.is_some() { self.next_ns } else { now + phase * new };
            self.next_ns = first.clamp(now, now + new);
        }
        self.interval_ns = interval_ns;
    }

    /// Whether there is no cap.
    #[inline]
    pub(super) fn is_unlimited(&self) -> bool {
        self.interval_ns.is_none()
    }

    /// When the next batch is due; now, without a cap.
    pub(super) fn due_ns(&self, now_ns: u64) -> u64 {
        if self.is_unlimited() { now_ns } else { self.next_ns as u64 }
    }

    /// A batch of so many requests was sent.
    pub(super) fn sent(&mut self, requests: usize, now_ns: u64) {
        if let Some(interval) = self.interval_ns {
            let due = self.next_ns.max(now_ns as f64 - CATCH_UP_NS);
            self.next_ns = due + interval * requests as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_does_not_add_up() {
        let mut pace = Pace::unlimited();
        pace.change(Some(1000.0), 0.0, 0);
        let mut now = 0;
        for _ in 0..1000 {
            now = pace.due_ns(now) + 60_000;
            pace.sent(1, now);
        }
        assert_eq!(now, 999_000_000 + 60_000);
    }

    #[test]
    fn what_a_stall_missed_is_not_sent_in_a_burst() {
        let mut pace = Pace::unlimited();
        pace.change(Some(1000.0), 0.0, 0);
        pace.sent(1, 0);
        let after_stall = 3 * SECOND_NS;
        let mut burst = 0;
        while pace.due_ns(after_stall) <= after_stall {
            pace.sent(1, after_stall);
            burst += 1;
        }
        assert_eq!(burst, 11, "10 ms of 1000/s and the one that is due now");
    }

    #[test]
    fn a_batch_costs_as_many_intervals_as_it_has_requests() {
        let mut pace = Pace::unlimited();
        pace.change(Some(1000.0), 0.5, 0);
        assert_eq!(pace.due_ns(0), 500_000);
        pace.sent(16, 500_000);
        assert_eq!(pace.due_ns(0), 16_500_000);
    }

    #[test]
    fn a_faster_pace_does_not_wait_for_the_slower_ones_next_batch() {
        let mut pace = Pace::unlimited();
        pace.change(Some(1.0), 0.0, 0);
        pace.sent(1, 0);
        pace.change(Some(1000.0), 0.0, 10);
        assert_eq!(pace.due_ns(10), 1_000_010);
        pace.change(None, 0.0, 10);
        assert_eq!(pace.due_ns(10), 10);
    }
}
