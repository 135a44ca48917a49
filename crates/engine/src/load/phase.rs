//! The phases of the load (prefill, warm-up, measurement), and the conditions that end each phase. All workers are in
//! the same phase.
//!
//! ```text
//!  prefill ── its quota ──► warm-up ── its time ──► measured ──┬── its time ────────────────────┐
//!     │                        │                               ├── its quota: sent, answered ───┼──► the session ends it
//!     └────────────────────────┴────────────── by hand ────────┴── by hand ──► ended            ┘
//! ```
//! If a new workload needs a prefill, the measured phase is paused until the prefill is done. At the start, the load
//! also waits for the receivers of its workload to connect, and for the agents of its fleet to begin. This module does
//! no I/O and reads no clock.

use std::{sync::Arc, time::Duration};

use super::quota::Quota;
use crate::clock::SECOND_NS;

/// How long the load waits for its receivers: 10 s.
pub(super) const RECEIVERS_LIMIT_NS: u64 = 10 * SECOND_NS;

/// A phase of the load.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// The prefill, which writes the keys that a workload reads.
    Prefill {
        filling: PrefillRun,
        /// The phase that follows.
        then: Box<Phase>,
    },
    /// The load is off until its receivers are connected, or its agents have begun.
    Waiting {
        /// The time when the wait began, in ns.
        since_ns: u64,
        /// The phase that follows.
        then: Box<Phase>,
    },
    /// The warm-up, whose results are not part of the measurement. The measured phase follows.
    WarmUp {
        /// The time when the warm-up is over, in ns.
        until_ns: u64,
    },
    /// The measured load.
    Measured {
        /// The time when the load ends, in ns. `None` if the quota or the user ends the load.
        until_ns: Option<u64>,
        /// The number of operations that may be sent. `None` means no limit.
        quota: Option<Arc<Quota>>,
    },
    /// The load was ended by the user.
    Ended {
        /// The time when the load was ended, in ns.
        at_ns: u64,
    },
}

/// The prefill, which writes the keys that a workload reads.
#[derive(Debug, Clone)]
pub(super) struct PrefillRun {
    /// The requests of the prefill. A request that is lost with its connection is sent again.
    pub(super) quota: Arc<Quota>,
    /// The number of requests that a client writes before it waits for the replies.
    pub(super) pipeline: u32,
    /// The time when the prefill began, in ns.
    pub(super) since_ns: u64,
}

/// The conditions that end the measured phase.
#[derive(Debug, Clone)]
pub(super) struct Stops {
    /// How long the measured phase lasts.
    pub(super) length: Option<Duration>,
    /// How many operations the measured phase sends.
    pub(super) quota: Option<Arc<Quota>>,
}

impl Phase {
    /// Returns the first phase of a load that begins at `now_ns`.
    pub(super) fn first(warmup: Option<Duration>, stops: &Stops, now_ns: u64) -> Self {
        match warmup {
            Some(length) => Self::WarmUp { until_ns: after(length, now_ns) },
            None => Self::measured(stops, now_ns),
        }
    }

    fn measured(stops: &Stops, now_ns: u64) -> Self {
        let until_ns = stops.length.map(|length| after(length, now_ns));
        Self::Measured { until_ns, quota: stops.quota.clone() }
    }

    /// Returns the phase that follows this prefill or this wait for receivers. The returned phase ends later, by the
    /// length of the prefill or wait until `now_ns`. Any other phase is returned unchanged.
    pub(super) fn without_prefill(&self, now_ns: u64) -> Self {
        match self {
            Self::Prefill { filling, then } => then.later_by(now_ns.saturating_sub(filling.since_ns)),
            Self::Waiting { since_ns, then } => then.later_by(now_ns.saturating_sub(*since_ns)),
            other => other.clone(),
        }
    }

    /// Returns this phase with an end that is `pause_ns` nanoseconds later.
    pub(super) fn later_by(&self, pause_ns: u64) -> Self {
        match self.clone() {
            Self::WarmUp { until_ns } => Self::WarmUp { until_ns: until_ns.saturating_add(pause_ns) },
            Self::Measured { until_ns, quota } => {
                Self::Measured { until_ns: until_ns.map(|ns| ns.saturating_add(pause_ns)), quota }
            }
            other => other,
        }
    }

    /// Returns the prefill, if this phase is one.
    pub(super) fn prefill(&self) -> Option<&PrefillRun> {
        if let Self::Prefill { filling, .. } = self { Some(filling) } else { None }
    }

