//! Decides whether this machine can check a latency limit. A sleeping thread of redyno must wake up with a delay far
//! below the limit.
//!
//! ```text
//!  before the session   sleeps of 0.25 ms, for 0.4 s ─► a warning
//!  during the session   the wake probe, the requests ─► a limit that is not kept is undecided: exit code 4 instead of 3
//! ```

use std::time::Duration;

use super::FleetPlan;
use crate::{
    compare::{BoundedLatency, LatencyBound},
    diagnose::our_limit,
    print::words::warn,
    probe::wake_delays,
    session::{Interval, Record},
    stats::{Latency, PERCENTILES},
    units,
};

/// The length of the check before a session. The check has enough sleeps for a p99, and is hardly noticed.
const BEFORE: Duration = Duration::from_millis(400);
/// This machine cannot judge a limit if the wake delay is at least the limit divided by this number.
const PART: u64 = 2;

/// Returns the highest percentile up to `quantile` that has enough samples, with its name and its value in nanoseconds.
fn at(latency: &Latency, quantile: f64) -> Option<(&'static str, u64)> {
    if quantile >= 1.0 {
        return (!latency.is_empty()).then(|| ("the maximum", latency.max_ns()));
    }
    let below = PERCENTILES.iter().rev().filter(|known| known.quantile <= quantile);
    below.into_iter().find_map(|known| Some((known.name, latency.percentile(known.quantile)?)))
}

/// Returns the reason why a machine with these wake delays cannot judge the limit. Returns `None` if the machine can
/// judge the limit.
fn obstacle(late: &Latency, bound: &LatencyBound) -> Option<String> {
    let (level, ns) = at(late, bound.quantile).filter(|(_, ns)| ns.saturating_mul(PART) >= bound.ns)?;
    let words = &bound.words;
    Some(format!(
        "this machine wakes threads {} late at {level}, too late to judge {words}",
        units::latency(ns)
    ))
}

/// Measures the wake delays of this machine before a session, and warns on stderr about limits that this machine cannot
/// judge.
pub(super) fn check_before(bounds: &[LatencyBound]) {
    if bounds.is_empty() {
        return;
    }
    // Without a thread for the check, the session itself reports the reason.
    let Ok(late) = wake_delays(BEFORE) else { return };
    for why in bounds.iter().filter_map(|bound| obstacle(&late, bound)) {
        warn(&format!("{why}; if the limit is exceeded, the exit code may be 4"));
    }
}

/// The wake delays, latencies and load of the measured segments of a session. The measured segments are the segments
/// under load, or all segments of a session without load.
#[derive(Default)]
pub(super) struct Machine {
    late: Latency,
    /// The round trips of PING.
    pub(super) pings: Latency,
    load: Interval,
    has_loaded: bool,
    is_aside: bool,
    /// Whether agents on other machines generate the load. If so, only PING depends on the delays of this machine.
    has_agents: bool,
}

impl Machine {
    /// Returns the machine of a session, before any measurement. `fleet` generates the session's load. Without a fleet,
    /// this process generates the load.
    pub(super) fn of(fleet: Option<&FleetPlan>) -> Self {
        Self { has_agents: fleet.is_some_and(|fleet| !fleet.is_local), ..Self::default() }
    }

    /// Returns whether the latency of a limit is measured on this machine.
    pub(super) fn measures(&self, bound: &LatencyBound) -> bool {
        !self.has_agents || bound.of == BoundedLatency::Pings
    }

