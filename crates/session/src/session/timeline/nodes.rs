//! The history of the load on each node of a cluster.

use std::{cell::OnceCell, collections::BTreeMap};

use super::{
    Reading, Timeline,
    by_segment::BySegment,
    history::{History, Merge},
    operations::{PartLanes, sums},
};
use crate::{
    clock::{TICK_NS, seconds},
    events::EventKind,
    session::{AgentState, Interval, OperationInterval},
    stats::{Blend, Latency},
};

/// The number of ticks (quarter seconds) that the history of a node keeps in full detail. The number is
/// small, because a cluster may have hundreds of nodes.
pub(super) const KEPT: usize = 16;
/// The largest number of nodes with a history.
const MOST_NODES: usize = 1000;
/// The period for which the load on a node is shown, in seconds. The period is long enough for the p99 of a node with a
/// hundredth of the load.
const WINDOW_S: f64 = 5.0;

/// The load on one node in the last seconds of the current segment.
#[derive(Debug, Clone)]
pub struct NodeLoad<'a> {
    /// The node's share of all good replies, 0 to 1.
    pub share: f64,
    /// Good replies per second; `None` without measurements.
    pub ops_per_s: Option<f64>,
    lane: &'a History<BySegment>,
    segment: u32,
    until_s: f64,
    /// The service times. They are computed on demand, because a screen shows only some of many nodes.
    service: OnceCell<Latency>,
}

impl NodeLoad<'_> {
    /// Returns the service times. The times are at most 1.6 % too long.
    pub fn service(&self) -> &Latency {
        let (from_s, until_s) = (self.until_s - WINDOW_S, self.until_s);
        let of = || self.lane.of_segment(self.segment, from_s, until_s, &mut Blend::default());
        self.service.get_or_init(of)
    }

    fn count(&self) -> u64 {
        let cells = self.lane.between(self.until_s - WINDOW_S, self.until_s);
        cells.map(|cell| cell.value.count(self.segment)).sum()
    }
}

/// The state and the load of an agent of a fleet at one moment.
#[derive(Debug, Clone)]
pub struct AgentRow<'a> {
    /// The name of the agent's machine.
    pub host: String,
    /// Whether the agent is lost.
    pub is_lost: bool,
    /// The agent's state in its last interval; `None` without a report in the last seconds.
    pub state: Option<AgentState>,
    /// The agent's load in the last seconds; `None` without replies.
    pub load: Option<NodeLoad<'a>>,
}

/// The states of agents in a time slot.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentStates(pub(super) BTreeMap<u16, AgentState>);

impl Merge for AgentStates {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

impl PartLanes<u16> {
    /// Returns a collection without histories. Time slots of its histories are at most `longest_s` seconds long.
    pub(super) fn by_number(longest_s: f64) -> Self {
        Self::new(History::new(seconds(TICK_NS), KEPT, longest_s), MOST_NODES, None)
    }
}

impl Timeline {
    /// Adds the results of the load by node and by agent.
    pub fn push_by_node(&mut self, interval: &Interval) {
        self.nodes.push(interval, &interval.nodes);
        self.agents.push(interval, &interval.agents);
        if !interval.agent_states.is_empty() {
            let states = self.agent_states.entry(interval.t_s, interval.timed_s());
            states.0.extend(&interval.agent_states);
        }
        self.segments.push_by_node(interval);
    }

    /// Returns the total results of each node of a cluster, without warm-up and prefill.
    pub fn nodes(&self) -> BTreeMap<u16, OperationInterval> {
        sums(self.segments.iter(), |total| &total.nodes)
    }

    /// Returns the total results of each agent of a fleet, without warm-up and prefill.
    pub fn agents(&self) -> BTreeMap<u16, OperationInterval> {
        sums(self.segments.iter(), |total| &total.agents)
    }

    /// Returns the number of an agent and the name of its machine, such as `0 on load-a`.
    pub fn agent_name(&self, agent: u16) -> String {
        let host = self.agent_hosts.get(&agent);
        host.map_or_else(|| agent.to_string(), |host| format!("{agent} on {host}"))
    }

