//! The session's last run of the intrinsic probe, which measures the latency of the machine without any
//! server.

use crate::{probe::Intrinsic, stats::Latency};

/// The sum of all reports of one run of the intrinsic probe, which measures this machine's own
/// latency.
#[derive(Debug, Clone, PartialEq)]
pub struct IntrinsicRun {
    /// Whether the run is gentle. A gentle run measures only during a tenth of the time.
    pub gentle: bool,
    /// The end of the run's first report, in seconds of the session.
    pub began_s: f64,
    /// The end of the run's last report, in seconds of the session.
    pub t_s: f64,
    /// The time that the probe has spent in its loop, in nanoseconds.
    pub busy_ns: u64,
    /// The number of iterations of the loop.
    pub runs: u64,
    /// The duration of each iteration.
    pub gaps: Latency,
    /// The remaining seconds at the last report. `None` for a gentle run.
    pub remaining_s: Option<f64>,
}

impl IntrinsicRun {
    /// Returns a run with its first report, which ended at `t_s`.
    pub(super) fn begin(t_s: f64, report: &Intrinsic) -> Self {
        Self {
            gentle: report.gentle,
            began_s: t_s,
            t_s,
            busy_ns: report.busy_ns,
            runs: report.runs,
            gaps: report.gaps.clone(),
            remaining_s: report.remaining_s,
        }
    }

    /// Returns whether `report` belongs to this run of the probe. If `report` does not belong to this run, the next run
    /// has begun.
    pub(super) fn goes_on_with(&self, report: &Intrinsic) -> bool {
        let not_longer = match (self.remaining_s, report.remaining_s) {
            (Some(before), Some(after)) => before > 0.0 && after <= before,
            _ => true,
        };
        self.gentle == report.gentle && not_longer
    }

    pub(super) fn push(&mut self, t_s: f64, report: &Intrinsic) {
        self.t_s = t_s;
        self.busy_ns += report.busy_ns;
        self.runs += report.runs;
        self.gaps.merge(&report.gaps);
        self.remaining_s = report.remaining_s;
    }

    /// Returns whether this is a run on demand that has not ended yet.
    pub fn is_running(&self) -> bool {
        self.remaining_s.is_some_and(|s| s > 0.0)
    }

    /// Returns the duration of the longest iteration divided by the mean duration.
    /// `redis-cli --intrinsic-latency` prints this ratio too.
    pub fn worst_ratio(&self) -> Option<f64> {
        let mean_ns = self.busy_ns as f64 / self.runs.max(1) as f64;
        (mean_ns > 0.0).then(|| self.gaps.max_ns() as f64 / mean_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(remaining_s: Option<f64>) -> Intrinsic {
        Intrinsic {
            gentle: remaining_s.is_none(),
            busy_ns: 1000,
            runs: 10,
            remaining_s,
            ..Intrinsic::default()
        }
    }

    #[test]
    fn a_second_run_on_demand_is_a_new_run() {
        let mut run = IntrinsicRun::begin(1.0, &report(Some(0.25)));
        assert!(run.is_running() && run.goes_on_with(&report(Some(0.0))));
        run.push(1.25, &report(Some(0.0)));
        assert_eq!((run.runs, run.is_running()), (20, false));
        assert!(!run.goes_on_with(&report(Some(9.75))));
        assert!(!run.goes_on_with(&report(None)));
    }
}
