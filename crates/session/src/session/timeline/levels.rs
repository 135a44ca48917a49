//! The kinds of latency in the timeline (such as service time or PING), and the percentiles that screens
//! show.

use crate::{stats::Latency, units};

/// A latency measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The service time: from the write of a request to its reply.
    Service,
    /// The response time: from the due time of a request to its reply; empty in closed loop.
    Response,
    /// The round trips of the ping probe.
    Ping,
    /// The part of a ping's round trip before it left the host: redyno's delay in sending.
    PingSend,
    /// The part of a ping's round trip between the kernel's timestamps of sending and receiving.
    PingKernel,
    /// The part of a ping's round trip after the reply has arrived: redyno's delay in reading.
    PingPickup,
    /// The delays of the wake probe.
    Wake,
    /// The iterations of the intrinsic probe.
    Intrinsic,
    /// The times from the sending of a message to its receipt, at the receivers of a workload.
    Received,
}

impl Measure {
    /// All measurements.
    pub const ALL: [Self; 9] = [
        Self::Service,
        Self::Response,
        Self::Ping,
        Self::PingSend,
        Self::PingKernel,
        Self::PingPickup,
        Self::Wake,
        Self::Intrinsic,
        Self::Received,
    ];

    /// Returns whether this measurement is about redyno's machine and not about a node.
    pub(super) fn is_of_machine(self) -> bool {
        matches!(self, Self::Wake | Self::Intrinsic)
    }
}

/// The beginning of a request's latency: when the request is due, or when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timed {
    /// The response time, from the due time of the request. In closed loop, this is the service time.
    #[default]
    FromDue,
    /// The service time, from the write of the request.
    FromWrite,
}

redyno_engine::named_values! {
    /// A percentile that screens show, or the maximum.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// The median.
        P50 "p50",
        /// The 90th percentile.
        P90 "p90",
        /// The 99th percentile.
        P99 "p99",
        /// The 99.9th percentile.
        P999 "p99.9",
        /// The longest latency.
        Max "max",
    }
}

impl Level {
    /// Returns the known levels in one line, such as `p50 312 µs  p99 1.94 ms`.
    pub fn line(of: impl Fn(Self) -> Option<u64>) -> String {
        let text = |level: Self| Some(format!("{} {}", level.name(), units::latency(of(level)?)));
        Self::ALL.into_iter().filter_map(text).collect::<Vec<_>>().join("  ")
    }

    /// Returns this percentile or the maximum of `latency`, in nanoseconds. Returns `None` if there are too few
    /// samples.
    pub fn of(self, latency: &Latency) -> Option<u64> {
        match self {
            Self::P50 => latency.percentile(0.50),
            Self::P90 => latency.percentile(0.90),
            Self::P99 => latency.percentile(0.99),
            Self::P999 => latency.percentile(0.999),
            Self::Max => (!latency.is_empty()).then(|| latency.max_ns()),
        }
    }
}

/// The percentiles and the maximum of one distribution, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quantiles([Option<u64>; Level::ALL.len()]);

impl Quantiles {
    /// Returns the percentiles and the maximum of `latency`.
    pub fn of(latency: &Latency) -> Self {
        Self(Level::ALL.map(|level| level.of(latency)))
    }

    /// Returns one percentile or the maximum, in nanoseconds. Returns `None` if there were too few samples.
    pub fn get(&self, level: Level) -> Option<u64> {
        self.0[level as usize]
    }

    /// Returns percentiles and a maximum that are all `wait_ns`. While no reply has arrived, `wait_ns` is the lower
    /// bound of each value.
    pub fn of_wait(wait_ns: u64) -> Self {
        Self([Some(wait_ns); Level::ALL.len()])
    }

    /// Replaces one percentile or the maximum.
    pub(super) fn set(&mut self, level: Level, ns: Option<u64>) {
        self.0[level as usize] = ns;
    }

    /// Raises the maximum to `max_ns`, if `max_ns` is longer.
    pub fn lift_max(&mut self, max_ns: u64) {
        let max = &mut self.0[Level::Max as usize];
        *max = Some(max.unwrap_or(0).max(max_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn a_level_with_too_few_samples_is_none_and_the_maximum_never_is() {
        let quantiles = Quantiles::of(&latency_of((1..=100).map(|us| us * 1000)));
        assert!(quantiles.get(Level::P90).is_some());
        assert_eq!(quantiles.get(Level::P99), None);
        assert_eq!(quantiles.get(Level::Max), Some(100_000));
        assert_eq!(Quantiles::of(&Latency::default()).get(Level::Max), None);
    }
}
