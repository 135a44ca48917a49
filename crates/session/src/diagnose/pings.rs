//! The PINGs of the last seconds, and their usual times, for the rules of findings.
//!
//! If the kernel reports timestamps, the rules use the kernel's times: from the departure of a PING to the arrival of
//! its reply in the kernel. Kernel times do not include delays of redyno's own threads. A stopped server answers all
//! waiting PINGs together when it continues. The kernel's time is then known only for the last PING. If the kernel's
//! time of several PINGs is missing, the rules use the whole round trips.

use super::window::{RecentValues, middle};
use crate::{
    gauge::{Gauge, Gauges},
    probe,
    stats::Latency,
    units,
};

/// The length of the examined period, in seconds. With 100 PINGs a second, the p99 is the third longest of 300 PINGs.
const WINDOW_S: f64 = 3.0;
/// The length of the baseline, in seconds. The baseline is long enough for a median, and short enough to follow a rise
/// in load.
const USUAL_S: f64 = 120.0;
/// A baseline needs at least this many seconds with PINGs.
const ENOUGH: usize = 8;
/// PING counts as slow if its p50 or p99 is at least this many times the usual value.
const TIMES: u64 = 3;
/// A p50 or p99 below this time, in nanoseconds, never counts as slow. A healthy server stays below this time, even on
/// a busy network.
const SLOW_NS: u64 = 1_000_000;
/// Even without a baseline, PING counts as slow if the p99 exceeds the fastest PING by at least this many nanoseconds.
const WAITS_NS: u64 = 5_000_000;

/// The rules use a report's kernel times if at most 1 of this many PINGs has no kernel time.
const RARELY_UNKNOWN: u64 = 100;
/// The mean times of a PING's three parts are used only if their sum is at least this share of the mean round
/// trip.
const EXPLAINED: f64 = 0.9;

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
    earlier: RecentValues<PingTimes>,
    noted_s: f64,
    /// The PING times of the last seconds; `None` without a reply.
    pub(super) now: Option<PingTimes>,
    /// The usual PING times: the medians of earlier seconds. `None` if there are too few seconds.
    pub(super) usual: Option<PingTimes>,
}

impl Default for Pings {
    fn default() -> Self {
        Self {
            t_s: 0.0,
            recent: RecentValues::new(10.0),
            earlier: RecentValues::new(USUAL_S),
            noted_s: 0.0,
            now: None,
            usual: None,
        }
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
        self.now = PingTimes::of(&self.all(WINDOW_S));
        self.usual = self.medians();
        let is_due = t_s - self.noted_s >= 1.0;
        if let Some(now) = self.now.filter(|_| is_due) {
            self.noted_s = t_s;
            let is_slow = self.usual.is_some_and(|usual| is_slower(now, usual));
            if !is_slow {
                self.earlier.push(t_s, now);
            }
        }
    }

    /// Returns the times of all PINGs in the last `window_s` seconds. With kernel timestamps, the times do not include
    /// delays of this machine's scheduler.
    pub(super) fn all(&self, window_s: f64) -> Latency {
        Latency::merged(self.recent.since(self.t_s - window_s).map(judged))
    }

    /// Returns the time of the fastest PING in the last `window_s` seconds, in ns; 0 without a reply.
    pub(super) fn fastest_ns(&self, window_s: f64) -> u64 {
        let judged = self.recent.since(self.t_s - window_s).map(judged);
        judged.filter(|times| !times.is_empty()).map(Latency::min_ns).min().unwrap_or(0)
    }

    /// Returns three mean times in microseconds: the delay before sending, the time between the two kernels, and the
    /// delay before reading. Also returns whether these times explain the mean round trip. The times do not explain the
    /// round trip if PINGs with unknown parts took most of the time. Returns `None` without kernel timestamps.
    pub(super) fn mean_parts_us(&self, window_s: f64) -> Option<((f64, f64, f64), bool)> {
        let mean = |part: fn(&probe::Ping) -> Option<&Latency>| {
            let parts = self.recent.since(self.t_s - window_s).filter_map(part);
            let add = |(n, ns), part: &Latency| (n + part.count(), ns + part.sum_ns());
            let (n, ns) = parts.fold((0, 0), add);
            (n > 0).then(|| ns as f64 / n as f64 / 1e3)
        };
        let send = mean(|ping| ping.send.as_ref())?;
        let (kernel, pickup) = (mean(|ping| ping.kernel.as_ref())?, mean(|ping| ping.pickup.as_ref())?);
        let whole = mean(|ping| Some(&ping.rtt))?;
        Some(((send, kernel, pickup), send + kernel + pickup >= EXPLAINED * whole))
    }

