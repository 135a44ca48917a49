//! What the load is for at the moment, and what ends that: one value, which every worker goes by.
//!
//! ```text
//!  warm-up ── its time ──► measured ──┬── its time ────────────────────┐
//!     │                               ├── its quota: sent, answered ───┼──► the session ends it
//!     └────────────── by hand ────────┴── by hand ──► ended            ┘
//! ```
//! Pure.

use std::{sync::Arc, time::Duration};

use super::quota::Quota;

/// A phase of the load.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Counts for nothing but itself; the measured phase follows when this is over.
    WarmUp {
        /// When that is.
        until_ns: u64,
    },
    /// What was asked for.
    Measured {
        /// When the load ends; `None` is by its quota or by hand.
        until_ns: Option<u64>,
        /// How many operations may be sent; `None` is no limit.
        quota: Option<Arc<Quota>>,
    },
    /// Ended by hand.
    Ended {
        /// When.
        at_ns: u64,
    },
}

/// How the phases of a load end.
#[derive(Debug, Clone)]
pub(super) struct Stops {
    /// How long the measured phase lasts.
    pub(super) length: Option<Duration>,
    /// How many operations it sends.
    pub(super) quota: Option<Arc<Quota>>,
}

impl Phase {
    /// The first phase of a load that begins at `now_ns`.
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

    /// The phase that holds at `now_ns`: this one, or what follows it.
    pub(super) fn at(&self, now_ns: u64, stops: &Stops) -> Self {
        match self {
            Self::WarmUp { until_ns } if now_ns >= *until_ns => Self::measured(stops, now_ns),
            _ => self.clone(),
        }
    }

    /// Whether it counts for nothing but itself.
    pub(super) fn is_warmup(&self) -> bool {
        matches!(self, Self::WarmUp { .. })
    }

    /// When the load is over; far away where that is not known.
    pub(super) fn load_ends_ns(&self) -> u64 {
        match self {
            Self::WarmUp { .. } | Self::Measured { until_ns: None, .. } => u64::MAX,
            Self::Measured { until_ns: Some(at_ns), .. } | Self::Ended { at_ns } => *at_ns,
        }
    }

    /// What may be sent; `None` is no limit.
    pub(super) fn quota(&self) -> Option<&Arc<Quota>> {
        match self {
            Self::Measured { quota, .. } => quota.as_ref(),
            Self::WarmUp { .. } | Self::Ended { .. } => None,
        }
    }
}

fn after(length: Duration, since_ns: u64) -> u64 {
    since_ns + length.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_has_neither_the_time_nor_the_quota_of_what_is_measured() {
        let quota = Some(Quota::new(5));
        let stops = Stops { length: Some(Duration::from_nanos(100)), quota };
        let warmup = Phase::first(Some(Duration::from_nanos(50)), &stops, 10);
        assert!(warmup.is_warmup() && warmup.at(59, &stops).is_warmup());
        assert_eq!((warmup.load_ends_ns(), warmup.quota().is_some()), (u64::MAX, false));
        // Whoever turns may be late: its time counts from when it holds.
        let measured = warmup.at(75, &stops);
        assert_eq!((measured.load_ends_ns(), measured.quota().is_some()), (175, true));
        assert_eq!(measured.at(170, &stops).load_ends_ns(), 175, "another turn is no other phase");
        assert_eq!(Phase::Ended { at_ns: 80 }.at(90, &stops).load_ends_ns(), 80);
    }
}
