//! Finding: one node of a cluster answers more slowly than the others.
//!
//! ```text
//!  load   node 1: 120 µs   node 2: 5.1 ms   node 3: 130 µs     medians of the service times
//!  PING   node 1:  90 µs   node 2: 5.0 ms   node 3:  95 µs     if PING is slow too: the network or the process
//! ```

use std::collections::BTreeMap;

use super::{
    Finding,
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict},
    window::{RecentValues, middle},
};
use crate::{
    session::{Interval, OperationInterval, Record, SessionStart},
    stats::Latency,
    units,
};

/// The length of the examined period, in seconds. The period is long enough that a single slow command is no finding.
const WINDOW_S: f64 = 3.0;
/// Two ratios of a node's median to the median of the other nodes. The finding begins at the first ratio, and ends
/// below the second ratio.
const TIMES: [u64; 2] = [3, 2];
/// Two differences between a node's median and the median of the other nodes, in nanoseconds. The finding begins at the
/// first difference, and ends below the second difference. Smaller differences between machines are common.
const LEAST_NS: [u64; 2] = [1_000_000, 500_000];

/// The smallest share of a node's PING reports that are slow.
const STEADY: f64 = 0.75;
/// For a verdict, a node needs at least this number of requests in the period.
const ENOUGH: u64 = 20;
/// For a verdict, a node needs at least this number of PINGs in the period. With many nodes, each node gets only five
/// PINGs a second.
const ENOUGH_PINGS: u64 = 10;

/// The median time of each node, in nanoseconds.
type Medians = BTreeMap<u16, u64>;

/// The median time of a node's requests or PINGs in a record, in nanoseconds, and their number.
#[derive(Debug, Clone, Copy)]
struct MedianOfRequests {
    ns: u64,
    requests: u64,
}

/// Compares the nodes of a cluster.
#[derive(Debug, Clone)]
pub(super) struct SlowNode {
    /// The medians of each interval, by node.
    load: RecentValues<BTreeMap<u16, MedianOfRequests>>,
    /// The median PING time of each report, by node.
    pings: BTreeMap<u16, RecentValues<MedianOfRequests>>,
}

impl Default for SlowNode {
    fn default() -> Self {
        Self { load: RecentValues::new(WINDOW_S), pings: BTreeMap::new() }
    }
}

impl Rule for SlowNode {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn over(&self) -> Option<&'static str> {
        Some("the node is as fast as the other nodes again")
    }

    fn push_other(&mut self, record: &Record) {
        let Record::Ping(span) = record else { return };
        if let Some(one) = MedianOfRequests::of(&span.body.rtt) {
            self.pings.entry(span.node).or_insert_with(|| RecentValues::new(WINDOW_S)).push(span.t_s, one);
        }
    }

    fn push(&mut self, record: &Record, now: &RecentState, stands: bool) -> RuleVerdict {
        match record {
            Record::Session(_) | Record::Event(_) => {}
            Record::Segment(_) => self.load = RecentValues::new(WINDOW_S),
            Record::Interval(interval) if !interval.nodes.is_empty() && interval.timed_s() > 0.0 => {
                self.load.push(interval.t_s, medians(interval));
            }
            Record::Ping(_) => self.push_other(record),
            _ => return RuleVerdict::Unchanged,
        }
        self.pings.values_mut().for_each(|pings| pings.forget(now.t_s));
        self.load.forget(now.t_s);
        self.judge_all(now, stands).into()
    }

    fn whole(&self, Measurements { total, session, pings, .. }: &Measurements<'_>) -> Option<Finding> {
        let medians = middles(medians(total).into_iter().map(|(node, one)| (node, vec![one])), ENOUGH);
        let load = NodeComparison::of(&medians, false)?;
        let ping = NodeComparison::with(pings, load.node);
        Some(finding(session.as_ref().copied(), load.node, Some(&load), ping.as_ref()))
    }
}

