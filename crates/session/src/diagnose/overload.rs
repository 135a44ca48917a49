//! Finding: the rate of an open loop is too high. Requests wait before redyno sends them, or redyno drops them.

use super::{
    Finding,
    backlog::{CAUGHT_UP_US, LATE_US, pause_us},
    down::is_cut_off,
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict},
    window::length_s,
};
use crate::{
    session::{Interval, Segment},
    units,
};

/// The rule looks at a period of this length, in seconds: long enough that one slow command does not look
/// like a trend.
const WINDOW_S: f64 = 2.0;
/// If redyno drops at least this share of the requests, the load counts as overloaded.
const SHED: f64 = 0.01;
/// A whole segment counts as overloaded if less than this share of the due requests was sent. Failed requests count as
/// sent.
const REACHED: f64 = 0.98;
/// The advice if redyno itself is not the cause.
const NEXT: &str = "the connections cannot send more: use more clients, or a lower rate";

/// Checks whether the rate is too high.
#[derive(Debug, Clone)]
pub(super) struct Overload;

/// Returns how many requests are due at `rate` during a pause of this length in microseconds; 0 for a usual pause.
fn due_in_pause(rate: u32, pause_us: u64) -> f64 {
    if pause_us >= LATE_US { f64::from(rate) * pause_us as f64 / 1e6 } else { 0.0 }
}

/// The results of an open loop: good replies per second, the share of dropped requests, and the send lag in
/// microseconds. The send lag is the delay of the oldest due request.
struct OpenLoopResult {
    ops_per_s: f64,
    shed: f64,
    behind_us: u64,
}

impl Rule for Overload {
    fn name(&self) -> &'static str {
        "overload"
    }

    fn judge(&self, now: &RecentState, stands: bool) -> RuleVerdict {
        let parts = now.last(WINDOW_S, 0);
        let (Some(rate), [first, .., last] | [first @ last]) = (rate(now.segment.as_ref()), parts) else {
            return RuleVerdict::Unchanged;
        };
        if last.drain {
            return RuleVerdict::Unchanged;
        }
        // Without connections, requests fail at once or wait; more connections to this server would change nothing.
        if parts.iter().any(is_cut_off) || now.backlog.is_of_pause() {
            return RuleVerdict::Clear;
        }
        let sum = |count: fn(&Interval) -> u64| parts.iter().map(count).sum::<u64>() as f64;
        let (length_s, behind_us) = (length_s(parts), last.behind_us);
        // A change of less than a fiftieth of the window is noise.
        let slack_us = (length_s * 1e6 / 50.0) as u64;
        let (is_shrinking, trend) = match behind_us {
            now if now > first.behind_us + slack_us => (false, " (growing)"),
            now if now + slack_us < first.behind_us => (true, " (falling)"),
            _ => (false, ", steady"),
        };
        let shed = sum(|part| part.shed) / sum(|part| part.due).max(1.0);
        let longest_us = parts.iter().map(pause_us).max().unwrap_or_default();
        let is_shed = shed >= SHED && sum(|part| part.shed) > due_in_pause(rate, longest_us);
        let is_late = match stands {
            true => behind_us >= CAUGHT_UP_US,
            // A backlog that shrinks from the start is the result of a pause of the server. In the interval in which a
            // pause begins, each connection has a reply, so its length is unknown yet.
            false => {
                let before_us = parts.iter().rev().nth(1).map_or(0, |part| part.behind_us);
                behind_us >= LATE_US && before_us >= CAUGHT_UP_US && !is_shrinking
            }
        };
        let ops_per_s = sum(|part| part.ops) / length_s.max(f64::EPSILON);
        (is_late || is_shed)
            .then(|| OpenLoopResult { ops_per_s, shed, behind_us }.finding(rate, trend))
            .into()
    }

    fn whole(&self, Measurements { segment, total, stalled_s, .. }: &Measurements<'_>) -> Option<Finding> {
        let rate = rate(*segment).filter(|_| total.length_s > 0.0)?;
        let due = total.due.max(1) as f64;
        let shed = total.shed as f64 / due;
        let sent = total.ops_per_s * total.length_s + total.errors.values().sum::<u64>() as f64;
        // Requests that were due while the server did not answer belong to a stall.
        let stalled = due_in_pause(rate, pause_us(total).max((stalled_s * 1e6) as u64));
        let is_slow = sent < REACHED * due && total.behind_us >= LATE_US && due - sent > stalled;
        let is_shed = shed >= SHED && total.shed as f64 > stalled;
        let reached = OpenLoopResult { ops_per_s: total.ops_per_s, shed, behind_us: total.behind_us };
        (is_slow || is_shed).then(|| reached.finding(rate, " at the maximum"))
    }
}

