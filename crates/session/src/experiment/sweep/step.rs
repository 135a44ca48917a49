//! A step: the part left out after the change, the measurement, and when it is long enough.

use crate::{
    experiment::stretch::{ENOUGH_FOR_P99, Window},
    session::Interval,
    stats::is_steady,
};

/// The part left out after a change: at least, and at most if requests of the previous step are still in flight.
const SETTLE_S: (f64, f64) = (0.5, 5.0);
/// The least and the greatest length of a step's measurement.
const LENGTH_S: (f64, f64) = (3.0, 10.0);
/// The required precision of the mean throughput, as a share of it.
const THROUGHPUT: f64 = 0.02;
/// The same for the mean response time, which decides under a rate and varies more.
const RESPONSE: f64 = 0.05;

/// A step in progress.
#[derive(Debug, Clone)]
pub(super) struct Step {
    stretch: Window,
    /// Replies per second, tick by tick.
    ops_per_s: Vec<f64>,
    /// Mean response times under a rate, in ns.
    response_ns: Vec<f64>,
}

impl Step {
    /// A step whose setting is in force since `since_s`; the slowest requests took `in_flight_s` recently.
    pub(super) fn new(since_s: f64, in_flight_s: f64) -> Self {
        let settle_s = (2.0 * in_flight_s).clamp(SETTLE_S.0, SETTLE_S.1);
        let stretch = Window::after_backlog(since_s, settle_s);
        Self { stretch, ops_per_s: Vec::new(), response_ns: Vec::new() }
    }

    /// Takes the next measurement; returns whether it is long enough.
    pub(super) fn take(&mut self, interval: &Interval) -> bool {
        if !self.stretch.take(interval) {
            return false;
        }
        self.ops_per_s.push(interval.ops_per_s);
        self.response_ns.extend(interval.response.as_ref().map(crate::stats::Latency::mean_ns));
        self.stretch.has(LENGTH_S.1) || (self.stretch.has(LENGTH_S.0) && self.is_enough() && self.is_steady())
    }

    fn is_enough(&self) -> bool {
        let measured = self.measured();
        measured.response.as_ref().unwrap_or(&measured.service).count() >= ENOUGH_FOR_P99
    }

    /// Whether its figures are steady.
    pub(super) fn is_steady(&self) -> bool {
        is_steady(&self.ops_per_s, THROUGHPUT)
            && (self.response_ns.is_empty() || is_steady(&self.response_ns, RESPONSE))
    }

    /// All measurements so far.
    pub(super) fn measured(&self) -> &Interval {
        self.stretch.measured()
    }
}
