//! The last run of the intrinsic probe.

use crate::{probe::Intrinsic, stats::Latency};

/// The last run of the intrinsic probe: its reports in one.
#[derive(Debug, Clone, PartialEq)]
pub struct IntrinsicRun {
    /// Whether it is the gentle form, which samples a tenth of the time.
    pub gentle: bool,
    /// When its first report ended.
    pub began_s: f64,
    /// When its last report ended.
    pub t_s: f64,
    /// Nanoseconds spent in the loop.
    pub busy_ns: u64,
    /// Turns of the loop.
    pub runs: u64,
    /// How long each turn took.
    pub gaps: Latency,
    /// Seconds to go at the last report; `None` in the gentle form.
    pub remaining_s: Option<f64>,
}

impl IntrinsicRun {
    /// A run that begins with `report`, which ended at `t_s`.
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

    /// Whether `report` goes on with this run and does not begin another.
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

    /// Whether a run on demand still runs.
    pub fn is_running(&self) -> bool {
        self.remaining_s.is_some_and(|s| s > 0.0)
    }

    /// How many times longer than an average turn the worst took, as redis-cli prints it.
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
    fn a_second_run_on_demand_begins_anew() {
        let mut run = IntrinsicRun::begin(1.0, &report(Some(0.25)));
        assert!(run.is_running() && run.goes_on_with(&report(Some(0.0))));
        run.push(1.25, &report(Some(0.0)));
        assert_eq!((run.runs, run.is_running()), (20, false));
        assert!(!run.goes_on_with(&report(Some(9.75))));
        assert!(!run.goes_on_with(&report(None)));
    }
}
