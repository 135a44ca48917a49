//! Finding: fewer receivers are connected than requested, for longer than it takes to connect.

use super::{
    Finding,
    now::{RecentState, length_s},
    rule::{Measurements, Rule, RuleVerdict, is_judged},
};
use crate::session::Interval;

/// The length of the judged period, in seconds: longer than the longest pause before a receiver connects again.
const WINDOW_S: f64 = 2.0;

/// Checks whether all receivers are connected.
#[derive(Debug, Clone)]
pub(super) struct MissingReceivers;

impl Rule for MissingReceivers {
    fn name(&self) -> &'static str {
        "receivers"
    }

    fn over(&self) -> Option<&'static str> {
        Some("all are connected")
    }

    fn judge(&self, now: &RecentState, _: bool) -> RuleVerdict {
        let parts = now.last(WINDOW_S, 0);
        let is_known = length_s(parts) >= WINDOW_S && now.segment.as_ref().is_some_and(is_judged);
        let missing: Vec<_> = parts.iter().map(missing).collect();
        match missing.last() {
            Some(None) => RuleVerdict::Clear,
            Some(last) if is_known && missing.iter().all(Option::is_some) => last.clone().into(),
            _ => RuleVerdict::Unchanged,
        }
    }

    fn whole(&self, Measurements { total, .. }: &Measurements<'_>) -> Option<Finding> {
        missing(total)
    }
}

fn missing(part: &Interval) -> Option<Finding> {
    let (_, got) = part.arrivals.iter().find(|(_, got)| got.receivers < got.ordered)?;
    let short = format!("{} of {} receivers", got.receivers, got.ordered);
    let long = format!("only {short} are connected");
    let next = "the first error of a receiver has the reason; raise maxclients if it is reached, or use fewer receivers";
    Some(Finding { next: next.to_owned(), ..Finding::new("receivers", short, long) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::Findings,
        knobs::Knobs,
        session::{ReceivedMessages, ReceiverResults, Record, Segment},
    };

    #[test]
    fn receivers_that_stay_away_are_found_and_those_that_connect_again_are_not() {
        let mut findings = Findings::default();
        findings.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
        let mut found = |receivers| {
            let received = ReceivedMessages { receivers, ordered: 10, ..ReceivedMessages::default() };
            let arrivals = ReceiverResults { delivery: Some(received.into()), ..ReceiverResults::default() };
            let part = Interval { segment: 1, length_s: 1.0, arrivals, ..Interval::default() };
            findings.push(&Record::Interval(Box::new(part)));
            findings.now().into_iter().find(|it| it.rule == "receivers").map(|finding| finding.long)
        };
        let missing = Some("only 7 of 10 receivers are connected".to_owned());
        let seen: Vec<_> = [7, 10, 7, 7, 8, 10].into_iter().map(&mut found).collect();
        let other = Some("only 8 of 10 receivers are connected".to_owned());
        assert_eq!(seen, [None, None, None, missing, other, None]);
    }
}
