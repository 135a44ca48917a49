//! The results of the load for each node of a cluster, or for each agent of a fleet, and the busiest slots.

use super::{AgentState, Interval, OperationInterval, part::per_s};
use crate::stats::Latency;

/// The largest number of slots in an interval. In the sum of many intervals, the slots with the fewest requests are
/// left out.
const MOST_SLOTS: usize = 64;

/// The numbering of a cluster's nodes in a session. If a session compares two clusters, one cluster has the even
/// numbers, and the other cluster has the odd numbers.
#[derive(Debug, Clone, Copy)]
pub struct Numbering {
    /// The number of the cluster's first node.
    pub first: u16,
    /// The distance to the number of the next node.
    pub step: u16,
}

impl Numbering {
    /// The numbering in which each node has the same number as in the cluster.
    pub const OF_CLUSTER: Self = Self { first: 0, step: 1 };

    /// Returns the number that the session gives to node `node` of the cluster. A cluster has at most 4 000
    /// nodes.
    pub fn of(self, node: usize) -> u16 {
        self.first + self.step * node as u16
    }
}

impl AgentState {
    /// Returns the state of the agent that reported `interval`, without the figures of its clock.
    pub fn of(interval: &Interval) -> Self {
        let client = interval.client.as_ref();
        let late = client.and_then(|client| client.late.as_ref()).filter(|late| late.count() > 0);
        let unread_ns = client.and_then(|client| client.readable_to_read.percentile(0.5));
        Self {
            clients: interval.clients,
            cpu: client.map(|client| client.cpu),
            late_us: late.map(|late| late.value_at_quantile(0.99) as f64 / 1e3),
            held: client.and_then(|client| client.held.as_ref()).map_or(0, Latency::count),
            unread_us: unread_ns.map(|ns| ns as f64 / 1e3),
            ..Self::default()
        }
    }
}

impl Interval {
    /// Replaces each node number with the number that `known` returns for this node. If `known` returns `None`, the
    /// results of this node are removed. Returns the numbers of the removed nodes.
    pub fn renumber(&mut self, known: impl Fn(u16) -> Option<u16>) -> Vec<u16> {
        let mut unknown = Vec::new();
        for (node, part) in std::mem::take(&mut self.nodes) {
            match known(node) {
                Some(number) => self.nodes.entry(number).or_default().merge(&part),
                None => unknown.push(node),
            }
        }
        unknown
    }

    /// Adds the results of `later` by node and by agent, and its busiest slots.
    pub(super) fn add_nodes(&mut self, later: &Self) {
        let is_open = later.response.is_some();
        for (node, part) in &later.nodes {
            self.nodes.entry(*node).or_default().add(part, is_open);
        }
        for (agent, part) in &later.agents {
            self.agents.entry(*agent).or_default().add(part, is_open);
        }
        self.agent_states.extend(&later.agent_states);
        self.owners = self.owners.max(later.owners);
        self.add_slots(later.slots.iter().map(|(slot, requests)| (*slot, *requests)));
    }

    /// Joins this interval with `other`, which another agent measured at the same time. Counts and rates are
    /// added. The length is the longer of the two lengths.
    pub fn join(&mut self, other: &Self) {
        let length_s = self.length_s.max(other.length_s);
        let connected = self.clients.saturating_add(other.clients);
        // There is an outage only while no agent has a connection.
        let outage_s = self.outage_s.min(other.outage_s);
        self.merge_over(other, 0.0);
        self.add_nodes(other);
        (self.length_s, self.clients, self.outage_s) = (length_s, connected, outage_s);
        self.paused_s = self.paused_s.max(other.paused_s);
        self.ops_per_s = per_s(self.ops as f64, length_s);
    }

    /// Returns the results of one node. Fields that are measured only for the whole load are left out. In an open loop,
    /// drained replies belong to the rate.
    pub(super) fn of_node(&self, node: u16, is_open: bool) -> Self {
        let part = self.nodes.get(&node).cloned().unwrap_or_default();
        let &Self { t_s, length_s, drain, paused_s, tick, segment, .. } = self;
        let drained = if is_open { 0 } else { part.drained };
        let mut own = Self {
            t_s,
            node,
            length_s,
            drain,
            paused_s,
            tick,
            segment,
            drained,
            ops: part.ops,
            bytes_in: part.bytes_in,
            bytes_out: part.bytes_out,
            errors: part.errors,
            service: part.service,
            ..Self::default()
        };
        own.ops_per_s = per_s(own.in_rate() as f64, length_s);
        own
    }

    /// Returns the results of all operations together.
    pub fn of_all(&self) -> OperationInterval {
        OperationInterval::sum(self.commands.values())
    }

    /// Adds requests to slots.
    pub(super) fn add_slots(&mut self, slots: impl Iterator<Item = (u16, u64)>) {
        for (slot, requests) in slots {
            *self.slots.entry(slot).or_default() += requests;
        }
        if self.slots.len() > MOST_SLOTS {
            let mut most: Vec<u64> = self.slots.values().copied().collect();
            most.sort_unstable_by(|a, b| b.cmp(a));
            let least = most[MOST_SLOTS / 2];
            self.slots.retain(|_, requests| *requests > least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::OperationInterval;

    #[test]
    fn sums_keep_the_busiest_slots_and_all_nodes() {
        let mut sum = Interval::default();
        for n in 0..1000_u16 {
            let part = OperationInterval { ops: 2, ..OperationInterval::default() };
            let slots = [(7, 100), (n, 5)].into();
            sum.add(&Interval { nodes: [(n % 3, part)].into(), slots, ..Interval::default() });
        }
        assert!(sum.slots.len() <= MOST_SLOTS, "{:?}", sum.slots);
        assert_eq!(sum.slots.iter().max_by_key(|(_, n)| **n), Some((&7, &99_905)));
        let ops: Vec<_> = sum.nodes.iter().map(|(node, part)| (*node, part.ops)).collect();
        assert_eq!(ops, [(0, 668), (1, 666), (2, 666)]);
    }
}
