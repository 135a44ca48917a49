//! Finding: the server is slow and redyno is not. PING waits for its reply, while redyno's own threads wake on time.
//!
//! ```text
//!  ping  ──►··················· 480 ms, and no reply yet       the server, or the network before it
//!  wake  · · · · · · · · · · ·  at most 80 µs late             not this machine
//! ```
//! A server that is stopped or busy with one long command replies to no client. Meanwhile, the CPU use of redyno's
//! workers does not show whether redyno limits the result.

use std::collections::VecDeque;

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Rule, RuleVerdict},
};
use crate::{session::Record, units};

/// The shortest wait of a PING that a person notices, in nanoseconds.
const WAITS_NS: u64 = 200_000_000;
/// redyno's threads count as waking on time if the wait of a PING is at least this many times their largest delay.
const PART: u64 = 5;
/// The advice, because no other finding names a cause.
const NEXT: &str = "no figure names the cause: see the server's log and its host";
/// The number of stored reports of the wake probe, one for each tick (quarter second). A report of the ping probe
/// covers at most four ticks, and the tick before these ticks is needed too.
const WAKES: usize = 5;

/// Checks whether the server is slow at present.
#[derive(Debug, Clone, Default)]
pub(super) struct SlowServer {
    probes: Probes,
}

impl Rule for SlowServer {
    fn name(&self) -> &'static str {
        "slow server"
    }

    fn push(&mut self, record: &Record, now: &RecentState, _: bool) -> RuleVerdict {
        self.probes.push(record);
        let waited_s = self.probes.ping.map_or(0.0, |(_, waited_ns)| waited_ns as f64 / 1e9);
        let found = self.probes.slow.clone().map(|known_by| Finding {
            severity: Severity::Problem,
            is_symptom: true,
            is_brief: true,
            since_s: (now.t_s - waited_s).max(0.0),
            ..Finding::new(self.name(), self.name(), "the server is slow").with([Some(known_by)], NEXT)
        });
        found.into()
    }
}

/// The last reports of the ping probe and of the wake probe, and their comparison.
#[derive(Debug, Clone, Default)]
pub(super) struct Probes {
    /// The last report of the ping probe: its tick (the number of the quarter second), and the longest wait
    /// in nanoseconds.
    ping: Option<(u64, u64)>,
    /// The number of ticks that the last report of the ping probe covers.
    ping_ticks: u64,
    /// The last reports of the wake probe: their ticks, and the largest delays in nanoseconds.
    wakes: VecDeque<(u64, u64)>,
    /// The evidence for a slow server; `None` if the server is not slow.
    slow: Option<String>,
}

impl Probes {
    /// Returns whether the server is slow.
    pub(super) fn is_slow(&self) -> bool {
        self.slow.is_some()
    }

    /// Returns the last tick (quarter second) that both probes have reported on. Returns `None` if one probe has not
    /// reported yet.
    pub(super) fn known_until(&self) -> Option<u64> {
        self.ping.zip(self.wakes.back()).map(|((ping, _), (wake, _))| ping.min(*wake))
    }