    /// Adds the next record.
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) if segment.node == 0 => {
                let is_load = segment.knobs.load && segment.aside().is_none();
                if is_load && !self.has_loaded {
                    *self = Self { has_loaded: true, has_agents: self.has_agents, ..Self::default() };
                }
                self.is_aside = segment.aside().is_some() || self.has_loaded && !is_load;
            }
            Record::Ping(span) if !self.is_aside && record.is_of(0) => self.pings.merge(&span.body.rtt),
            Record::Wake(span) if !self.is_aside => self.late.merge(&span.body.late),
            Record::Interval(interval) if !self.is_aside && record.is_of(0) => {
                self.load.add(interval);
            }
            _ => {}
        }
    }

    /// Returns a text if the delays of this machine may be the only reason why a limit was not kept. Such a result does
    /// not describe the server. Returns `None` if these delays do not explain the result.
    pub(super) fn explains(&self, bound: &LatencyBound) -> Option<String> {
        let why = obstacle(&self.late, bound).filter(|_| self.measures(bound))?;
        let service = &self.load.service;
        let measured = match bound.of {
            BoundedLatency::Pings => &self.pings,
            BoundedLatency::Service => service,
            BoundedLatency::Requests => self.load.response.as_ref().unwrap_or(service),
        };
        let ((_, late_ns), (_, measured_ns)) =
            (at(&self.late, bound.quantile)?, at(measured, bound.quantile)?);
        let is_usual = measured.percentile(0.5).is_some_and(|ns| ns > bound.ns);
        (!is_usual && measured_ns.saturating_sub(late_ns) <= bound.ns).then_some(why)
    }

    /// Returns the reason why redyno itself was the limit; `None` if redyno was not the limit.
    pub(super) fn client_limit(&self) -> Option<String> {
        our_limit(&self.load).map(|why| format!("the client is the limit: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        probe::{Ping, Wake},
        session::{Segment, Span},
        stats::fixture::repeated,
    };

    const MS: u64 = 1_000_000;

    /// Returns a machine with a wake delay of `late_ms`. Most requests took 1 ms, and some took `request_ms`.
    fn machine(late_ms: u64, request_ms: u64) -> Machine {
        let mut machine = Machine::default();
        machine.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
        machine.push(&Record::Wake(Span::new(1.0, 1.0, Wake { late: repeated(late_ms * MS, 5000) })));
        let mut service = repeated(MS, 2000);
        service.merge(&repeated(request_ms * MS, 100));
        machine.push(&Record::Interval(Box::new(Interval { service, ..Interval::default() })));
        machine
    }

    fn bound(quantile: f64) -> LatencyBound {
        LatencyBound { words: "p99 > 2ms".to_owned(), quantile, ns: 2 * MS, of: BoundedLatency::Requests }
    }

    #[test]
    fn a_machine_that_wakes_late_cannot_judge_a_limit_that_its_delay_explains() {
        let why = machine(5, 6).explains(&bound(0.99)).unwrap();
        assert!(
            why.starts_with("this machine wakes threads 5.0")
                && why.ends_with("late at p99, too late to judge p99 > 2ms")
        );
        assert!(machine(5, 6).explains(&bound(1.0)).unwrap().contains("late at the maximum"));
        for (late_ms, request_ms, why) in [(0, 6, "it wakes on time"), (5, 90, "its delay is much too short")]
        {
            assert_eq!(machine(late_ms, request_ms).explains(&bound(0.99)), None, "{why}");
        }
        let with_agents = Machine { has_agents: true, ..machine(5, 6) };
        assert_eq!(with_agents.explains(&bound(0.99)), None, "other machines have measured the requests");
        let usual = LatencyBound { ns: MS / 10, ..bound(0.99) };
        assert_eq!(machine(5, 6).explains(&usual), None, "half of all requests took longer than the limit");
    }

    #[test]
    fn a_session_without_load_is_judged_by_ping() {
        let mut machine = Machine::default();
        let ping = |ms, n| {
            let body = Ping { rtt: repeated(ms * MS, n), ..Ping::default() };
            Record::Ping(Box::new(Span::new(1.0, 1.0, body)))
        };
        machine.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        machine.push(&Record::Wake(Span::new(1.0, 1.0, Wake { late: repeated(5 * MS, 5000) })));
        machine.push(&ping(1, 2000));
        machine.push(&ping(6, 100));
        let bound =
            LatencyBound { words: "ping_p99 > 2ms".to_owned(), of: BoundedLatency::Pings, ..bound(0.99) };
        assert!(machine.explains(&bound).is_some());
        machine.push(&Record::Segment(Segment::new(2.0, 2, Knobs { load: true, ..Knobs::default() })));
        assert!(machine.pings.is_empty(), "under load, only the load is measured");
        machine.push(&ping(1, 2000));
        machine.push(&Record::Segment(Segment::new(3.0, 3, Knobs::default())));
        machine.push(&ping(9, 9));
        assert_eq!(machine.pings.count(), 2000);
    }

    #[test]
    fn a_warm_up_is_left_out_and_few_samples_have_a_lower_percentile() {
        let mut aside = Machine::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        aside.push(&Record::Segment(Segment { warmup: true, ..Segment::new(0.0, 1, knobs) }));
        aside.push(&Record::Wake(Span::new(1.0, 1.0, Wake { late: repeated(5 * MS, 5000) })));
        assert!(aside.late.is_empty());
        assert_eq!(at(&repeated(5 * MS, 120), 0.99).map(|(level, _)| level), Some("p90"));
    }
}
