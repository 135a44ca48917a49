//! Finds the requests that were late because a worker thread of the load waited for a core. This module compares the
//! latencies with the time that the thread spent in the run queue.
//!
//! ```text
//!  request        |──────────────── 7 ms ───|
//!  worker   ██                 ░░░░░░░░░░███     ░ could run, and had no core: 5 ms of the 7
//! ```
//! An average over a second hides short waits. If the thread waits for 10 % of a second, this wait may explain the
//! whole latency of the slowest 1 % of the requests. A worker reads the system's counter of these waits when it wakes
//! up, at most once per 0.5 ms. The worker therefore notices every wait for a core of more than 0.5 ms. The caller
//! reads the counter, so this module does no I/O.

use std::collections::VecDeque;

/// The shortest time between two readings of the system's counter. A reading costs a microsecond.
const READ_EVERY_NS: u64 = 500_000;
/// The shortest wait that counts: 0.1 ms. Shorter waits are ignored.
const WORTH_NS: u64 = 100_000;
/// How many readings of the counter are kept. If a request began before the oldest kept reading, a part of
/// its wait may be unknown.
const KEPT: usize = 512;

/// A reading of the system's counter.
#[derive(Debug, Clone, Copy)]
struct WaitReading {
    at_ns: u64,
    /// How long the worker has waited for a core since it started.
    waited_ns: u64,
}

/// A worker's record of its waits for a core.
pub(super) struct CoreWaits {
    readings: VecDeque<WaitReading>,
    next_ns: u64,
    /// The time when the worker last woke up after it had waited for at least [`WORTH_NS`], in ns.
    delayed_ns: u64,
}

impl CoreWaits {
    pub(super) fn new() -> Self {
        Self { readings: VecDeque::with_capacity(KEPT), next_ns: 0, delayed_ns: 0 }
    }

    /// Returns whether a worker that wakes up at `now_ns` must read the counter.
    #[inline]
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Adds a reading of the counter. Until `at_ns`, the worker has waited for a core for `waited_ns` in total.
    pub(super) fn read(&mut self, at_ns: u64, waited_ns: u64) {
        self.next_ns = at_ns + READ_EVERY_NS;
        if self.readings.back().is_some_and(|last| waited_ns.saturating_sub(last.waited_ns) >= WORTH_NS) {
            self.delayed_ns = at_ns;
        }
        if self.readings.len() == KEPT {
            self.readings.pop_front();
        }
        self.readings.push_back(WaitReading { at_ns, waited_ns });
    }

    /// Returns whether the worker waited for a core for at least half of the time from `since_ns` to `now_ns`.
    #[inline]
    pub(super) fn waited_half_of(&self, since_ns: u64, now_ns: u64) -> bool {
        since_ns < self.delayed_ns
            && self.waited_since(since_ns) >= WORTH_NS.max(now_ns.saturating_sub(since_ns) / 2)
    }

    #[cold]
    fn waited_since(&self, since_ns: u64) -> u64 {
        let after = self.readings.partition_point(|reading| reading.at_ns <= since_ns);
        let before = self.readings.get(after.saturating_sub(1));
        let last = self.readings.back();
        last.zip(before).map_or(0, |(last, before)| last.waited_ns.saturating_sub(before.waited_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Builds waits from pairs of reading time and total wait, both in milliseconds.
    fn waits(readings: &[(u64, u64)]) -> CoreWaits {
        let mut waits = CoreWaits::new();
        readings.iter().for_each(|(at, waited)| waits.read(at * MS, waited * MS));
        waits
    }

    #[test]
    fn a_request_was_held_if_its_worker_spent_half_of_the_time_in_the_run_queue() {
        let waits = waits(&[(1, 0), (2, 0), (9, 5)]);
        assert!(waits.waited_half_of(2 * MS, 9 * MS), "5 of 7 ms");
        assert!(waits.waited_half_of(3 * MS, 9 * MS), "the reading before it began counts");
        assert!(!waits.waited_half_of(0, 12 * MS), "5 of 12 ms");
        assert!(!waits.waited_half_of(9 * MS, 10 * MS), "it began when the wait was over");
    }

    #[test]
    fn a_worker_that_never_waited_held_nothing() {
        let waits = waits(&[(1, 3), (2, 3), (300, 3)]);
        assert!(!waits.waited_half_of(MS, 300 * MS));
        assert!(!CoreWaits::new().waited_half_of(MS, 300 * MS));
    }

    #[test]
    fn a_wait_of_less_than_a_tenth_of_a_millisecond_is_ignored() {
        let mut waits = waits(&[(1, 0)]);
        waits.read(2 * MS, 90_000);
        assert!(!waits.waited_half_of(2 * MS - 100_000, 2 * MS));
    }

    #[test]
    fn the_counter_is_read_at_most_twice_a_millisecond_and_memory_is_bounded() {
        let mut waits = CoreWaits::new();
        let mut readings = 0;
        for wake_up in 0..100_000 {
            let now_ns = wake_up * 20_000;
            if waits.is_due(now_ns) {
                waits.read(now_ns, 0);
                readings += 1;
            }
        }
        assert_eq!((readings, waits.readings.len(), waits.readings.capacity()), (4000, KEPT, KEPT));
    }
}
