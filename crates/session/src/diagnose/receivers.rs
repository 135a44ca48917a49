//! Findings about the receivers of a workload. Fewer receivers are connected than requested, messages are lost, or one
//! receiver is far slower than the others.

use super::{
    Finding,
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict, is_judged},
    window::length_s,
};
use crate::{
    session::{Interval, LEAST_SLOW_SHARE, OneReceiver, ReceivedMessages},
    stats::Latency,
    units,
};

/// The length of the examined period, in seconds. A receiver that loses its connection connects again within this
/// period.
const WINDOW_S: f64 = 2.0;
/// A receiver is far slower than the others if its median is at least this multiple of the median of all receivers. If
/// many receivers get each message in the same order, the median of the last receiver is about twice the median of all.
const FAR: u64 = 4;
/// A receiver is far slower than the others only if its median exceeds the median of all receivers by at least this
/// time, in ns.
const LEAST_NS: u64 = 1_000_000;

/// A rule about the receivers.
#[derive(Debug, Clone)]
pub(super) struct ReceiverRule {
    name: &'static str,
    over: &'static str,
    /// The length of the period that the rule examines before the finding begins, in seconds.
    least_s: f64,
    /// The finding ends after this time without any sign of the problem, in seconds.
    end_s: f64,
    look: fn(&[Interval]) -> Option<Finding>,
}

/// All rules about receivers, the most important first.
pub(super) const RECEIVERS: [ReceiverRule; 3] = [
    ReceiverRule {
        name: "receivers",
        over: "all are connected",
        least_s: WINDOW_S,
        end_s: 0.1,
        look: missing,
    },
    ReceiverRule { name: "lost messages", over: "no more are lost", least_s: 0.0, end_s: 0.1, look: lost },
    ReceiverRule { name: "slow receiver", over: "no longer", least_s: WINDOW_S, end_s: WINDOW_S, look: slow },
];

impl Rule for ReceiverRule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn over(&self) -> Option<&'static str> {
        Some(self.over)
    }

    fn judge(&self, now: &RecentState, stands: bool) -> RuleVerdict {
        let parts = now.last(WINDOW_S, 0);
        let is_known = length_s(parts) >= self.least_s && now.segment.as_ref().is_some_and(is_judged);
        let is_seen = |part: &Interval| (self.look)(std::slice::from_ref(part)).is_some();
        match (self.look)(parts).filter(|_| is_known) {
            None if stands && now.last(self.end_s, 0).iter().any(is_seen) => RuleVerdict::Unchanged,
            found => found.into(),
        }
    }

    fn whole(&self, Measurements { total, .. }: &Measurements<'_>) -> Option<Finding> {
        (self.look)(std::slice::from_ref(*total))
    }
}

/// Returns the finding if receivers are missing in all of these intervals.
fn missing(parts: &[Interval]) -> Option<Finding> {
    let of_part = |part: &Interval| {
        let (_, got) = part.arrivals.iter().find(|(_, got)| got.receivers < got.ordered)?;
        Some((got.receivers, got.ordered))
    };
    let all: Option<Vec<_>> = parts.iter().map(of_part).collect();
    let (connected, ordered) = *all?.last()?;
    let short = format!("{connected} of {ordered} receivers");
    let long = format!("only {short} are connected");
    let next = "the first error of a receiver shows the reason; if the server's limit maxclients is reached, raise this limit, or use fewer receivers";
    Some(Finding::new("receivers", short, long).with([], next))
}

/// Returns the finding if messages are lost in any of these intervals.
fn lost(parts: &[Interval]) -> Option<Finding> {
    let all = || parts.iter().flat_map(|part| part.arrivals.iter()).filter(|(_, got)| got.lost > Some(0));
    let is_kept = all().any(|(name, _)| name == "handover");
    let n: u64 = all().filter_map(|(_, got)| got.lost).sum();
    let most = all().flat_map(|(_, got)| &got.by_receiver).max_by_key(|one| one.lost);
    let most = most.filter(|one| one.lost > 0);
    let short = format!("{} lost", units::count_with_noun(n, "message"));
    let evidence = most.map(|one| format!("receiver {} lost {}", one.receiver, one.lost));
    let failed: u64 = parts.iter().flat_map(|part| part.errors.values()).sum();
    let failed = (failed > 0).then(|| format!("{} failed", units::count_with_noun(failed, "request")));
    let next = match is_kept {
        _ if failed.is_some() => {
            "read the errors of the load first: if a request that sends a message fails, its message counts as lost"
        }
        true => {
            "a restart or a failover of the server loses messages that it has not saved or replicated; check appendonly, and whether other clients take messages"
        }
        false => {
            "a receiver that reconnects misses messages; read the first error of a receiver, and check client-output-buffer-limit"
        }
    };
    (n > 0).then(|| Finding::new("lost messages", short.clone(), short).with([failed, evidence], next))
}

