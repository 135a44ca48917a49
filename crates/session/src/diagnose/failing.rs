//! Finding: most requests of the load fail, with an error of the server or without a usable reply. An error has no
//! latency, so the latencies describe only the other requests.

use super::{
    Finding, Severity,
    now::{COMMANDS_S, RecentState},
    rule::{Measurements, Rule, RuleVerdict},
    window::length_s,
};
use crate::{
    events::EventKind,
    session::{Interval, add_counts},
    units, untrusted,
};

/// The finding begins when this share of the requests fails.
const MANY: f64 = 0.5;
/// The finding ends when less than this share fails.
const FEW: f64 = 0.4;
/// The largest shown share of failed requests, if a request succeeds.
const MOST: f64 = 0.99;
/// The smallest number of answered requests for a verdict.
const ENOUGH: u64 = 20;
/// The length of the judged period, in seconds.
const WINDOW_S: f64 = 2.0;
/// Kinds of requests without a usable reply, although the server was reached.
const UNANSWERED: [&str; 3] = ["timeout", "protocol", "reset"];
/// If the slowest PINGs take longer, in nanoseconds, the server is stalled, and not only the load.
const STALLED_NS: u64 = 1_000_000_000;

/// Checks whether most requests fail.
#[derive(Debug, Clone)]
pub(super) struct FailingRequests;

impl Rule for FailingRequests {
    fn name(&self) -> &'static str {
        "failing requests"
    }

    fn over(&self) -> Option<&'static str> {
        Some("most requests succeed again")
    }

    fn judge(&self, now: &RecentState, stands: bool) -> RuleVerdict {
        let sum = |window_s| {
            let (parts, mut all) = (now.last(window_s, 0), Interval::default());
            for part in parts {
                all.ops += part.ops;
                add_counts(&mut all.errors, &part.errors);
                add_counts(&mut all.connects_failed, &part.connects_failed);
            }
            (length_s(parts) >= window_s).then_some(all)
        };
        let Some(all) = sum(WINDOW_S) else { return RuleVerdict::Unchanged };
        let of_server = found(&all, if stands { FEW } else { MANY }, ENOUGH, &[]);
        // Findings about the connection or a silent server explain lost requests.
        let is_reached = now.pings.now.is_some_and(|ping| ping.p99_ns < STALLED_NS)
            && !now.events(COMMANDS_S).any(|event| matches!(event, EventKind::PingLost { .. }));
        let unanswered = || found(&sum(COMMANDS_S).filter(is_unanswered)?, MANY, 1, &UNANSWERED);
        of_server.or_else(|| is_reached.then(unanswered)?).into()
    }

    fn whole(&self, Measurements { segment, total, stalled_s, .. }: &Measurements<'_>) -> Option<Finding> {
        segment.as_ref()?;
        let unanswered = || is_unanswered(total) && *stalled_s == 0.0;
        found(total, MANY, ENOUGH, &[])
            .or_else(|| unanswered().then(|| found(total, MANY, 1, &UNANSWERED))?)
    }
}

/// Returns whether no request succeeded, although each new connection could be opened.
fn is_unanswered(all: &Interval) -> bool {
    all.ops == 0 && all.connects_failed.is_empty()
}

