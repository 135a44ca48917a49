//! Collects the findings, the sums of the PINGs and the last gauges of every node of a session.
//!
//! ```text
//!                ┌─► node 0: findings, PINGs, gauges ─┐
//!  records ──────┼─► node 1                           ├─► lines, summary, metrics, --on-finding, doctor
//!                └─► node 2                           ┘
//! ```

use std::collections::BTreeMap;

use super::Findings;
use crate::{
    gauge::{GaugeKind, Gauges},
    session::{Record, SessionStart, add_counts},
    stats::Latency,
};

/// The largest number of nodes whose findings are kept. A session follows at most this number of nodes.
const MOST: usize = 128;

/// One node of a session.
#[derive(Debug, Clone, Default)]
pub struct NodeState {
    /// The address; empty if it is unknown.
    pub address: String,
    /// The findings.
    pub findings: Findings,
    /// The round-trip times of all PINGs.
    pub pings: Latency,
    /// The number of PINGs that failed, by the kind of error.
    pub ping_errors: BTreeMap<String, u64>,
    /// The last gauges (sampled figures) of server and host. For a gauge that reports increments, the value
    /// is the sum of all increments.
    pub gauges: Gauges,
}

impl NodeState {
    /// Takes the next record (measurements or an event) of this node. Returns a line for each warning or
    /// problem that begins or ends.
    pub fn push(&mut self, record: &Record) -> Vec<String> {
        match record {
            Record::Session(session) => self.address.clone_from(&session.target.address),
            Record::Ping(span) => {
                self.pings.merge(&span.body.rtt);
                add_counts(&mut self.ping_errors, &span.body.errors);
            }
            Record::Server(moment) => {
                for (gauge, value) in moment.body.gauges.iter() {
                    let before = self.gauges.get(gauge).filter(|_| gauge.about().kind == GaugeKind::Added);
                    self.gauges.set(gauge, Some(before.unwrap_or(0.0) + value));
                }
            }
            Record::Host(moment) => {
                moment.body.gauges.iter().for_each(|(gauge, value)| self.gauges.set(gauge, Some(value)));
            }
            _ => {}
        }
        self.findings.push(record)
    }

    /// Returns the number of PINGs that failed.
    pub fn pings_lost(&self) -> u64 {
        self.ping_errors.values().sum()
    }

    /// Returns whether anything was measured at this node.
    pub fn is_known(&self) -> bool {
        !self.pings.is_empty() || !self.ping_errors.is_empty() || self.gauges.iter().next().is_some()
    }
}

/// All nodes of a session, by number.
#[derive(Debug, Clone)]
pub struct FindingsByNode {
    session: Option<SessionStart>,
    /// The last segment, for nodes whose first record comes later.
    segment: Option<Record>,
    /// The nodes from the first to the last node that has a record. The list is never empty.
    pub nodes: Vec<NodeState>,
}

impl Default for FindingsByNode {
    fn default() -> Self {
        Self { session: None, segment: None, nodes: vec![NodeState::default()] }
    }
}

impl FindingsByNode {
    /// Returns the first node.
    pub fn first(&self) -> &NodeState {
        &self.nodes[0]
    }

    /// Takes the next record of any node. Returns a line for each warning or problem that begins or ends. A
    /// line about any node but the first begins with the address of the node.
    pub fn push(&mut self, record: &Record) -> Vec<String> {
        self.make_room(record);
        let mut lines = Vec::new();
        for (number, node) in (0..).zip(&mut self.nodes) {
            let found = match record {
                Record::Session(session) => node.push(&Record::Session(session.of_node(number))),
                record if record.is_of(number) => node.push(record),
                // The first node's findings compare all nodes. The others need the settings of the load.
                record => {
                    if number == 0 || matches!(record, Record::Segment(_)) {
                        node.findings.push_other(record);
                    }
                    continue;
                }
            };
            let prefix = if number > 0 { format!("{}  ", node.address) } else { String::new() };
            lines.extend(found.into_iter().map(|line| format!("{prefix}{line}")));
        }
        lines
    }

    /// Adds the nodes up to the node of `record`.
    fn make_room(&mut self, record: &Record) {
        match record {
            Record::Session(session) => self.session = Some(session.clone()),
            Record::Segment(_) => self.segment = Some(record.clone()),
            _ => drop(self.session.as_mut().map(|session| session.follow(record))),
        }
        let wanted = 1 + usize::from(record.node().unwrap_or_default());
        while self.nodes.len() < wanted.min(MOST) {
            let number = self.nodes.len() as u16;
            let mut node = NodeState::default();
            let session = self.session.as_ref().map(|session| Record::Session(session.of_node(number)));
            session.iter().for_each(|session| drop(node.push(session)));
            self.segment.iter().for_each(|segment| node.findings.push_other(segment));
            self.nodes.push(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::Second,
        events::EventKind,
        session::{Event, ServerIdentity},
    };

    #[test]
    fn each_node_has_its_own_findings_and_lines_about_other_nodes_begin_with_their_address() {
        let at = |address: &str| ServerIdentity { address: address.to_owned(), ..ServerIdentity::default() };
        let session = SessionStart { nodes: vec![at("b:2")].into(), ..SessionStart::now(at("a:1")) };
        let mut all = FindingsByNode::default();
        all.push(&Record::Session(session));
        let joined = EventKind::NodeJoined { address: "c:3".to_owned() };
        all.push(&Record::Event(Event::new(0.5, joined)).at_node(2));
        let mut lines = Vec::new();
        for n in 0..9 {
            for node in 0..3 {
                let mut second = Second::healthy(n);
                // The last node answers PINGs slowly from the fourth second on.
                if node == 2 && n > 2 {
                    second.ping(&[(900_000_000, 100)]);
                }
                lines.extend(second.records().into_iter().flat_map(|record| all.push(&record.at_node(node))));
            }
        }
        let addresses: Vec<_> = all.nodes.iter().map(|node| node.address.as_str()).collect();
        assert_eq!(addresses, ["a:1", "b:2", "c:3"]);
        assert!(!lines.is_empty() && lines.iter().all(|line| line.starts_with("c:3  ")), "{lines:?}");
        let found: Vec<_> = all.nodes.iter().map(|node| node.findings.episodes.iter().count()).collect();
        assert!(found[..2] == [0, 0] && found[2] > 0, "{found:?}");
        assert!(all.nodes.iter().all(NodeState::is_known));
    }
}
