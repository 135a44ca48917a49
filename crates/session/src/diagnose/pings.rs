//! The PINGs of the last seconds, and their usual times.
//!
//! If the kernel reports timestamps, the judged time of a PING begins when the request leaves the local kernel, and
//! ends when the reply arrives at the local kernel. This time does not include delays of redyno's own threads.

use super::window::{RecentValues, middle};
use crate::{probe, stats::Latency, units};

/// The length of the judged period, in seconds: with 100 PINGs a second, the p99 is the third longest of 300.
const WINDOW_S: f64 = 3.0;
/// The length of the baseline, in seconds: long enough for a median, and short enough to follow a rise in load.
const USUAL_S: f64 = 120.0;
/// A baseline needs at least this many seconds with PINGs.
const ENOUGH: usize = 8;
/// PING counts as slow if its p50 or p99 is at least this many times the usual value.
const TIMES: u64 = 3;
/// A p50 or p99 below this time, in nanoseconds, never counts as slow, whatever the usual value is. On a busy
/// network, a healthy server still stays below this time.
const SLOW_NS: u64 = 1_000_000;
/// PING also counts as slow, even without a baseline, if the p99 exceeds the fastest PING by at least this
/// many nanoseconds.
const WAITS_NS: u64 = 5_000_000;

/// The PING times of a period, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PingTimes {
    pub(super) min_ns: u64,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
}

/// The pings of one server.
#[derive(Debug, Clone)]
pub(super) struct Pings {
    t_s: f64,
    recent: RecentValues<probe::Ping>,
    /// The times of each earlier second in which PING was not slow.
    usual: RecentValues<PingTimes>,
    noted_s: f64,
}

impl Default for Pings {
    fn default() -> Self {
        Self { t_s: 0.0, recent: RecentValues::new(10.0), usual: RecentValues::new(USUAL_S), noted_s: 0.0 }
    }
}

impl PingTimes {
    fn of(latency: &Latency) -> Option<Self> {
        (!latency.is_empty()).then(|| Self {
            min_ns: latency.min_ns(),
            p50_ns: latency.value_at_quantile(0.5),
            p99_ns: latency.value_at_quantile(0.99),
        })
    }
}

impl Pings {
    /// Takes the report of the ping probe up to `t_s`.
    pub(super) fn push(&mut self, t_s: f64, ping: &probe::Ping) {
        self.t_s = t_s;
        self.recent.push(t_s, ping.clone());
        let is_due = t_s - self.noted_s >= 1.0;
        if let Some(now) = self.now().filter(|_| is_due) {
            self.noted_s = t_s;
            let is_slow = self.usual().is_some_and(|usual| is_slower(now, usual));
            if !is_slow {
                self.usual.push(t_s, now);
            }
        }
    }

    /// Returns the times of all PINGs in the last `window_s` seconds. With kernel timestamps, delays of the local
    /// scheduler are not included.
    pub(super) fn all(&self, window_s: f64) -> Latency {
        let part = |ping: &'_ probe::Ping| match &ping.kernel {
            Some(kernel) if !kernel.is_empty() => kernel.clone(),
            _ => ping.rtt.clone(),
        };
        let mut all = Latency::default();
        self.recent.since(self.t_s - window_s).for_each(|ping| all.merge(&part(ping)));
        all
    }

    /// Returns the mean delay before sending, the mean time between the two kernels, and the mean delay before reading,
    /// in microseconds; `None` without kernel timestamps.
    pub(super) fn mean_parts_us(&self, window_s: f64) -> Option<(f64, f64, f64)> {
        let mean = |part: fn(&probe::Ping) -> Option<&Latency>| {
            let parts = Latency::merged(self.recent.since(self.t_s - window_s).filter_map(part));
            (!parts.is_empty()).then(|| parts.mean_ns() / 1e3)
        };
        let send = mean(|ping| ping.send.as_ref())?;
        Some((send, mean(|ping| ping.kernel.as_ref())?, mean(|ping| ping.pickup.as_ref())?))
    }

    /// Returns the number of reports in the last `window_s` seconds that have a PING of at least `ns`.
    pub(super) fn late_reports(&self, window_s: f64, ns: u64) -> usize {
        self.recent.since(self.t_s - window_s).filter(|ping| ping.rtt.max_ns() >= ns).count()
    }

    /// Returns the PING times of the last seconds; `None` without a reply.
    pub(super) fn now(&self) -> Option<PingTimes> {
        PingTimes::of(&self.all(WINDOW_S))
    }

    /// Returns the usual PING times: the medians of earlier seconds. `None` if there are too few seconds.
    pub(super) fn usual(&self) -> Option<PingTimes> {
        let before: Vec<&PingTimes> = self.usual.until(self.t_s - WINDOW_S).collect();
        let median = |part: fn(&PingTimes) -> u64| middle(before.iter().map(|times| part(times)).collect());
        let usual = PingTimes {
            min_ns: median(|times| times.min_ns)?,
            p50_ns: median(|times| times.p50_ns)?,
            p99_ns: median(|times| times.p99_ns)?,
        };
        Some(usual).filter(|_| before.len() >= ENOUGH)
    }

    /// Returns the evidence that PING is slow, compared with its usual time or with the fastest PING; `None` if PING is
    /// not slow.
    pub(super) fn slowed(&self) -> Option<String> {
        let now = self.now()?;
        let p99 = units::latency(now.p99_ns);
        match self.usual().filter(|usual| is_slower(now, *usual)) {
            Some(usual) => Some(format!("PING p99 {p99}, {} before", units::latency(usual.p99_ns))),
            None if now.p99_ns >= now.min_ns + WAITS_NS => {
                Some(format!("PING p99 {p99}, the fastest {}", units::latency(now.min_ns)))
            }
            None => None,
        }
    }
}

fn is_slower(now: PingTimes, usual: PingTimes) -> bool {
    now.p99_ns >= SLOW_NS && now.p99_ns >= usual.p99_ns.saturating_mul(TIMES)
        || now.p50_ns >= SLOW_NS && now.p50_ns >= usual.p50_ns.saturating_mul(TIMES)
}