    /// Returns the address of a node, or the node's number if the address is unknown.
    pub fn address_of(&self, node: u16) -> String {
        let address = self.session().and_then(|session| session.address_of(node));
        address.map_or_else(|| format!("node {}", node + 1), str::to_owned)
    }
}

impl<'a> Reading<'a> {
    /// Returns the load on each node of a cluster in the last seconds of the current segment, by the number
    /// of the node. The result is empty without a load on a cluster.
    pub fn load_by_node(&self) -> BTreeMap<u16, NodeLoad<'a>> {
        self.load_by(&self.cells.nodes)
    }

    /// Returns whether agents of a fleet have generated load.
    pub fn has_agents(&self) -> bool {
        !self.cells.agents.lanes.is_empty()
    }

    /// Returns the agents of a fleet that took part up to this moment, by number.
    pub fn agents(&self) -> BTreeMap<u16, AgentRow<'a>> {
        let row = |host: &String| AgentRow { host: host.clone(), is_lost: false, state: None, load: None };
        let known = self.timeline.agent_hosts.iter();
        let mut agents: BTreeMap<_, _> = known.map(|(agent, host)| (*agent, row(host))).collect();
        for event in self.events() {
            let (agent, is_lost) = match &event.what {
                EventKind::AgentJoined { agent, .. } | EventKind::AgentBack { agent, .. } => (*agent, false),
                EventKind::AgentLost { agent, .. } => (*agent, true),
                _ => continue,
            };
            agents.entry(agent as u16).and_modify(|row| row.is_lost = is_lost);
        }
        for cell in self.cells.agent_states.between(self.now_s() - WINDOW_S, self.now_s()) {
            for (agent, state) in &cell.value.0 {
                agents.entry(*agent).and_modify(|row| row.state = Some(*state));
            }
        }
        for (agent, load) in self.load_by(&self.cells.agents) {
            agents.entry(agent).and_modify(|row| row.load = Some(load));
        }
        agents
    }

    fn load_by(&self, parts: &'a PartLanes<u16>) -> BTreeMap<u16, NodeLoad<'a>> {
        let segment = self.segment().map_or(1, |segment| segment.start.segment);
        let of = |lane| {
            let service = OnceCell::new();
            NodeLoad { share: 0.0, ops_per_s: None, lane, segment, until_s: self.now_s(), service }
        };
        let mut nodes: BTreeMap<_, _> = parts.lanes.iter().map(|(node, lane)| (*node, of(lane))).collect();
        let counts: Vec<_> = nodes.values().map(NodeLoad::count).collect();
        let all: u64 = counts.iter().sum();
        let rate = self.rate(WINDOW_S);
        for (node, n) in nodes.values_mut().zip(counts).filter(|_| all > 0) {
            node.share = n as f64 / all as f64;
            node.ops_per_s = rate.map(|rate| rate * node.share);
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        session::{Interval, OperationInterval, Record, Timeline},
        stats::fixture::repeated,
    };

    #[test]
    fn each_node_has_its_share_its_rate_and_its_own_times() {
        let mut timeline = Timeline::default();
        for tick in 1..=40 {
            let part = |ops, ns| OperationInterval {
                ops,
                service: repeated(ns, ops),
                ..OperationInterval::default()
            };
            // From second 5 on, the second node is slow.
            let nodes = [(0, part(30, 1000)), (2, part(10, if tick > 20 { 5_000_000 } else { 1000 }))].into();
            let (t_s, length_s) = (f64::from(tick) * 0.25, 0.25);
            let interval = Interval { t_s, length_s, segment: 1, ops: 40, nodes, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let figures = |t_s: f64| {
            let nodes = timeline.at(t_s).load_by_node();
            let figures = |(node, load): (&u16, &super::NodeLoad<'_>)| {
                (*node, load.share, load.ops_per_s, load.service().value_at_quantile(0.5) > 1_000_000)
            };
            nodes.iter().map(figures).collect::<Vec<_>>()
        };
        assert_eq!(figures(10.0), [(0, 0.75, Some(120.0), false), (2, 0.25, Some(40.0), true)]);
        assert_eq!(figures(5.0), [(0, 0.75, Some(120.0), false), (2, 0.25, Some(40.0), false)]);
    }
}