/// Returns the finding if a receiver is far slower than the others in all of these intervals.
fn slow(parts: &[Interval]) -> Option<Finding> {
    let (last, before) = parts.split_last()?;
    let is_slow_before =
        |receiver| before.iter().all(|part| far_slower(part).any(|(_, one, _)| one.receiver == receiver));
    let (got, one, times) = far_slower(last).find(|(_, one, _)| is_slow_before(one.receiver))?;
    let p50 = |times: &Latency| units::latency(times.value_at_quantile(0.5));
    let short = format!("receiver {} slow", one.receiver);
    let of = got.ordered.max(got.receivers);
    let long = format!("receiver {} of {of} is far slower than the other receivers", one.receiver);
    let evidence = format!("p50 {} (all receivers: {})", p50(times), p50(&got.times));
    let next = "look for a proxy or a slow node on the path to this receiver; its channel may also have more messages";
    Some(Finding::new("slow receiver", short, long).with([Some(evidence)], next))
}

/// Returns the receivers that are far slower than the others in an interval or a segment, the slowest first.
fn far_slower(part: &Interval) -> impl Iterator<Item = (&ReceivedMessages, &OneReceiver, &Latency)> {
    let p50 = |times: &Latency| times.value_at_quantile(0.5);
    let all = part.arrivals.iter().flat_map(|(_, got)| got.by_receiver.iter().map(move |one| (got, one)));
    let timed = all.filter_map(|(got, one)| Some((got, one, one.times.as_ref()?)));
    let mut far: Vec<_> = timed
        .filter(|(got, _, times)| {
            let (own, usual) = (p50(times), p50(&got.times));
            let share = times.count() as f64 * f64::from(got.receivers) / got.times.count() as f64;
            own >= usual * FAR && own >= usual + LEAST_NS && share >= LEAST_SLOW_SHARE
        })
        .collect();
    far.sort_by_key(|(_, _, times)| std::cmp::Reverse(p50(times)));
    far.into_iter()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        diagnose::Findings,
        knobs::Knobs,
        session::{ReceiverResults, Record, Segment},
        stats::fixture::repeated,
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

    #[test]
    fn the_advice_about_lost_messages_depends_on_what_loses_them() {
        let found = |arrivals, errors| lost(&[Interval { arrivals, errors, ..Interval::default() }]);
        let next = |arrivals| found(arrivals, BTreeMap::new()).map(|found| found.next);
        let got = || Some(Box::new(ReceivedMessages { lost: Some(66), ..ReceivedMessages::default() }));
        let none = ReceiverResults::default;
        let of_queue = next(ReceiverResults { handover: got(), ..none() }).unwrap_or_default();
        assert!(of_queue.contains("restart") && !of_queue.contains("reconnects"), "{of_queue}");
        assert!(
            next(ReceiverResults { delivery: got(), ..none() }).unwrap_or_default().contains("reconnects")
        );
        let refused = [("OOM".to_owned(), 66)].into();
        let of_failed = found(ReceiverResults { delivery: got(), ..none() }, refused).unwrap();
        assert_eq!(of_failed.evidence, ["66 requests failed"]);
        assert!(of_failed.next.contains("the errors of the load"), "{}", of_failed.next);
    }

    #[test]
    fn lost_messages_and_the_one_receiver_that_is_far_slower_are_found_and_named() {
        let mut findings = Findings::default();
        findings.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
        let mut found = |slow_ms: u64, lost| {
            let times = Some(repeated(slow_ms * 1_000_000, 100)).filter(|_| slow_ms > 0);
            let one = OneReceiver { receiver: 7, received: 100, lost, times, ..OneReceiver::default() };
            let times = repeated(200_000, 1000);
            let by_receiver = vec![one];
            let received = ReceivedMessages {
                times,
                receivers: 10,
                ordered: 10,
                lost: Some(lost),
                by_receiver,
                ..ReceivedMessages::default()
            };
            let arrivals = ReceiverResults { delivery: Some(received.into()), ..ReceiverResults::default() };
            let part = Interval { segment: 1, length_s: 1.0, arrivals, ..Interval::default() };
            findings.push(&Record::Interval(Box::new(part)));
            let now = findings
                .now()
                .into_iter()
                .filter(|it| it.rule.contains("message") || it.rule.contains("receiver"));
            now.map(|it| it.line().split(';').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let slow = "slow receiver: receiver 7 of 10 is far slower than the other receivers: p50 20.0 ms (all receivers: 200 µs)";
        let lost = "lost messages: 3 messages lost: receiver 7 lost 3";
        assert_eq!(found(20, 0), [""; 0], "one interval is too short");
        assert_eq!(
            (found(20, 0), found(20, 3)),
            (vec![slow.to_owned()], vec![lost.to_owned(), slow.to_owned()])
        );
        assert_eq!((found(0, 0).len(), found(0, 0)), (2, Vec::new()), "both end");
        assert_eq!(
            (found(1, 0), found(1, 0)),
            (Vec::new(), Vec::new()),
            "the slow receiver is less than 1 ms slower"
        );
    }
}