impl SlowNode {
    /// The name of the rule.
    pub(super) const NAME: &'static str = "slow node";

    fn judge_all(&self, now: &RecentState, stands: bool) -> Option<Finding> {
        let mut load: BTreeMap<u16, Vec<MedianOfRequests>> = BTreeMap::new();
        let intervals = self.load.since(now.t_s - WINDOW_S);
        intervals.flatten().for_each(|(node, one)| load.entry(*node).or_default().push(*one));
        let load = middles(load, ENOUGH);
        // The first node reports no mode while it is slow.
        let is_cluster = !load.is_empty() || now.status().is_some_and(|status| status.mode == "cluster");
        let pings = self.pings.iter().filter(|_| is_cluster);
        let pings = pings.map(|(node, own)| (*node, own.since(now.t_s - WINDOW_S).copied().collect()));
        let pings = middles(pings, ENOUGH_PINGS);
        let (by_load, by_ping) = (NodeComparison::of(&load, stands), NodeComparison::of(&pings, stands));
        let by_ping = by_ping.filter(|ping| self.is_steady(ping, now, stands));
        let node = by_load.as_ref().or(by_ping.as_ref())?.node;
        let ping = by_ping.filter(|ping| ping.node == node).or_else(|| NodeComparison::with(&pings, node));
        let load = by_load.or_else(|| NodeComparison::with(&load, node));
        Some(finding(now.session.as_ref(), node, load.as_ref(), ping.as_ref()))
    }

    /// Returns whether most PING reports of a node are slow. Each node of a large cluster gets few PINGs. On a busy
    /// machine, the median of one of these nodes is often high by chance.
    fn is_steady(&self, ping: &NodeComparison, now: &RecentState, stands: bool) -> bool {
        let reports = self.pings[&ping.node].since(now.t_s - WINDOW_S);
        let slow = |own_ns| NodeComparison { own_ns, ..*ping }.is_slow(stands);
        let (slow, all) = reports.fold((0, 0), |(n, all), one| (n + usize::from(slow(one.ns)), all + 1));
        slow as f64 >= STEADY * all as f64
    }
}

/// A node, its median, and the median of the other nodes.
#[derive(Clone, Copy)]
struct NodeComparison {
    node: u16,
    own_ns: u64,
    others_ns: u64,
}

impl NodeComparison {
    /// Returns the slowest node, if it is much slower than the others.
    fn of(medians: &Medians, stands: bool) -> Option<Self> {
        let (slowest, _) = medians.iter().max_by_key(|(_, ns)| **ns)?;
        Self::with(medians, *slowest).filter(|compared| compared.is_slow(stands))
    }

    /// Compares this node with the others.
    fn with(medians: &Medians, node: u16) -> Option<Self> {
        let own_ns = *medians.get(&node)?;
        let others = medians.iter().filter(|(other, _)| **other != node).map(|(_, ns)| *ns).collect();
        Some(Self { node, own_ns, others_ns: middle(others)? })
    }

    fn is_slow(&self, stands: bool) -> bool {
        let place = usize::from(stands);
        self.own_ns >= self.others_ns.saturating_mul(TIMES[place])
            && self.own_ns >= self.others_ns.saturating_add(LEAST_NS[place])
    }

    fn text(&self, what: &str) -> String {
        let (own, others) = (units::latency(self.own_ns), units::latency(self.others_ns));
        format!("{what} p50 {own} (other nodes: {others})")
    }
}