    /// Returns the number of reports in the last `window_s` seconds that have a PING of at least `ns`.
    pub(super) fn late_reports(&self, window_s: f64, ns: u64) -> usize {
        self.recent.since(self.t_s - window_s).filter(|ping| ping.rtt.max_ns() >= ns).count()
    }

    /// Returns the medians of earlier seconds; `None` if there are too few seconds.
    fn medians(&self) -> Option<PingTimes> {
        let before: Vec<&PingTimes> = self.earlier.until(self.t_s - WINDOW_S).collect();
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
        self.compared(self.now?)
    }

    /// Returns the same evidence, but only from the PINGs after `from_s`, in seconds of the session. A cause explains
    /// no PING that was sent before the cause began.
    pub(super) fn slowed_since(&self, from_s: f64) -> Option<String> {
        self.compared(PingTimes::of(&self.all(WINDOW_S.min(self.t_s - from_s)))?)
    }

    fn compared(&self, now: PingTimes) -> Option<String> {
        let p99 = units::latency(now.p99_ns);
        match self.usual.filter(|usual| is_slower(now, *usual)) {
            Some(usual) => Some(format!("PING p99 {p99}, {} before", units::latency(usual.p99_ns))),
            None if now.p99_ns >= now.min_ns + WAITS_NS => {
                Some(format!("PING p99 {p99}, fastest PING {}", units::latency(now.min_ns)))
            }
            None => None,
        }
    }

    /// Returns the evidence that PING has been slow since a gauge of the server reached `least` (for a counter, the
    /// rate per second).
    pub(super) fn slowed_while(
        &self,
        rates: &RecentValues<Gauges>,
        gauge: Gauge,
        least: f64,
    ) -> Option<String> {
        let is_high = |gauges: &Gauges| gauges.get(gauge).is_some_and(|value| value >= least);
        self.slowed_since(rates.begun_s(is_high)?)
    }
}

/// Returns the PING times of a report that the rules use.
fn judged(ping: &probe::Ping) -> &Latency {
    let unknown: u64 = ping.left_out.values().sum();
    let is_known = unknown.saturating_mul(RARELY_UNKNOWN) <= ping.rtt.count();
    ping.kernel.as_ref().filter(|kernel| is_known && !kernel.is_empty()).unwrap_or(&ping.rtt)
}

fn is_slower(now: PingTimes, usual: PingTimes) -> bool {
    now.p99_ns >= SLOW_NS && now.p99_ns >= usual.p99_ns.saturating_mul(TIMES)
        || now.p50_ns >= SLOW_NS && now.p50_ns >= usual.p50_ns.saturating_mul(TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::{Second, found},
        probe::Ping,
        stats::fixture::repeated,
    };

    /// Changes the second: the server was stopped for 0.4 s. Of the waiting PINGs, only the last one has a known kernel
    /// time.
    fn stop(second: &mut Second) {
        second.ping(&[(200_000, 61)]);
        let waits: Vec<_> = (1..=39).map(|n| repeated(n * 10_000_000, 1)).collect();
        let rtt = Latency::merged(waits.iter().chain([&second.ping.rtt]));
        let left_out = [("shared read".to_owned(), 39)].into();
        let part = Some(repeated(10_000, 61));
        second.ping = Ping { rtt, left_out, send: part.clone(), pickup: part, ..second.ping.clone() };
    }

    /// Returns the pings of three seconds.
    fn pinged(change: fn(&mut Second)) -> Pings {
        let mut pings = Pings::default();
        for n in 0..3 {
            let mut second = Second::healthy(n);
            change(&mut second);
            pings.push(f64::from(n), &second.ping);
        }
        pings
    }

    #[test]
    fn pings_that_waited_together_count_although_their_parts_are_unknown() {
        let pings = pinged(stop);
        assert!(pings.all(WINDOW_S).max_ns() >= 380_000_000);
        assert!(pings.mean_parts_us(WINDOW_S).is_some_and(|(_, explain)| !explain));
        let wrong = |rule| rule == "lost packets" || rule == "network";
        assert!(found(9, stop).iter().all(|found| !wrong(found.rule)), "{:?}", found(9, stop));
    }

    #[test]
    fn one_unknown_time_in_a_hundred_leaves_the_times_of_the_kernel() {
        let pings = pinged(|second| {
            second.ping.left_out = [("doubt".to_owned(), 1)].into();
            second.ping.rtt = repeated(7_000_000, 100);
        });
        assert!(pings.all(WINDOW_S).max_ns() < 500_000);
    }
}
