//! The table of the nodes: its rows and its columns.

use std::borrow::Cow;

use super::{Direction, Model, NodeColumn, SortedTable, Track, View};
use crate::{
    gauge::Gauge,
    server::Status,
    session::Event,
    session::timeline::{Level, NodeLoad, PingCell},
    stats::Latency,
};

/// The gauges in the row of a node.
pub const NODE_GAUGES: [Gauge; 6] =
    [Gauge::Cpu, Gauge::UsedMemory, Gauge::Clients, Gauge::ReplicaLag, Gauge::LastAck, Gauge::MeasuredLag];

/// A row of the Nodes screen: the figures of one node at the moment shown.
#[derive(Debug, Clone)]
pub struct NodeRow<'a> {
    /// The number of the node, from 0.
    pub number: usize,
    /// The address of the node; empty until the session's first record arrives.
    pub address: &'a str,
    /// The last status of the server. `None` if the server has not answered yet.
    pub status: Option<&'a Status>,
    /// The role that the server reports: `master` or `slave`. `left` if the node has left its cluster. Empty if the
    /// role is unknown.
    pub role: &'a str,
    /// The number of a cluster's slots that the node owns. `None` without a cluster.
    pub slots: Option<u32>,
    /// The load on the node. `None` unless redyno generates load on a cluster.
    pub load: Option<NodeLoad<'a>>,
    /// The load's requests per second. Without a load on a cluster, the commands per second that the node reports.
    pub ops_per_s: Option<f64>,
    /// The node's share of the load. Without a load on a cluster, this is a primary's share of the commands of all
    /// primaries. The primary's share is `None` for a replica, or if all primaries are idle.
    pub share: Option<f64>,
    /// The track of the node. The PINGs are read from it on demand, because a screen shows only some of many nodes.
    pub(super) track: &'a Track,
    /// The moment shown.
    pub(super) view: View,
    /// The last event.
    pub event: Option<&'a Event>,
    /// The start of the node's present outage, in seconds of the session, and its cause. `None` if the node answers.
    pub outage: Option<(f64, String)>,
}

use NodeColumn::{Gauge as Of, Load, Node, Ops, Ping, Role, Share, Slots};

/// The columns after the address, the most important column first.
pub const NODE_COLUMNS: [NodeColumn; 15] = [
    Load(Level::P99),
    Ping(Level::P99),
    Ops,
    // The measured replica lag has values only if the user has enabled it.
    Of(5),
    Share,
    Of(0),
    Role,
    Load(Level::P50),
    Slots,
    Ping(Level::P50),
    Of(1),
    Of(3),
    Of(4),
    Of(2),
    NodeColumn::Event,
];

impl Default for SortedTable<NodeColumn, usize> {
    fn default() -> Self {
        Self { sorted_by: Node, is_descending: false, selected: None }
    }
}

impl Model {
    /// Sorts the table by the next column to the left or right that has a value in at least one row, the highest value
    /// first. The nodes themselves are listed in the order of their numbers.
    pub(super) fn sort_nodes(&mut self, direction: Direction) {
        let rows = self.node_rows();
        let mut columns = NODE_COLUMNS.to_vec();
        columns.retain(|column| rows.iter().any(|row| row.value(*column).is_some()));
        columns.push(NodeColumn::Node);
        columns.sort();
        self.node_table.sort_by_next(direction, &columns);
        self.node_table.is_descending = self.node_table.sorted_by != NodeColumn::Node;
    }
}

impl<'a> NodeRow<'a> {
    /// Returns the round trip times of PING in the last minute. A shorter period would have too few PINGs for a p99.
    pub fn ping(&self) -> Cow<'a, Latency> {
        self.track.reading(self.view).ping().minute.clone()
    }

    /// Returns the counts of the PINGs in the last minute.
    pub fn pings(&self) -> PingCell {
        self.track.reading(self.view).pings_minute()
    }

    /// Returns the value by which a column sorts this row. Returns `None` if the value is unknown.
    pub fn value(&self, column: NodeColumn) -> Option<f64> {
        match column {
            Node => Some(self.number as f64),
            // Primaries first.
            Role => Some(f64::from(u8::from(self.role == "master"))),
            Slots => self.slots.map(f64::from),
            Share => self.share,
            Ops => self.ops_per_s,
            Load(level) => self.load.as_ref().and_then(|load| level.of(load.service())).map(|ns| ns as f64),
            Ping(level) => level.of(&self.ping()).map(|ns| ns as f64),
            Of(place) => self.status.and_then(|status| status.gauges.get(self.gauge(place))),
            NodeColumn::Event => self.event.map(|event| event.t_s),
        }
    }

    /// Returns the gauge at this place of [`NODE_GAUGES`]. The row of a replica has `Behind` instead of `ReplicaLag`.
    pub fn gauge(&self, place: usize) -> Gauge {
        let is_replica = self.status.is_some_and(|status| status.gauges.get(Gauge::Behind).is_some());
        if is_replica && NODE_GAUGES[place] == Gauge::ReplicaLag { Gauge::Behind } else { NODE_GAUGES[place] }
    }
}
