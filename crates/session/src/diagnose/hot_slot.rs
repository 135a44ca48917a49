//! Finding: one slot of a cluster gets so many requests that its node is far busier than the other nodes. More nodes do
//! not help, because a slot belongs to one node.

use std::collections::BTreeMap;

use super::{
    Finding,
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict, is_judged},
    slow_node::name,
    window::RecentValues,
};
use crate::{
    session::{Interval, Record, SessionStart},
    units,
};

/// The length of the judged period, in seconds.
const WINDOW_S: f64 = 4.0;
/// The shortest measured time for a finding, in seconds.
const LEAST_S: f64 = 2.0;
/// The smallest number of requests for a verdict.
const ENOUGH: u64 = 200;
/// The finding ends when the slot's share of the requests falls below this factor times the limit at which the finding
/// begins.
const END: f64 = 0.7;

/// Finds the slot with the most requests.
#[derive(Debug, Clone)]
pub(super) struct HotSlot {
    recent: RecentValues<SlotRequests>,
}

impl Default for HotSlot {
    fn default() -> Self {
        Self { recent: RecentValues::new(WINDOW_S) }
    }
}

/// The requests of a period, by slot and by node.
#[derive(Debug, Clone, Default)]
struct SlotRequests {
    length_s: f64,
    slots: BTreeMap<u16, u64>,
    nodes: BTreeMap<u16, u64>,
    /// The number of nodes that own slots; 0 if this number is unknown.
    owners: u16,
}

impl SlotRequests {
    fn of(interval: &Interval) -> Self {
        let nodes =
            interval.nodes.iter().map(|(node, part)| (*node, part.ops + part.errors.values().sum::<u64>()));
        let Interval { slots, owners, .. } = interval;
        Self { length_s: interval.timed_s(), slots: slots.clone(), nodes: nodes.collect(), owners: *owners }
    }

    fn add(&mut self, other: &Self) {
        self.length_s += other.length_s;
        self.owners = self.owners.max(other.owners);
        other.slots.iter().for_each(|(slot, n)| *self.slots.entry(*slot).or_default() += n);
        other.nodes.iter().for_each(|(node, n)| *self.nodes.entry(*node).or_default() += n);
    }

    /// Returns the finding about the slot with the most requests. There is no finding if the slot's share of the
    /// requests is below `part` times the limit at which the finding begins.
    fn finding(&self, session: Option<&SessionStart>, part: f64) -> Option<Finding> {
        let all: u64 = self.nodes.values().sum();
        let (slot, requests) = self.slots.iter().max_by_key(|(_, requests)| **requests)?;
        // The results by node contain only nodes that have got requests. One hot key may leave all others without any.
        let nodes = self.nodes.len().max(self.owners.into());
        let others = nodes.checked_sub(1).filter(|others| *others > 0)?;
        // At this limit, the slot's node has 1.5 times an even share, if all other slots are used evenly.
        let limit = (0.5 / others as f64).clamp(0.1, 0.5);
        let share = *requests as f64 / all.max(1) as f64;
        if all < ENOUGH || share < limit * part {
            return None;
        }
        let share = units::percent(share.min(1.0));
        let (node, most) = self.nodes.iter().max_by_key(|(_, requests)| **requests)?;
        let address = name(session, *node);
        let even = units::percent(1.0 / nodes as f64);
        // Requests are counted by slot when they are sent, and by node when they are answered.
        let node = (most * 10 >= requests * 9).then(|| {
            let share = units::percent(*most as f64 / all as f64);
            format!("{address} gets {share} of the requests; an even share is {even}")
        });
        let long = format!("slot {slot} gets {share} of the load");
        let next = format!(
            "one node serves the whole slot: split hot keys into several keys, or cache them; CLUSTER GETKEYSINSLOT {slot} 10 lists keys of the slot"
        );
        Some(Finding::new("hot slot", format!("hot slot {slot}"), long).with([node], &next))
    }
}