/// Returns the rate of an open loop.
fn rate(segment: Option<&Segment>) -> Option<u32> {
    segment.filter(|segment| segment.knobs.load)?.knobs.rate
}

impl OpenLoopResult {
    /// Returns the finding that the `rate` is not reached. `trend` describes the change of the send lag.
    fn finding(&self, rate: u32, trend: &str) -> Finding {
        let mut known_by =
            format!("answered {} of {}", units::count(self.ops_per_s), units::rate(f64::from(rate)));
        if self.shed >= SHED {
            known_by += &format!(", {} shed", units::percent(self.shed));
        }
        if self.behind_us >= CAUGHT_UP_US {
            let behind = units::latency(self.behind_us.saturating_mul(1000));
            known_by += &format!(", send lag {behind}{trend}");
        }
        Finding {
            is_brief: true,
            evidence: vec![known_by],
            next: NEXT.to_owned(),
            ..Finding::new("overload", "overloaded", "overloaded")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, of_segment},
        knobs::Knobs,
        session::{Client, Record, WorkerCost},
        stats::fixture::repeated,
    };

    fn watch(knobs: Knobs) -> Findings {
        let mut findings = Findings::default();
        findings.push(&Record::Segment(Segment::new(0.0, 3, knobs)));
        findings
    }

    fn at(rate: u32) -> Knobs {
        Knobs { load: true, rate: Some(rate), ..Knobs::default() }
    }

    /// Returns the line of the finding after another 0.25 s with this number of replies and this send lag.
    fn tick(findings: &mut Findings, ops: u64, shed: u64, behind_us: u64) -> Option<String> {
        let interval = Interval {
            segment: 3,
            length_s: 0.25,
            ops,
            due: 250_000,
            shed,
            behind_us,
            ..Interval::default()
        };
        findings.push(&Record::Interval(Box::new(interval)));
        findings.now().first().map(|overload| overload.evidence[0].clone())
    }

    #[test]
    fn a_growing_lag_is_an_overload_until_the_load_has_caught_up() {
        let mut watch = watch(at(1_000_000));
        let said: Vec<_> = (1..=4).map(|n| tick(&mut watch, 22_000, 0, n * 228_000)).collect();
        assert_eq!(said[0], None, "one tick is no trend");
        assert_eq!(said[3].as_deref(), Some("answered 88.0 k of 1.00 M/s, send lag 912 ms (growing)"));
        let said: Vec<_> = (0..12).map(|n| tick(&mut watch, 400_000, 0, 912_000 - n * 80_000)).collect();
        assert!(said[6].as_ref().unwrap().ends_with("send lag 432 ms (falling)"), "{said:?}");
        assert_eq!(said[11], None);
    }

    #[test]
    fn neither_the_backlog_of_one_pause_nor_a_closed_loop_is_an_overload() {
        let mut watch = watch(at(1_000_000));
        tick(&mut watch, 250_000, 0, 300);
        let after: Vec<_> = [40_000, 30_000, 400].map(|us| tick(&mut watch, 250_000, 0, us)).to_vec();
        assert_eq!(after, [None, None, None]);
        let mut closed = super::tests::watch(Knobs { load: true, ..Knobs::default() });
        assert_eq!([1, 2, 3].map(|n| tick(&mut closed, 100, 0, n * 1_000_000)), [None, None, None]);
    }

