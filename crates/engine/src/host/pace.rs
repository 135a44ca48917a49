//! Decides how often redyno reads a costly part of `/proc`, so that the readings take little CPU time.

use super::own_thread;
use crate::clock::SECOND_NS;

/// The pause after a reading, as a multiple of the reading's CPU time. With this multiple, readings take at most 0.4 %
/// of a core.
const REST: u64 = 250;

/// The schedule of a regular reading that is costly.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingSchedule {
    every_ns: u64,
    due_ns: u64,
    began_cpu_ns: u64,
    /// The number of schedules that together may use as much CPU time as one schedule alone.
    sharers: u64,
    /// The CPU time of the last reading, in ns.
    pub(super) cost_ns: u64,
}

impl ReadingSchedule {
    /// Creates the schedule of a reading that is repeated every `every_ns` ns, or less often if the reading is costly.
    pub(super) fn every(every_ns: u64) -> Self {
        Self { every_ns, due_ns: 0, began_cpu_ns: 0, sharers: 1, cost_ns: 0 }
    }

    /// Sets the number of schedules that share the CPU time of one schedule.
    pub(super) fn set_sharers(&mut self, sharers: u64) {
        self.sharers = sharers.max(1);
    }

    /// Returns whether a reading is due at `at_ns`. A reading that is due begins.
    pub(super) fn begins(&mut self, at_ns: u64) -> bool {
        self.began_cpu_ns = own_thread::cpu_ns();
        at_ns >= self.due_ns
    }

    /// Ends the reading that began at `at_ns`, on the same thread.
    pub(super) fn end(&mut self, at_ns: u64) {
        self.cost_ns = own_thread::cpu_ns().saturating_sub(self.began_cpu_ns);
        self.due_ns = at_ns.saturating_add(self.rest_ns());
    }

    /// Returns the time between the last reading and the next reading, in ns.
    pub(super) fn rest_ns(&self) -> u64 {
        // Half a second is subtracted because the calls come once a second, but not exactly.
        self.every_ns.max(self.cost_ns.saturating_mul(REST * self.sharers)).saturating_sub(SECOND_NS / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_reading_is_repeated_rarely() {
        let mut pace = ReadingSchedule::every(2 * SECOND_NS);
        assert!(pace.begins(0));
        pace.end(0);
        assert!(!pace.begins(SECOND_NS));
        assert!(pace.begins(2 * SECOND_NS - 1));
        let until_ns = own_thread::cpu_ns() + 50_000_000;
        while own_thread::cpu_ns() < until_ns {
            std::hint::spin_loop();
        }
        pace.end(2 * SECOND_NS);
        assert!(!pace.begins(6 * SECOND_NS));
        let alone_ns = pace.rest_ns();
        pace.set_sharers(3);
        assert_eq!(pace.rest_ns() + SECOND_NS / 2, 3 * (alone_ns + SECOND_NS / 2));
    }
}