fn finding(
    session: Option<&SessionStart>,
    node: u16,
    load: Option<&NodeComparison>,
    ping: Option<&NodeComparison>,
) -> Finding {
    let (next, next_at_screen) = match ping.map(|ping| ping.is_slow(true)) {
        Some(false) => (
            "the node's commands are slow, not the network: run redyno doctor --one-node on this node to see its slow log",
            "the node's commands are slow, not the network: see its slow log (screen 7, Enter on its row)",
        ),
        Some(true) => (
            "the node's process or the network is slow: check the node's host and the network path to the node",
            "the node's process or the network is slow: check the node's host and the network path to the node (screen 7, Enter on its row)",
        ),
        None => (
            "run redyno doctor --one-node on this node to see its PING times, CPU and slow log",
            "see the node's PING times, CPU and slow log (screen 7, Enter on its row)",
        ),
    };
    let long = format!("{} is slower than the other nodes of the cluster", name(session, node));
    let evidence = [load.map(|load| load.text("requests")), ping.map(|ping| ping.text("PING"))];
    let finding = Finding::new(SlowNode::NAME, "slow node", long).with(evidence, next);
    Finding { next_at_screen: Some(next_at_screen), ..finding }
}

/// Returns the name of a node in a sentence: `node 10.0.0.7:6379`.
pub(super) fn name(session: Option<&SessionStart>, node: u16) -> String {
    let address = session.and_then(|session| session.address_of(node));
    format!("node {}", address.map_or_else(|| (node + 1).to_string(), str::to_owned))
}

impl MedianOfRequests {
    fn of(latency: &Latency) -> Option<Self> {
        let requests = latency.count();
        (requests > 0).then(|| Self { ns: latency.value_at_quantile(0.5), requests })
    }
}

fn medians(interval: &Interval) -> BTreeMap<u16, MedianOfRequests> {
    let of_node = |part: &OperationInterval| MedianOfRequests::of(&part.service);
    interval.nodes.iter().filter_map(|(node, part)| Some((*node, of_node(part)?))).collect()
}

