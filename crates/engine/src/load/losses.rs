//! The load engine's events for lost connections. A worker reports its lost connections once per tick (250 ms). One
//! report can therefore contain a thousand lost connections.

use std::collections::BTreeMap;

use crate::endpoint::NodeNumber;

/// An event of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadEvent {
    /// A worker has lost connections, or has reopened lost connections, since its last tick. A worker is a thread of
    /// the load, and a tick lasts 250 ms. The worker sends this event before the counts of the tick.
    Losses {
        /// The worker's number, from 0.
        worker: usize,
        /// The losses.
        report: LossReport,
    },
    /// A worker lost its only remaining connection.
    Down {
        /// The time when the connection was lost, in ns.
        at_ns: u64,
        /// The worker's number, from 0.
        worker: usize,
    },
    /// A worker that had no connection left has a connection again.
    Up {
        /// The time when the connection came back, in ns.
        at_ns: u64,
        /// The worker's number, from 0.
        worker: usize,
    },
    /// A worker met the first error of a kind.
    FirstError {
        /// The error's kind.
        kind: String,
        /// The error's message.
        message: String,
    },
    /// A worker died, and the connections of its clients are closed.
    Died {
        /// The time when the worker died, in ns.
        at_ns: u64,
        /// The reason why the worker died.
        cause: String,
    },
}

/// The losses and returns of a worker's connections to one server since the last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LossReport {
    /// The node of a cluster to which the connections lead; `None` without a cluster.
    pub node: Option<NodeNumber>,
    /// How often a connection was lost, or failed to open.
    pub lost: u64,
    /// The number of connections to the node before the first loss; 0 without a cluster.
    pub of: u64,
    /// The time when the first loss occurred, in ns.
    pub first_ns: u64,
    /// The reason why the first loss occurred.
    pub cause: String,
    /// The time when the last lost connection came back, in ns, or 0 if no connection came back after the last loss.
    pub back_ns: u64,
    /// Clients that lost their connection and are not connected again yet. In a cluster, lost connections to the node
    /// since the worker last connected to the node.
    pub still_lost: u64,
}

/// A worker's losses since its last report.
#[derive(Debug, Default)]
pub(super) struct ConnectionLosses {
    /// The losses by node. An entry is kept while connections are lost.
    reports: BTreeMap<Option<NodeNumber>, LossReport>,
    /// Whether every connection was lost according to the last report.
    is_down: bool,
}

impl ConnectionLosses {
    /// Notes that a client lost its connection to `node`. `first` returns the number of connections to the node before
    /// this loss, and the cause of the loss.
    pub(super) fn lost(
        &mut self,
        node: Option<NodeNumber>,
        at_ns: u64,
        first: impl FnOnce() -> (u64, String),
    ) {
        let report = self.reports.entry(node).or_default();
        if report.lost == 0 {
            (report.of, report.cause) = first();
            (report.node, report.first_ns) = (node, at_ns);
        }
        report.lost += 1;
        report.back_ns = 0;
        report.still_lost += u64::from(node.is_some());
    }

    /// Notes that a client is connected to `node` again.
    pub(super) fn back(&mut self, node: Option<NodeNumber>, at_ns: u64) {
        if let Some(report) = self.reports.get_mut(&node) {
            report.back_ns = at_ns;
            report.still_lost = if node.is_some() { 0 } else { report.still_lost };
        }
    }

    /// Returns `is_down` (whether all connections are lost) if the value has changed since the last call. Otherwise
    /// returns `None`.
    pub(super) fn down_change(&mut self, is_down: bool) -> Option<bool> {
        (std::mem::replace(&mut self.is_down, is_down) != is_down).then_some(is_down)
    }

    /// Returns the reports at the end of a tick about all nodes whose connections were lost or have come back.
    /// `clients` is the number of clients without a connection.
    pub(super) fn reports(&mut self, clients: u64) -> Vec<LossReport> {
        let mut reports = Vec::new();
        self.reports.retain(|node, report| {
            let still_lost = if node.is_some() { report.still_lost } else { clients };
            if report.lost > 0 || report.back_ns > 0 || report.still_lost != still_lost {
                let next = LossReport { node: *node, still_lost, ..LossReport::default() };
                reports.push(LossReport { still_lost, ..std::mem::replace(report, next) });
            }
            still_lost > 0
        });
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Address, Topology};

    #[test]
    fn losses_of_a_tick_are_one_report() {
        let mut losses = ConnectionLosses::default();
        (0..1000).for_each(|n| losses.lost(None, 100 + n, || (0, format!("reset {n}"))));
        let report = losses.reports(1000).remove(0);
        assert_eq!((report.lost, report.first_ns, report.cause.as_str()), (1000, 100, "reset 0"));
        assert_eq!(losses.reports(1000), []);
        losses.back(None, 700);
        let report = losses.reports(0).remove(0);
        assert_eq!((report.lost, report.back_ns, report.still_lost), (0, 700, 0));
        assert_eq!(losses.reports(0), []);
    }

    #[test]
    fn a_node_stays_lost_until_a_connection_leads_to_this_node_again() {
        let mut topology = Topology::default();
        let [dead, other] = [1, 2]
            .map(|port| Address::Tcp { host: String::new(), port })
            .map(|at| topology.find_or_add(&at).ok());
        let mut losses = ConnectionLosses::default();
        (0..50).for_each(|n| losses.lost(dead, n, || (50, "reset".to_owned())));
        losses.back(other, 60);
        let report = losses.reports(0).remove(0);
        assert_eq!((report.node, report.lost, report.of, report.still_lost), (dead, 50, 50, 50));
        losses.back(other, 70);
        assert_eq!(losses.reports(0), []);
        losses.back(dead, 80);
        assert_eq!(losses.reports(0), [LossReport { node: dead, back_ns: 80, ..LossReport::default() }]);
        assert_eq!(losses.reports.len(), 0);
    }

    #[test]
    fn that_all_are_lost_is_reported_when_it_changes() {
        let mut losses = ConnectionLosses::default();
        let turns: Vec<_> = [false, true, true, false].map(|is_down| losses.down_change(is_down)).into();
        assert_eq!(turns, [None, Some(true), None, Some(false)]);
    }
}
