//! A step of a sweep: the measurement at one value. The first moments after the change are not measured. The
//! measurement then continues until the figures are steady.

use crate::{
    experiment::measurement::{ENOUGH_FOR_P99, Measurement, settle_s},
    session::{Interval, timeline::GaugeMeans},
    stats::is_steady,
};

/// The minimum and the maximum length of a measurement, in seconds.
const LENGTH_S: (f64, f64) = (3.0, 10.0);
/// The required relative precision of the mean throughput.
const THROUGHPUT: f64 = 0.02;
/// The required relative precision of the mean response time in open loops. Response times vary more than throughput.
const RESPONSE: f64 = 0.05;

/// A step in progress.
#[derive(Debug, Clone)]
pub(super) struct SweepStep {
    stretch: Measurement,
    /// The replies per second in each tick (measured interval).
    ops_per_s: Vec<f64>,
    /// The mean response time of each tick (measured interval) in an open loop, in nanoseconds.
    response_ns: Vec<f64>,
    /// The means of gauges since the setting has been in effect.
    pub(super) gauges: GaugeMeans,
}

impl SweepStep {
    /// Returns a step with a setting that has been in effect since `since_s`. Requests are in flight for
    /// about `in_flight_s` seconds.
    pub(super) fn new(since_s: f64, in_flight_s: f64) -> Self {
        let stretch = Measurement::after_backlog(since_s, settle_s(in_flight_s));
        Self { stretch, ops_per_s: Vec::new(), response_ns: Vec::new(), gauges: GaugeMeans::default() }
    }

    /// Takes the next interval. Returns whether the measurement is long enough.
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

    /// Returns whether the figures are steady.
    pub(super) fn is_steady(&self) -> bool {
        is_steady(&self.ops_per_s, THROUGHPUT)
            && (self.response_ns.is_empty() || is_steady(&self.response_ns, RESPONSE))
    }

    /// Returns the measurement so far.
    pub(super) fn measured(&self) -> &Interval {
        &self.stretch.measured
    }
}