/// Returns the median over each node's medians. Nodes that answered less than `enough` requests are left out.
fn middles(values: impl IntoIterator<Item = (u16, Vec<MedianOfRequests>)>, enough: u64) -> Medians {
    let of_node = |medians: Vec<MedianOfRequests>| {
        let requests: u64 = medians.iter().map(|median| median.requests).sum();
        middle(medians.into_iter().map(|median| median.ns).collect()).filter(|_| requests >= enough)
    };
    values.into_iter().filter_map(|(node, medians)| Some((node, of_node(medians)?))).collect()
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{
        diagnose::{Findings, fixture::Second, of_segment, of_session},
        knobs::Knobs,
        probe::Ping,
        session::{Segment, ServerIdentity, Span, Timeline},
        stats::fixture::repeated,
    };

    const US: u64 = 1000;

    fn session() -> SessionStart {
        let at = |address: &str| ServerIdentity { address: address.to_owned(), ..ServerIdentity::default() };
        SessionStart { nodes: vec![at("b:2"), at("c:3")].into(), ..SessionStart::now(at("a:1")) }
    }

    fn segment() -> Segment {
        Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })
    }

    fn interval(t_s: f64, us: [u64; 3]) -> Interval {
        let part = |us| OperationInterval {
            ops: 100,
            service: repeated(us * US, 100),
            ..OperationInterval::default()
        };
        let nodes = (0..).zip(us.map(part)).collect();
        Interval { t_s, length_s: 1.0, segment: 1, ops: 300, nodes, ..Interval::default() }
    }

    /// The records of second `n` of a cluster, without load.
    fn second(n: u32, ping_us: [u64; 3]) -> Vec<Record> {
        let mut second = Second::healthy(n);
        second.status.mode = "cluster".to_owned();
        let mut records = second.records();
        records.retain(|record| !matches!(record, Record::Ping(_)));
        let ping = |(node, us): (u16, u64)| {
            let body = Ping { rtt: repeated(us * US, 100), ..Ping::default() };
            Record::Ping(Box::new(Span::new(f64::from(n) + 1.0, 1.0, body))).at_node(node)
        };
        records.extend((0..3).zip(ping_us).rev().map(ping));
        records
    }

    fn push(findings: &mut Findings, records: Vec<Record>) {
        for record in records {
            match record.is_of(0) {
                true => drop(findings.push(&record)),
                false => findings.push_other(&record),
            }
        }
    }

    #[test]
    fn a_slow_node_is_named_by_the_times_of_the_load_and_by_its_pings() {
        let mut findings = Findings::default();
        push(&mut findings, vec![Record::Session(session()), Record::Segment(segment())]);
        for n in 0..4 {
            push(&mut findings, second(n, [90, 5000, 95]));
            push(
                &mut findings,
                vec![Record::Interval(Box::new(interval(f64::from(n) + 1.0, [120, 5100, 130])))],
            );
        }
        let found = findings.now().remove(0);
        assert_eq!(
            (found.rule, found.long.as_str()),
            ("slow node", "node b:2 is slower than the other nodes of the cluster")
        );
        assert_eq!(
            found.evidence,
            ["requests p50 5.10 ms (other nodes: 130 µs)", "PING p50 5.00 ms (other nodes: 95.0 µs)"]
        );
        assert!(found.next.contains("the network is slow"), "{}", found.next);
        for n in 4..9 {
            push(&mut findings, second(n, [90, 90, 95]));
            push(
                &mut findings,
                vec![Record::Interval(Box::new(interval(f64::from(n) + 1.0, [120, 120, 130])))],
            );
        }
        assert_eq!(findings.now(), []);
    }

    #[test]
    fn without_load_the_pings_name_the_slow_node() {
        let mut findings = Findings::default();
        push(&mut findings, vec![Record::Session(session())]);
        (0..4).for_each(|n| push(&mut findings, second(n, [90, 95, 5000])));
        let found = findings.now().remove(0);
        assert_eq!(found.evidence, ["PING p50 5.00 ms (other nodes: 95.0 µs)"]);
        assert!(found.long.contains("c:3"), "{}", found.long);

        let total = interval(1.0, [120, 5100, 130]);
        let found = of_segment(&segment(), &total, Some(&session())).remove(0);
        assert_eq!((found.rule, found.long.contains("b:2")), ("slow node", true));
    }

    #[test]
    fn no_node_of_a_large_cluster_is_slow_because_some_pings_of_all_nodes_are_slow() {
        let mut findings = Findings::default();
        push(&mut findings, vec![Record::Session(session())]);
        let mut random = StdRng::seed_from_u64(1);
        for tick in 0..240 {
            if tick % 4 == 0 {
                push(&mut findings, second(tick / 4, [90; 3]).into_iter().filter(|it| it.is_of(0)).collect());
            }
            for node in (0..100).rev() {
                let us = if random.next_u64() % 100 < 15 { 20_000 } else { 90 };
                let body = Ping { rtt: repeated(us * US, 1), ..Ping::default() };
                let span = Span::new(f64::from(tick) / 4.0 + 0.25, 0.25, body);
                push(&mut findings, vec![Record::Ping(Box::new(span)).at_node(node)]);
            }
            assert_eq!(findings.now(), [], "tick {tick}");
        }
    }

    #[test]
    fn the_finding_about_a_whole_segment_has_the_pings_of_the_nodes() {
        let mut timeline = Timeline::default();
        let total = Record::Interval(Box::new(interval(1.0, [120, 5100, 130])));
        [Record::Session(session()), Record::Segment(segment()), total]
            .iter()
            .for_each(|it| timeline.push(it));
        let pings = [90, 5000, 95].map(|us| repeated(us * US, 100));
        let found = of_session(&timeline, &pings.each_ref()).remove(0).0;
        assert_eq!(found.evidence[1..], ["PING p50 5.00 ms (other nodes: 95.0 µs)"]);
    }

    #[test]
    fn nodes_that_differ_a_little_are_as_fast_as_each_other() {
        for us in [[120, 300, 130], [120, 900, 130], [1000, 2500, 1100], [5000, 5000, 130]] {
            assert_eq!(of_segment(&segment(), &interval(1.0, us), None), [], "{us:?}");
        }
    }
}
