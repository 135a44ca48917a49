//! One measurement of an experiment: the results of the load under one setting, from a given time on.

use crate::session::Interval;

/// Above this send lag, in microseconds, an open loop has a backlog.
const LATE_US: u64 = 10_000;
/// The time after a switch, in seconds, in which a backlog belongs to the previous setting. A later backlog belongs to
/// the new setting.
const BACKLOG_S: f64 = 5.0;
/// The number of samples that a p99 needs.
pub(super) const ENOUGH_FOR_P99: u64 = 1100;

/// The minimum and the maximum of the time after a change that is not measured, in seconds.
const SETTLE_S: (f64, f64) = (0.5, 5.0);

/// Returns the time after a change that is not measured, in seconds. Requests are in flight for about `in_flight_s`
/// seconds.
pub(super) fn settle_s(in_flight_s: f64) -> f64 {
    (2.0 * in_flight_s).clamp(SETTLE_S.0, SETTLE_S.1)
}

/// A measurement in progress.
#[derive(Debug, Clone)]
pub(super) struct Measurement {
    start_s: f64,
    /// The latest start of a measurement that a backlog delays, in seconds since the session began.
    backlog_until_s: f64,
    has_begun: bool,
    /// The measurement so far.
    pub(super) measured: Interval,
}

impl Measurement {
    /// Returns a measurement that starts at `start_s`, in seconds since the session began.
    pub(super) fn from(start_s: f64) -> Self {
        Self { start_s, backlog_until_s: start_s, has_begun: false, measured: Interval::default() }
    }

    /// Returns a measurement under a setting that has been in effect since `since_s`. The first `settle_s` seconds are
    /// not measured. In an open loop, the backlog of the previous setting is not measured either.
    pub(super) fn after_backlog(since_s: f64, settle_s: f64) -> Self {
        Self { backlog_until_s: since_s + BACKLOG_S, ..Self::from(since_s + settle_s) }
    }

    /// Adds the next interval if it belongs to this measurement. Returns whether the interval belongs to this
    /// measurement.
    pub(super) fn take(&mut self, interval: &Interval) -> bool {
        let began_s = interval.t_s - interval.length_s;
        let is_behind = interval.response.is_some() && interval.behind_us > LATE_US;
        let is_of_before = !self.has_begun && is_behind && began_s < self.backlog_until_s - 1e-6;
        let is_of_it = began_s >= self.start_s - 1e-6 && !is_of_before;
        if is_of_it {
            self.has_begun = true;
            self.measured.merge(interval);
        }
        is_of_it
    }

    /// Returns the measurement so far and begins a new measurement. The new measurement follows without a gap.
    pub(super) fn next(&mut self) -> Interval {
        std::mem::take(&mut self.measured)
    }

    /// Returns whether the measurement has at least this length.
    pub(super) fn has(&self, length_s: f64) -> bool {
        self.measured.length_s >= length_s - 1e-6
    }
}