/// Returns the finding if at least the share `many` of at least `enough` requests are errors of the server or errors of
/// the kinds `unanswered`. Other errors of connections have their own findings.
fn found(all: &Interval, many: f64, enough: u64, unanswered: &[&str]) -> Option<Finding> {
    // Kinds of the server's errors begin with a capital letter.
    let is_counted = |(kind, _): &(&String, &u64)| {
        kind.starts_with(|c: char| c.is_ascii_uppercase()) || unanswered.contains(&kind.as_str())
    };
    let failed = || all.errors.iter().filter(is_counted);
    let n: u64 = failed().map(|(_, n)| n).sum();
    let (kind, most) = failed().max_by_key(|(_, n)| **n)?;
    let share = n as f64 / (n + all.ops) as f64;
    if n + all.ops < enough || share < many {
        return None;
    }
    let (kind, is_answer) = (untrusted::text(kind), !unanswered.contains(&kind.as_str()));
    // If a request succeeds, the share is not rounded up to 100 %.
    let shown = if all.ops > 0 { share.min(MOST) } else { share };
    let short = format!("{} of the requests fail: {kind}", units::percent(shown));
    let rest = if all.ops > 0 { "; latencies include only successful requests" } else { "" };
    let (cause, of) = match is_answer {
        true => ("the server answers with errors", "answers are"),
        false => ("the server gives no usable reply to the load", "requests ended with"),
    };
    let long = format!("{cause}: {short}{rest}");
    let evidence = format!("{} of {} {of} {kind}", units::grouped(*most), units::grouped(n + all.ops));
    let next = "the summary and the Log screen show the first error message of each kind";
    let finding = Finding::of(Severity::Problem, short, long).with([Some(evidence)], next);
    Some(Finding { rule: FailingRequests.name(), ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, of_segment},
        knobs::Knobs,
        probe::Ping,
        session::{Record, Segment, Span},
        stats::fixture::repeated,
    };

    fn second(ops: u64, kind: &str, errors: u64) -> Interval {
        let errors = [(kind.to_owned(), errors)].into();
        Interval { length_s: 1.0, segment: 1, ops, errors, ..Interval::default() }
    }

    #[test]
    fn a_load_whose_requests_fail_has_a_finding_until_they_succeed() {
        let mut findings = Findings::default();
        let segment = Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() });
        findings.push(&Record::Segment(segment.clone()));
        let mut stands = |ops, kind, errors| {
            findings.push(&Record::Interval(Box::new(second(ops, kind, errors))));
            findings.now().iter().any(|finding| finding.rule == "failing requests")
        };
        let shown = [(0, 500), (0, 500), (900, 500), (900, 500)].map(|(ops, n)| stands(ops, "HTTP 404", n));
        assert_eq!(shown, [false, true, true, false]);
        assert!(!stands(0, "timeout", 5000), "connections have their own findings");
        let whole = of_segment(&segment, &second(100, "OOM", 300), None);
        assert_eq!(whole[0].short, "75 % of the requests fail: OOM");
        assert!(whole[0].long.ends_with("include only successful requests"));
        let all = of_segment(&segment, &second(0, "OOM", 300), None);
        assert_eq!(all[0].long, "the server answers with errors: 100 % of the requests fail: OOM");
        let most = of_segment(&segment, &second(1, "OOM", 1000), None);
        assert_eq!(most[0].short, "99 % of the requests fail: OOM", "one request succeeds");
        assert_eq!(of_segment(&segment, &second(1000, "OOM", 300), None), []);
        let silent = of_segment(&segment, &second(0, "timeout", 5), None);
        let cause = "the server gives no usable reply to the load: 100 % of the requests fail: timeout";
        assert_eq!(silent[0].long, cause);
        assert_eq!(of_segment(&segment, &second(1, "timeout", 5), None), []);
    }

    #[test]
    fn a_load_without_a_usable_reply_has_a_finding_while_ping_is_answered() {
        let rules = |kind: &str, ping_ns: u64, connects: u64| {
            let mut findings = Findings::default();
            findings.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
            for n in 1..=6 {
                let connects_failed = (connects > 0).then(|| ("refused".to_owned(), connects));
                let connects_failed = connects_failed.into_iter().collect();
                let ping = Ping { rtt: repeated(ping_ns, 100), ..Ping::default() };
                let t_s = f64::from(n);
                findings.push(&Record::Ping(Box::new(Span::new(t_s, 1.0, ping))));
                let part = Interval { t_s, connects_failed, ..second(0, kind, u64::from(n == 3)) };
                findings.push(&Record::Interval(Box::new(part)));
            }
            findings.now().iter().filter(|found| found.rule == "failing requests").count()
        };
        assert_eq!(
            ["timeout", "protocol", "reset", "refused"].map(|kind| rules(kind, 90_000, 0)),
            [1, 1, 1, 0]
        );
        assert_eq!(rules("timeout", 2_000_000_000, 0), 0, "the server is stalled");
        assert_eq!(rules("reset", 90_000, 1), 0, "the server was down");
    }
}
