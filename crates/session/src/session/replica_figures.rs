//! Adds two figures to a replica's records that the replica does not report itself: its measured lag, and its progress
//! according to its primary.

use crate::{
    clock::seconds,
    gauge::{Gauge, Gauges},
    server::ReplicaProgress,
};

/// The age from which a report of the primary is too old, in seconds. A primary is polled at least every 3 s (see
/// `Commission::poll_every`).
const TOO_OLD_S: f64 = 3.5;

/// The figures for the next report of a replica's control plane.
#[derive(Debug, Default)]
pub(super) struct ReplicaFigures {
    /// The longest measured lag since the last report.
    lag_ns: Option<u64>,
    /// The last report of the primary, and its time in seconds of the session.
    progress: Option<(f64, ReplicaProgress)>,
}

impl ReplicaFigures {
    /// Adds a measured lag.
    pub(super) fn hear_lag(&mut self, lag_ns: u64) {
        self.lag_ns = self.lag_ns.max(Some(lag_ns));
    }

    /// Adds a report of the primary at `t_s`, in seconds of the session.
    pub(super) fn hear_progress(&mut self, t_s: f64, progress: &ReplicaProgress) {
        self.progress = Some((t_s, progress.clone()));
    }

    /// Adds the figures to the gauges that the replica reports at `at_ns`.
    pub(super) fn fill(&mut self, at_ns: u64, gauges: &mut Gauges) {
        let lag_us = self.lag_ns.take().map(|lag_ns| lag_ns as f64 / 1e3);
        gauges.set(Gauge::MeasuredLag, lag_us.map(f64::round));
        let fresh = self.progress.as_ref().filter(|(t_s, _)| seconds(at_ns) - t_s < TOO_OLD_S);
        gauges.set(Gauge::Behind, fresh.map(|(_, progress)| progress.behind as f64));
        gauges.set(Gauge::LastAck, fresh.and_then(|(_, progress)| progress.ack_s).map(|s| s as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_lag_counts_once_and_a_report_of_the_primary_until_it_is_too_old() {
        let mut replica = ReplicaFigures::default();
        replica.hear_lag(7_400);
        replica.hear_lag(1_000);
        replica.hear_progress(1.0, &ReplicaProgress { behind: 40, ack_s: Some(1), ..Default::default() });
        let mut at = |s: u64| {
            let mut gauges = Gauges::default();
            replica.fill(s * 1_000_000_000, &mut gauges);
            [Gauge::MeasuredLag, Gauge::Behind, Gauge::LastAck].map(|gauge| gauges.get(gauge))
        };
        assert_eq!(at(2), [Some(7.0), Some(40.0), Some(1.0)]);
        assert_eq!(at(3), [None, Some(40.0), Some(1.0)]);
        assert_eq!(at(4), [None, Some(40.0), Some(1.0)], "with many nodes, a primary is polled every 3 s");
        assert_eq!(at(5), [None; 3], "the primary does not report any more");
    }
}
