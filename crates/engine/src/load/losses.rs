//! The load engine's events for lost connections. A worker reports its lost connections once per tick (250 ms). One
//! report can therefore contain a thousand lost connections.

/// An event of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadEvent {
    /// A worker has lost connections, or has reopened lost connections, since its last tick. A worker is a thread of
    /// the load, and a tick lasts 250 ms. The worker sends this event before the counts of the tick.
    Losses {
        /// The worker's number, from 0.
        worker: usize,
        /// The losses.
        report: LossReport,
    },
    /// A worker lost its only remaining connection.
    Down {
        /// The time when the connection was lost, in ns.
        at_ns: u64,
        /// The worker's number, from 0.
        worker: usize,
    },
    /// A worker that had no connection left has a connection again.
    Up {
        /// The time when the connection came back, in ns.
        at_ns: u64,
        /// The worker's number, from 0.
        worker: usize,
    },
    /// A worker met the first error of a kind.
    FirstError {
        /// The error's kind.
        kind: String,
        /// The error's message.
        message: String,
    },
    /// A worker died, and the connections of its clients are closed.
    Died {
        /// The time when the worker died, in ns.
        at_ns: u64,
        /// The reason why the worker died.
        cause: String,
    },
}

/// The losses and returns of a worker's connections since the last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LossReport {
    /// How often a connection was lost, or failed to open.
    pub lost: u64,
    /// The time when the first loss occurred, in ns.
    pub first_ns: u64,
    /// The reason why the first loss occurred.
    pub cause: String,
    /// The time when the last lost connection came back, in ns, or 0 if no connection came back.
    pub back_ns: u64,
    /// Clients that lost their connection and are not connected again yet.
    pub still_lost: u64,
}

/// A worker's losses since its last report.
#[derive(Debug, Default)]
pub(super) struct ConnectionLosses {
    report: LossReport,
    /// Whether every connection was lost according to the last report.
    is_down: bool,
}

impl ConnectionLosses {
    /// Notes that a client lost its connection.
    pub(super) fn lost(&mut self, at_ns: u64, cause: impl FnOnce() -> String) {
        if self.report.lost == 0 {
            self.report.first_ns = at_ns;
            self.report.cause = cause();
        }
        self.report.lost += 1;
    }

    /// Notes that a client has a connection again.
    pub(super) fn back(&mut self, at_ns: u64) {
        self.report.back_ns = at_ns;
    }

    /// Returns `is_down` (whether all connections are lost) if the value has changed since the last call. Otherwise
    /// returns `None`.
    pub(super) fn down_change(&mut self, is_down: bool) -> Option<bool> {
        (std::mem::replace(&mut self.is_down, is_down) != is_down).then_some(is_down)
    }

    /// Returns the report at the end of a tick, if a connection was lost or has come back.
    pub(super) fn report(&mut self, still_lost: u64) -> Option<LossReport> {
        let changed = self.report.lost > 0 || self.report.back_ns > 0 || self.report.still_lost != still_lost;
        self.report.still_lost = still_lost;
        let next = LossReport { still_lost, ..LossReport::default() };
        changed.then(|| std::mem::replace(&mut self.report, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_a_tick_are_one_report() {
        let mut losses = ConnectionLosses::default();
        (0..1000).for_each(|n| losses.lost(100 + n, || format!("reset {n}")));
        let report = losses.report(1000).unwrap();
        assert_eq!((report.lost, report.first_ns, report.cause.as_str()), (1000, 100, "reset 0"));
        assert_eq!(losses.report(1000), None);
        losses.back(700);
        let report = losses.report(0).unwrap();
        assert_eq!((report.lost, report.back_ns, report.still_lost), (0, 700, 0));
        assert_eq!(losses.report(0), None);
    }

    #[test]
    fn that_all_are_lost_is_reported_when_it_changes() {
        let mut losses = ConnectionLosses::default();
        let turns: Vec<_> = [false, true, true, false].map(|is_down| losses.down_change(is_down)).into();
        assert_eq!(turns, [None, Some(true), None, Some(false)]);
    }
}
