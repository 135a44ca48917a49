//! How far an open loop is behind its schedule.

use crate::session::Interval;

/// A send lag is reported from this length on, in microseconds. Usual pauses of the server are shorter.
pub(super) const LATE_US: u64 = 100_000;
/// Below this send lag, in microseconds, the load has caught up.
pub(super) const CAUGHT_UP_US: u64 = 50_000;

/// How late an open loop is, and whether the server's pause is the reason.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Backlog {
    behind_us: u64,
    /// The longest wait for a reply since the load was last on schedule, in microseconds.
    pause_us: u64,
}

impl Backlog {
    /// Takes the next interval of the current segment.
    pub(super) fn push(&mut self, interval: &Interval) {
        let earlier_us = if interval.behind_us < CAUGHT_UP_US { 0 } else { self.pause_us };
        self.behind_us = interval.behind_us;
        self.pause_us = earlier_us.max(pause_us(interval));
    }

    /// Returns whether requests are late, but no later than the server's longest pause: the server did not answer for
    /// this time, and the load is catching up.
    pub(super) fn is_of_pause(self) -> bool {
        (CAUGHT_UP_US..=self.pause_us).contains(&self.behind_us) && self.pause_us >= LATE_US
    }
}

/// A wait for a reply is a pause of the server only if it is at least this many times the median.
const TIMES_THE_MEDIAN: u64 = 5;

/// Returns the longest wait for a reply in microseconds, also of the requests that still wait. Returns 0 if most
/// requests wait about as long: then the server is slow, and does not pause.
pub(super) fn pause_us(interval: &Interval) -> u64 {
    let longest_us = interval.waiting_us.max(interval.service.max_ns() / 1000);
    let usual_us = interval.service.value_at_quantile(0.5) / 1000;
    if longest_us >= TIMES_THE_MEDIAN * usual_us { longest_us } else { 0 }
}
