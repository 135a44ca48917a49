//! The delay of an open loop behind its schedule.

use crate::session::Interval;

/// The smallest send lag that is reported, in microseconds. Usual pauses of the server are shorter.
pub(super) const LATE_US: u64 = 100_000;
/// Below this send lag, in microseconds, the load has caught up.
pub(super) const CAUGHT_UP_US: u64 = 50_000;

/// The send lag of an open loop, and whether a pause of the server is the reason.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Backlog {
    behind_us: u64,
    /// The longest wait for a reply since the load was last on schedule, in microseconds.
    pause_us: u64,
    /// The smallest send lag since the last pause of the server, in microseconds.
    least_us: u64,
}

impl Backlog {
    /// Takes the next interval of the current segment.
    pub(super) fn push(&mut self, interval: &Interval) {
        let (behind_us, pause_us) = (interval.behind_us, pause_us(interval));
        self.least_us = if pause_us >= LATE_US { behind_us } else { self.least_us.min(behind_us) };
        // A lag that grows when the server answers again has another cause than the pause.
        let is_over = behind_us < CAUGHT_UP_US || behind_us > self.least_us.saturating_add(CAUGHT_UP_US);
        self.behind_us = behind_us;
        self.pause_us = if is_over { pause_us } else { self.pause_us.max(pause_us) };
    }

    /// Returns whether requests are late only because the server paused, and the load is catching up. The send lag is
    /// then at most as long as the server's longest pause.
    pub(super) fn is_of_pause(self) -> bool {
        (CAUGHT_UP_US..=self.pause_us).contains(&self.behind_us) && self.pause_us >= LATE_US
    }
}

/// A wait for a reply counts as a pause of the server only if the wait is at least this many times the median.
const TIMES_THE_MEDIAN: u64 = 5;

/// Returns the length of the server's pause in microseconds. If the server pauses, all clients wait. The length is
/// therefore the longest wait that at least half of the clients saw. A longer wait of requests without a reply also
/// counts. Returns 0 if most requests wait about as long: the server is then slow, and does not pause.
pub(super) fn pause_us(interval: &Interval) -> u64 {
    let Interval { service, waiting_us, clients, .. } = interval;
    let others = f64::from(clients.div_ceil(2).max(1) - 1) / service.count().max(1) as f64;
    let answered_us = service.value_at_quantile((1.0 - others).max(0.0)) / 1000;
    let unanswered_us = if *waiting_us > service.max_ns() / 1000 { *waiting_us } else { 0 };
    let (longest_us, usual_us) = (answered_us.max(unanswered_us), service.value_at_quantile(0.5) / 1000);
    if longest_us >= TIMES_THE_MEDIAN * usual_us { longest_us } else { 0 }
}
