//! The findings of whole segments and sessions: all rules, applied to sums of intervals.

use std::collections::BTreeMap;

use super::{
    Finding,
    findings::{explained, rules},
    now::RESTART_S,
    rule::{Measurements, is_judged},
};
use crate::{
    events::EventKind,
    session::{Interval, Segment, SessionStart, Timeline, timeline::SegmentTotal},
    stats::Latency,
};

fn of(whole: &Measurements<'_>) -> Vec<Finding> {
    explained(rules().iter().filter_map(|rule| rule.whole(whole)).collect())
}

/// Returns the findings of a whole segment (a time with unchanged settings). `total` is the sum of the
/// segment's intervals. Warm-ups and prefills have no findings.
pub fn of_segment(segment: &Segment, total: &Interval, session: Option<&SessionStart>) -> Vec<Finding> {
    if !is_judged(segment) {
        return Vec::new();
    }
    let pings = &BTreeMap::new();
    of(&Measurements { segment: Some(segment), total, session, stalled_s: 0.0, is_restarted: false, pings })
}

/// Returns the findings of a segment of this session. In contrast to [`of_segment`], stalls and restarts of the server
/// count too. `pings` has the round-trip times of all PINGs of each node. The PINGs count only if this is the only
/// segment with findings.
pub fn of_segment_in(timeline: &Timeline, segment: &SegmentTotal, pings: &[&Latency]) -> Vec<Finding> {
    let SegmentTotal { start, total, ended_s, .. } = segment;
    if !is_judged(start) {
        return Vec::new();
    }
    let since = |from_s: f64| {
        let span = from_s..=ended_s.unwrap_or(timeline.now_s);
        timeline.events().filter(move |event| span.contains(&event.t_s)).map(|event| &event.what)
    };
    let stalls = since(start.t_s).filter_map(|event| match event {
        EventKind::Stalled { length_s, .. } => *length_s,
        _ => None,
    });
    let is_restart = |event: &EventKind| matches!(event, EventKind::Restarted);
    let is_only = timeline.segments.iter().filter(|other| is_judged(&other.start)).count() == 1;
    let pinged = (0..).zip(pings).filter(|(_, pings)| is_only && !pings.is_empty());
    let pings = pinged.map(|(node, pings)| (node, pings.value_at_quantile(0.5))).collect();
    of(&Measurements {
        segment: Some(start),
        total,
        session: timeline.session(),
        stalled_s: stalls.sum(),
        is_restarted: since(start.t_s - RESTART_S).any(is_restart),
        pings: &pings,
    })
}

/// Returns the findings of all segments of a session, each with the numbers of its segments. Findings with the same
/// text are merged. `pings` has the round-trip times of all PINGs of each node.
pub fn of_session(timeline: &Timeline, pings: &[&Latency]) -> Vec<(Finding, String)> {
    let mut found: Vec<(Finding, String)> = Vec::new();
    for segment in timeline.segments.iter() {
        for finding in of_segment_in(timeline, segment, pings) {
            let number = segment.start.segment.to_string();
            match found.iter_mut().find(|(known, _)| known.line() == finding.line()) {
                Some((_, numbers)) => *numbers += &format!(", {number}"),
                None => found.push((finding, number)),
            }
        }
    }
    found
}

/// Returns the reason why redyno itself was the limit; `None` if redyno was not the limit.
pub fn our_limit(measured: &Interval) -> Option<String> {
    let pings = &BTreeMap::new();
    let measured = Measurements {
        segment: None,
        total: measured,
        session: None,
        stalled_s: 0.0,
        is_restarted: false,
        pings,
    };
    let found = of(&measured);
    found.into_iter().find(|finding| finding.is_ours).map(|finding| finding.evidence.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::findings::tests::overloaded,
        knobs::Knobs,
        session::{Event, Record},
    };

    #[test]
    fn segments_with_the_same_finding_are_reported_together_and_others_each_with_its_figures() {
        let mut timeline = Timeline::default();
        let records = [(1, 0.5), (2, 0.97), (3, 0.5)].map(|(segment, cpu)| overloaded(segment, cpu));
        records.iter().flatten().for_each(|record| timeline.push(record));
        let found: Vec<_> = of_session(&timeline, &[])
            .into_iter()
            .map(|(finding, numbers)| (finding.rule, numbers))
            .collect();
        let of = |rule, numbers: &str| (rule, numbers.to_owned());
        assert_eq!(found, [of("overload", "1, 3"), of("overload", "2"), of("client limit", "2")]);
    }

    #[test]
    fn each_segment_has_its_own_hit_rate_and_a_restart_is_its_cause() {
        let mut timeline = Timeline::default();
        let workload = crate::workload::preset("get").unwrap().with_prefill().unwrap();
        for (segment, misses) in [(1, 400), (2, 900)] {
            let knobs = Knobs { load: true, workload: workload.clone().into(), ..Knobs::default() };
            let (begun_s, hits) = (f64::from(segment) * 1000.0, 1000 - misses);
            timeline.push(&Record::Segment(Segment::new(begun_s, segment, knobs)));
            if segment == 2 {
                timeline.push(&Record::Event(Event::new(begun_s + 0.5, EventKind::Restarted)));
            }
            let (t_s, length_s) = (begun_s + 1.0, 1.0);
            let interval = Interval { t_s, length_s, segment, hits, misses, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let found: Vec<_> = of_session(&timeline, &[]).into_iter().map(|(finding, n)| (n, finding)).collect();
        let [(first, lower), (second, restarted)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.as_str(), lower.short.as_str()), ("1", "hit rate 60 %"));
        assert_eq!((second.as_str(), restarted.short.as_str()), ("2", "hit rate 10 %"));
        assert!(lower.next.contains("keys expired"), "{}", lower.next);
        assert_eq!(restarted.next, "the server was restarted, and the prefilled keys are gone");
    }
}
