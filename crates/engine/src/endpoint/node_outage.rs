//! Outages of nodes: times when requests to a node got no good reply. The load and the probes report these outages. The
//! length of a failover is then counted from the first lost request.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// An outage of a node: a time in which requests to the node got no good reply. All times are on the session's clock,
/// in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOutage {
    /// The due time of the last request that got a good reply before the outage.
    pub before_ns: u64,
    /// The due time of the first lost or unanswered request.
    pub since_ns: u64,
    /// The time when the first good reply after the outage arrived, or `None` during the outage.
    pub back_ns: Option<u64>,
}

impl NodeOutage {
    /// Converts the outage to another clock, whose times are `ns` nanoseconds later.
    #[must_use]
    pub fn later_by(self, ns: i64) -> Self {
        let later = |at_ns: u64| at_ns.saturating_add_signed(ns);
        let Self { before_ns, since_ns, back_ns } = self;
        Self { before_ns: later(before_ns), since_ns: later(since_ns), back_ns: back_ns.map(later) }
    }
}

/// The last outage of each node, indexed by node number. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct NodeOutages {
    last: Arc<Mutex<Vec<Option<NodeOutage>>>>,
    /// The time after the end of an outage in which a lost request still belongs to the outage, in ns.
    apart_ns: u64,
}

impl NodeOutages {
    /// Creates an empty list of outages. A request that is lost less than `apart_ns` after an outage belongs
    /// to this outage.
    pub fn apart(apart_ns: u64) -> Self {
        Self { last: Arc::default(), apart_ns }
    }

    /// Records that a request to a node, due at `due_ns`, was lost or refused, or is still not answered after a long
    /// time.
    pub fn lost(&self, node: usize, due_ns: u64) {
        let mut outages = self.last.lock();
        if outages.len() <= node {
            outages.resize(node + 1, None);
        }
        let new = NodeOutage { before_ns: due_ns, since_ns: due_ns, back_ns: None };
        let outage = outages[node]
            .filter(|outage| outage.back_ns.is_none_or(|back_ns| due_ns < back_ns + self.apart_ns));
        let NodeOutage { before_ns, since_ns, back_ns } = outage.unwrap_or(new);
        outages[node] =
            Some(NodeOutage { before_ns: before_ns.min(due_ns), since_ns: since_ns.min(due_ns), back_ns });
    }

    /// Records that the last request with a good reply before the present outage was due at `due_ns`.
    pub fn last_before(&self, node: usize, due_ns: u64) {
        if let Some(Some(outage)) = self.last.lock().get_mut(node) {
            outage.before_ns = due_ns.min(outage.since_ns);
        }
    }

    /// Records that a good reply of a node arrived at `at_ns`. The reply ends the present outage if there is one.
    pub fn answered(&self, node: usize, at_ns: u64) {
        if let Some(Some(outage)) = self.last.lock().get_mut(node) {
            outage.back_ns.get_or_insert(at_ns);
        }
    }

    /// Sets the last outage of a node.
    pub fn set(&self, node: usize, outage: Option<NodeOutage>) {
        let mut outages = self.last.lock();
        let length = outages.len().max(node + 1);
        outages.resize(length, None);
        outages[node] = outage;
    }

    /// Returns the last outage of each node.
    pub fn all(&self) -> Vec<Option<NodeOutage>> {
        self.last.lock().clone()
    }

    /// Returns the last outage of a node.
    pub fn of(&self, node: usize) -> Option<NodeOutage> {
        self.last.lock().get(node).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_lasts_from_the_first_lost_request_to_the_first_good_reply() {
        let outages = NodeOutages::default();
        assert_eq!(outages.of(2), None);
        outages.lost(2, 50);
        outages.lost(2, 40);
        outages.last_before(2, 30);
        outages.lost(2, 60);
        assert_eq!(outages.of(2), Some(NodeOutage { before_ns: 30, since_ns: 40, back_ns: None }));
        outages.answered(2, 90);
        outages.answered(2, 95);
        // This request was lost before the node answered again.
        outages.lost(2, 80);
        assert_eq!(outages.of(2), Some(NodeOutage { before_ns: 30, since_ns: 40, back_ns: Some(90) }));
        outages.lost(2, 120);
        assert_eq!(outages.of(2), Some(NodeOutage { before_ns: 120, since_ns: 120, back_ns: None }));
        assert_eq!([0, 3].map(|node| outages.of(node)), [None, None]);
    }
}