impl Rule for HotSlot {
    fn name(&self) -> &'static str {
        "hot slot"
    }

    fn push(&mut self, record: &Record, now: &RecentState, stands: bool) -> RuleVerdict {
        match record {
            Record::Segment(_) => {
                self.recent = RecentValues::new(WINDOW_S);
                return RuleVerdict::Clear;
            }
            Record::Interval(interval) if now.is_of(interval) && !interval.nodes.is_empty() => {
                self.recent.push(interval.t_s, SlotRequests::of(interval));
                let mut all = SlotRequests::default();
                self.recent.since(interval.t_s - WINDOW_S).for_each(|requests| all.add(requests));
                if all.length_s >= LEAST_S && now.segment.as_ref().is_some_and(is_judged) {
                    return all.finding(now.session.as_ref(), if stands { END } else { 1.0 }).into();
                }
            }
            _ => {}
        }
        RuleVerdict::Unchanged
    }

    fn whole(&self, Measurements { total, session, .. }: &Measurements<'_>) -> Option<Finding> {
        SlotRequests::of(total).finding(*session, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, of_segment},
        knobs::Knobs,
        session::{OperationInterval, Segment},
    };

    fn second(n: u32, nodes: u16, hot: u64) -> Interval {
        let part = |ops| OperationInterval { ops, ..OperationInterval::default() };
        let even = (1000 - hot) / u64::from(nodes);
        let parts = (0..nodes).map(|node| (node, part(if node == 1 { even + hot } else { even })));
        Interval {
            t_s: f64::from(n),
            length_s: 1.0,
            segment: 1,
            ops: 1000,
            nodes: parts.collect(),
            slots: [(1234, hot)].into(),
            ..Interval::default()
        }
    }

    fn segment() -> Segment {
        Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })
    }

    #[test]
    fn a_slot_with_most_of_the_requests_is_named_until_it_has_few() {
        let mut findings = Findings::default();
        findings.push(&Record::Segment(segment()));
        let mut said = Vec::new();
        for (n, hot) in (1..).zip([600, 600, 600, 0, 0, 0, 0]) {
            said.extend(findings.push(&Record::Interval(Box::new(second(n, 3, hot)))));
        }
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with(
                "hot slot: slot 1234 gets 60 % of the load: node 2 gets 73 % of the requests; an even share is 33 %;"
            ),
            "{said:?}"
        );
        assert_eq!(said[1], "hot slot: no longer");
    }

    #[test]
    fn owners_of_slots_without_requests_are_nodes_too() {
        let found = |owners, requests: &[u64]| {
            let part = |ops: &u64| OperationInterval { ops: *ops, ..OperationInterval::default() };
            let nodes = (0..).zip(requests.iter().map(part)).collect();
            let slots = [(1234, requests[0] + 9)].into();
            let total = Interval { nodes, slots, owners, ..Interval::default() };
            of_segment(&segment(), &total, None).pop().map(|found| found.evidence.join(", "))
        };
        let even = |node, share, even| {
            Some(format!("node {node} gets {share} % of the requests; an even share is {even} %"))
        };
        assert_eq!([1, 3, 5].map(|n| found(n, &[1000])), [None, even(1, 100, 33), even(1, 100, 20)]);
        assert_eq!([2, 6].map(|n| found(n, &[400, 600])), [None, even(2, 60, 17)]);
    }

    #[test]
    fn the_number_of_nodes_decides_whether_a_slot_is_hot() {
        let is_hot = |nodes, hot| !of_segment(&segment(), &second(1, nodes, hot), None).is_empty();
        let expected = [(1, 900, false), (2, 400, false), (2, 600, true), (3, 200, false), (3, 300, true)];
        for (nodes, hot, expected) in expected.into_iter().chain([(100, 50, false), (100, 120, true)]) {
            assert_eq!(is_hot(nodes, hot), expected, "{hot} of 1000 requests, {nodes} nodes");
        }
    }
}