    /// Takes the next record.
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::Ping(span) => {
                let ping = &span.body;
                let mut waited_ns = ping.rtt.max_ns().max(ping.waiting_us.saturating_mul(1000));
                // A PING has timed out: it waited at least as long as the last report says. The PING on the
                // next connection has only begun to wait.
                if ping.errors.contains_key("timeout") {
                    waited_ns = waited_ns.max(self.ping.map_or(0, |(_, before_ns)| before_ns));
                }
                self.ping = Some((span.tick, waited_ns));
                self.ping_ticks = (span.length_s * 4.0).round() as u64;
            }
            Record::Wake(span) => {
                self.wakes.push_back((span.tick, span.body.late.max_ns()));
                if self.wakes.len() > WAKES {
                    self.wakes.pop_front();
                }
            }
            _ => return,
        }
        // Reports are compared only if they are about the same time.
        let Some(((ping_tick, waited_ns), &(wake_tick, _))) = self.ping.zip(self.wakes.back()) else {
            return;
        };
        if ping_tick.abs_diff(wake_tick) <= 1 {
            // With many nodes, a report of the ping probe covers several reports of the wake probe.
            let covered = self.wakes.iter().filter(|(tick, _)| tick + self.ping_ticks >= ping_tick);
            let wake_ns = covered.map(|(_, late_ns)| *late_ns).max().unwrap_or_default();
            let is_slow = waited_ns >= WAITS_NS && wake_ns < waited_ns / PART;
            self.slow = is_slow.then(|| {
                let (waited, woke) = (units::latency(waited_ns), units::latency(wake_ns));
                format!("PING waited {waited}, but redyno was at most {woke} late")
            });
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        probe::{Ping, Wake},
        session::Span,
        stats::fixture::latency_of,
    };

    const MS: u64 = 1_000_000;

    /// Returns the report of the ping probe up to `t_s`. One PING was answered after `answered_ms`, and another PING
    /// has waited for `waiting_ms`.
    pub(in crate::diagnose) fn ping(t_s: f64, answered_ms: u64, waiting_ms: u64) -> Record {
        let rtt = latency_of([answered_ms * MS]);
        let body = Ping { rtt, waiting_us: waiting_ms * 1000, ..Ping::default() };
        Record::Ping(Box::new(Span::new(t_s, 0.25, body)))
    }

    /// Returns the report of the wake probe up to `t_s`: a thread woke `late_ms` late.
    pub(in crate::diagnose) fn wake(t_s: f64, late_ms: u64) -> Record {
        Record::Wake(Span::new(t_s, 0.25, Wake { late: latency_of([late_ms * MS]) }))
    }

    fn said(records: impl IntoIterator<Item = Record>) -> Vec<Option<String>> {
        let mut probes = Probes::default();
        let push = |record: Record| {
            probes.push(&record);
            probes.slow.clone()
        };
        records.into_iter().map(push).collect()
    }

    #[test]
    fn a_waiting_ping_names_the_server_if_redynos_threads_wake_on_time() {
        let expected = "PING waited 480 ms, but redyno was at most 2.00 ms late";
        assert_eq!(said([ping(0.5, 1, 480), wake(0.5, 2)]), [None, Some(expected.to_owned())]);
        assert_eq!(
            said([wake(0.5, 2), ping(0.5, 480, 0)])[1].as_deref(),
            Some(expected),
            "the server had answered the PING"
        );
        assert_eq!(
            said([ping(0.5, 1, 480), wake(0.5, 200)]),
            [None, None],
            "redyno's threads were also late"
        );
        assert_eq!(said([ping(0.5, 90, 190), wake(0.5, 1)]), [None, None]);
    }

    #[test]
    fn reports_about_different_seconds_are_not_compared() {
        let said = said([wake(1.0, 2), ping(2.0, 1, 900), wake(2.0, 700), ping(3.0, 1, 0), wake(3.0, 1)]);
        assert_eq!(said, [const { None }; 5], "redyno's threads were late in the same second as the PING");
    }

    #[test]
    fn a_pause_of_redyno_anywhere_in_the_second_of_a_ping_report_is_no_slow_server() {
        let mut second = ping(2.0, 480, 0);
        if let Record::Ping(span) = &mut second {
            span.length_s = 1.0;
        }
        let late = |paused| {
            (5..9).map(move |tick| wake(f64::from(tick) / 4.0, if tick == paused { 480 } else { 1 }))
        };
        for paused in 5..9 {
            assert_eq!(said(late(paused).chain([second.clone()]))[4], None, "tick {paused}");
        }
        assert!(said(late(4).chain([second]))[4].is_some());
    }

    #[test]
    fn the_finding_ends_with_a_prompt_reply_and_not_with_a_closed_connection() {
        let mut timeout = ping(1.25, 0, 100);
        if let Record::Ping(span) = &mut timeout {
            span.body.errors = [("timeout".to_owned(), 500)].into();
        }
        let said = said([ping(1.0, 0, 4900), wake(1.0, 1), timeout, wake(1.25, 1), ping(1.5, 3, 0)]);
        let is_slow: Vec<_> = said.iter().map(Option::is_some).collect();
        assert_eq!(is_slow, [false, true, true, true, false]);
    }
}
