//! The schedule of the ping probe. The due time of a PING depends only on its index. A late server or a late client
//! therefore changes no due time, and no PING is left out.

use std::num::NonZeroU32;

use crate::clock::SECOND_NS;

/// The due times of a series of PINGs. PING k is due at `start + k / rate`.
#[derive(Debug)]
pub(super) struct Schedule {
    start_ns: u64,
    per_second: u64,
    next: u64,
}

impl Schedule {
    /// Creates a schedule that begins at `start_ns`.
    pub(super) fn new(start_ns: u64, per_second: NonZeroU32) -> Self {
        Self { start_ns, per_second: per_second.get().into(), next: 0 }
    }

    /// Returns the due time of the next PING, in ns.
    pub(super) fn next_due_ns(&self) -> u64 {
        // The time is computed from whole seconds and the rest, so that even a long uptime causes no
        // overflow, and no rounding error accumulates.
        let (s, rest) = (self.next / self.per_second, self.next % self.per_second);
        self.start_ns + s * SECOND_NS + rest * SECOND_NS / self.per_second
    }

    /// Returns the due time of the next PING, and moves on to the following PING. Returns `None` if the next PING is
    /// due after `now_ns`.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_due_ns();
        if due_ns > now_ns {
            return None;
        }
        self.next += 1;
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(per_second: u32) -> Schedule {
        Schedule::new(1_000, NonZeroU32::new(per_second).unwrap())
    }

    #[test]
    fn after_a_second_of_lateness_a_hundred_pings_are_due() {
        let mut schedule = schedule(100);
        let due: Vec<_> = std::iter::from_fn(|| schedule.take_due(1_000 + SECOND_NS - 1)).collect();
        assert_eq!(due.len(), 100);
        assert_eq!((due[0], due[1], due[99]), (1_000, 10_001_000, 990_001_000));
    }

    #[test]
    fn rates_that_do_not_divide_a_second_do_not_drift() {
        let mut schedule = schedule(3);
        let due: Vec<_> = std::iter::from_fn(|| schedule.take_due(1_000 + SECOND_NS)).collect();
        assert_eq!(due, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
    }
}