    /// Returns the phase at `now_ns`. If this phase is a warm-up whose time is over, returns the measured
    /// phase. Otherwise, returns this phase.
    pub(super) fn at(&self, now_ns: u64, stops: &Stops) -> Self {
        match self {
            Self::WarmUp { until_ns } if now_ns >= *until_ns => Self::measured(stops, now_ns),
            _ => self.clone(),
        }
    }

    /// Returns whether this is the warm-up, which has separate results.
    pub(super) fn is_warmup(&self) -> bool {
        matches!(self, Self::WarmUp { .. })
    }

    /// Returns the time when the load ends, in ns, or `u64::MAX` if the end is unknown.
    pub(super) fn load_ends_ns(&self) -> u64 {
        match self {
            Self::Prefill { .. } | Self::WarmUp { .. } | Self::Measured { until_ns: None, .. } => u64::MAX,
            Self::Measured { until_ns: Some(at_ns), .. } | Self::Ended { at_ns } => *at_ns,
            // The wait ends after this limit at the latest.
            Self::Waiting { then, .. } => then.load_ends_ns().saturating_add(RECEIVERS_LIMIT_NS),
        }
    }

    /// Returns the quota of the measured phase. `None` means no limit. During a prefill, this is the quota of the
    /// phase after the prefill.
    pub(super) fn quota(&self) -> Option<&Arc<Quota>> {
        match self {
            Self::Prefill { then, .. } | Self::Waiting { then, .. } => then.quota(),
            Self::Measured { quota, .. } => quota.as_ref(),
            Self::WarmUp { .. } | Self::Ended { .. } => None,
        }
    }
}

fn after(length: Duration, since_ns: u64) -> u64 {
    since_ns.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefill_pauses_the_time_of_the_next_phase() {
        let stops = Stops { length: Some(Duration::from_nanos(100)), quota: None };
        let fill = |then: Phase, since_ns| {
            let filling = PrefillRun { quota: Quota::new(9), pipeline: 16, since_ns };
            Phase::Prefill { filling, then: Box::new(then) }
        };
        let first = fill(Phase::first(Some(Duration::from_nanos(50)), &stops, 10), 10);
        let requests = first.prefill().map(|filling| filling.quota.total);
        assert_eq!((first.load_ends_ns(), requests), (u64::MAX, Some(9)));
        assert!(!first.at(1000, &stops).is_warmup(), "no time ends it");
        let warmup = first.without_prefill(1010);
        assert!(warmup.at(1059, &stops).is_warmup() && !warmup.at(1060, &stops).is_warmup());
        let measured = Phase::first(None, &stops, 0);
        assert_eq!(fill(measured.clone(), 40).without_prefill(240).load_ends_ns(), 300);
        let waiting = Phase::Waiting { since_ns: 0, then: Box::new(measured) };
        assert_eq!(waiting.load_ends_ns(), 100 + RECEIVERS_LIMIT_NS);
        assert_eq!(waiting.without_prefill(30).load_ends_ns(), 130);
    }

    #[test]
    fn a_phase_of_any_length_ends_after_it_began() {
        let stops = Stops { length: Some(Duration::MAX), quota: None };
        assert_eq!(Phase::first(None, &stops, 10).load_ends_ns(), u64::MAX);
        assert!(Phase::first(stops.length, &stops, 10).at(11, &stops).is_warmup());
    }

    #[test]
    fn a_warm_up_has_neither_the_time_nor_the_quota_of_the_measured_phase() {
        let quota = Some(Quota::new(5));
        let stops = Stops { length: Some(Duration::from_nanos(100)), quota };
        let warmup = Phase::first(Some(Duration::from_nanos(50)), &stops, 10);
        assert!(warmup.is_warmup() && warmup.at(59, &stops).is_warmup());
        assert_eq!((warmup.load_ends_ns(), warmup.quota().is_some()), (u64::MAX, false));
        // The thread that changes the phase may be late. The measured time counts from the moment when the
        // phase takes effect.
        let measured = warmup.at(75, &stops);
        assert_eq!((measured.load_ends_ns(), measured.quota().is_some()), (175, true));
        assert_eq!(measured.at(170, &stops).load_ends_ns(), 175, "a change of the knobs keeps the phase");
        assert_eq!(Phase::Ended { at_ns: 80 }.at(90, &stops).load_ends_ns(), 80);
    }
}
