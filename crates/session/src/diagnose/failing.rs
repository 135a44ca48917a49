//! Finding: the server answers most requests of the load with an error. An error has no latency, so the latencies
//! describe only the other requests.

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict},
    window::length_s,
};
use crate::{session::Interval, units, untrusted};

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

/// Checks whether the server answers most requests with an error.
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
        let parts = now.last(WINDOW_S, 0);
        if length_s(parts) < WINDOW_S {
            return RuleVerdict::Unchanged;
        }
        let mut all = Interval::default();
        parts.iter().for_each(|part| all.merge(part));
        found(&all, if stands { FEW } else { MANY }).into()
    }

    fn whole(&self, Measurements { segment, total, .. }: &Measurements<'_>) -> Option<Finding> {
        segment.and_then(|_| found(total, MANY))
    }
}

/// Returns the finding if at least the share `many` of the answers are errors of the server. Errors of connections,
/// such as `timeout`, have names in lower case. These errors have their own findings.
fn found(all: &Interval, many: f64) -> Option<Finding> {
    let is_of_server = |(kind, _): &(&String, &u64)| kind.starts_with(|c: char| c.is_ascii_uppercase());
    let failed = || all.errors.iter().filter(is_of_server);
    let n: u64 = failed().map(|(_, n)| n).sum();
    let (kind, most) = failed().max_by_key(|(_, n)| **n)?;
    let share = n as f64 / (n + all.ops) as f64;
    if n + all.ops < ENOUGH || share < many {
        return None;
    }
    let kind = untrusted::text(kind);
    // If a request succeeds, the share is not rounded up to 100 %.
    let shown = if all.ops > 0 { share.min(MOST) } else { share };
    let short = format!("{} of the requests fail: {kind}", units::percent(shown));
    let rest = if all.ops > 0 { "; latencies include only successful requests" } else { "" };
    let long = format!("the server answers with errors: {short}{rest}");
    let evidence = format!("{} of {} answers are {kind}", units::grouped(*most), units::grouped(n + all.ops));
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
        session::{Record, Segment},
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
    }
}