    /// Returns a quarter second of a load at 1000/s. The server pauses, and answers only 20 requests.
    fn paused(
        findings: &mut Findings,
        waiting_ms: u64,
        answered_ms: u64,
        behind_ms: u64,
    ) -> Vec<&'static str> {
        let mut service = repeated(200_000, 20);
        service.merge(&repeated(answered_ms * 1_000_000, 5));
        let interval = Interval {
            segment: 3,
            length_s: 0.25,
            ops: 25,
            due: 250,
            waiting_us: waiting_ms * 1000,
            behind_us: behind_ms * 1000,
            service,
            // The worker is busy while it catches up.
            client: Some(Client::of(vec![WorkerCost { cpu: 0.97, ..WorkerCost::default() }])),
            ..Interval::default()
        };
        findings.push(&Record::Interval(Box::new(interval)));
        findings.now().iter().map(|found| found.rule).collect()
    }

    #[test]
    fn a_load_that_waits_for_a_stopped_server_and_then_catches_up_is_not_overloaded() {
        let mut watch = watch(at(1000));
        // The server stops for 3.2 s. In the first interval, each connection has had a reply.
        let pause = (0..13).map(|n| (if n == 0 { 0 } else { 200 + n * 250 }, 1, 190 + n * 250));
        let late = [3200, 2400, 1600, 800, 300, 90, 20].map(|behind_ms| (0, 1, behind_ms));
        let ends = (0, 3210, 3205);
        for (waiting_ms, answered_ms, behind_ms) in pause.chain([ends]).chain(late) {
            let found = paused(&mut watch, waiting_ms, answered_ms, behind_ms);
            assert_eq!(found, Vec::<&str>::new(), "{behind_ms} ms behind");
        }
        // The server answers, but too slowly for the rate.
        let found: Vec<_> = (1..9).map(|n| paused(&mut watch, 0, 1, n * 90)).collect();
        assert!(found[7].contains(&"overload") && found[7].contains(&"client limit"), "{found:?}");
    }

    #[test]
    fn one_slow_reply_among_fast_ones_does_not_excuse_a_lag_that_grows() {
        let mut watch = watch(at(1000));
        // One request waits for 3 s, while the server answers the others too slowly for the rate.
        for n in 0..12 {
            paused(&mut watch, n * 250, 1, n * 40);
        }
        let found: Vec<_> = (12..20).map(|n| paused(&mut watch, 0, 1, n * 40)).collect();
        assert!(found[7].contains(&"overload"), "{found:?}");
        let whole = |slow| {
            let mut service = repeated(1_000_000, 7000);
            service.merge(&repeated(3_100_000_000, slow));
            let (due, behind_us) = (10_000, 3_000_000);
            let rates = Interval { length_s: 10.0, ops_per_s: 700.0, ..Interval::default() };
            let total =
                Interval { ops: 7000, due, behind_us, waiting_us: 3_010_000, clients: 50, service, ..rates };
            of_segment(&Segment::new(0.0, 3, at(1000)), &total, None).len()
        };
        assert_eq!([whole(1), whole(50)], [1, 0], "all clients wait while the server pauses");
    }

    #[test]
    fn a_segment_whose_requests_waited_for_a_stopped_server_is_not_overloaded() {
        let whole = |shed, waiting_us| {
            let total = Interval {
                length_s: 10.0,
                ops: 7000,
                ops_per_s: 700.0,
                due: 10_000,
                shed,
                behind_us: 3_000_000,
                waiting_us,
                ..Interval::default()
            };
            of_segment(&Segment::new(0.0, 3, at(1000)), &total, None).len()
        };
        assert_eq!([whole(0, 3_010_000), whole(3000, 3_010_000)], [0, 0]);
        assert_eq!([whole(0, 2_000_000), whole(3000, 20_000)], [1, 1], "the pause was shorter");
    }

    #[test]
    fn shed_requests_are_reported_even_if_none_waits() {
        let mut watch = watch(at(1_000_000));
        let said = tick(&mut watch, 100_000, 150_000, 9000);
        assert_eq!(said.as_deref(), Some("answered 400 k of 1.00 M/s, 60 % shed"));
    }

    /// Returns a second of a load at 1000/s. `refused` requests failed in this second, and `lost` requests belonged to
    /// a lost agent.
    fn outage(refused: u64, lost: u64, outage_s: f64) -> Interval {
        let ops = 1000 - refused - lost;
        let errors = [("refused".to_owned(), refused)].into();
        let (due, behind_us) = (1000 - lost, if refused < 1000 { 167_000 } else { 0 });
        let rates = Interval { length_s: 1.0, ops_per_s: ops as f64, behind_us, ..Interval::default() };
        Interval { segment: 3, ops, due, errors, outage_s, ..rates }
    }

    #[test]
    fn requests_that_were_refused_or_belong_to_a_lost_agent_are_no_overload() {
        let (mut watch, mut total) = (watch(at(1000)), Interval::default());
        for (refused, outage_s) in [(0, 0.0), (51, 0.04), (1000, 1.0), (292, 0.29), (200, 0.0), (0, 0.0)] {
            let mut second = outage(refused, 0, outage_s);
            // Clients of one of several servers wait for their connections.
            second.connects_failed = [("refused".to_owned(), 65)].into();
            total.merge(&second);
            watch.push(&Record::Interval(Box::new(second)));
            assert_eq!(watch.now(), [], "{refused} refused");
        }
        let said = |total: &Interval| of_segment(&Segment::new(0.0, 3, at(1000)), total, None).len();
        assert_eq!((said(&total), said(&outage(0, 400, 0.0))), (0, 0));
        total.due += 1000;
        assert_eq!(said(&total), 1, "the load sent fewer requests than were due");
    }

    #[test]
    fn a_whole_segment_shows_its_largest_lag() {
        let total = Interval {
            length_s: 10.0,
            ops: 880_000,
            ops_per_s: 88_000.0,
            due: 10_000_000,
            behind_us: 9_100_000,
            ..Interval::default()
        };
        let said = of_segment(&Segment::new(0.0, 3, at(1_000_000)), &total, None);
        assert_eq!(
            said[0].line(),
            format!("overload: answered 88.0 k of 1.00 M/s, send lag 9.10 s at the maximum; {NEXT}")
        );
    }
}
