//! Tracks the lost connections of all load workers. Losses are grouped into outages, and the time without any
//! connection is measured. This module also decides which events the session reports.
//!
//! ```text
//! connections  50 ──┐                 ┌── 50
//!                   └─ 0 ──────── 0 ──┘
//!      load lost ───┘                 └─── load back          one event each, for any number of connections
//!                   ├─── outage ──────┤                       the time without any connection
//! ```
//! In a cluster, each node has its own events. A node is back when it accepts a connection again, or when another node
//! owns its slots.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use crate::{
    clock::{SECOND_NS, seconds},
    endpoint::{Cluster, NodeNumber, Topology},
    events::EventKind,
    load::LossReport,
    protocol::SLOTS,
};

/// The shortest time between two reported outages, in nanoseconds. The outages in between are only counted: a server
/// that closes connections after each reply causes hundreds of outages per second.
pub(super) const REPORT_EVERY_NS: u64 = SECOND_NS;

/// An outage lasts from the first lost connection until every client is connected again, or the node is back.
#[derive(Debug, Default)]
struct ConnectionOutage {
    /// A slot that the node owned at the beginning.
    slot: Option<u16>,
    since_ns: u64,
    cause: String,
    /// The number of lost connections during the outage. A client that reconnects may lose its connection again.
    losses: u64,
    /// The number of lost connections in the last event about this outage; 0 before the first event.
    reported: u64,
    back_ns: u64,
    /// The number of connections of each worker before its first loss.
    of: BTreeMap<usize, u64>,
}

/// Tracks the load's connections to one server.
#[derive(Debug, Default)]
struct ServerConnections {
    /// The number of missing connections of each worker.
    lost: BTreeMap<usize, u64>,
    current: Option<ConnectionOutage>,
    last_reported_ns: Option<u64>,
    /// The number of lost connections that no event has reported yet, because there were too many outages.
    unreported: u64,
}

/// Tracks the load's connections.
#[derive(Debug, Default)]
pub(super) struct LostConnections {
    /// The cluster, if the load goes to its nodes.
    cluster: Option<Arc<Cluster>>,
    /// The connections to each node; without a cluster, one entry for all connections.
    servers: BTreeMap<Option<NodeNumber>, ServerConnections>,
    down: Vec<bool>,
    clients: u64,
    /// The time when the last connection was lost, in nanoseconds; `None` if there is a connection.
    down_since_ns: Option<u64>,
    /// The start and end of earlier times without any connection. An entry is kept as long as new intervals may include
    /// its time.
    past: VecDeque<(u64, u64)>,
}

impl LostConnections {
    /// Returns a tracker without lost connections, for `workers` workers.
    pub(super) fn new(workers: usize, cluster: Option<Arc<Cluster>>) -> Self {
        Self { cluster, down: vec![false; workers], ..Self::default() }
    }

    /// Sets the number of clients that should be connected from `at_ns` on.
    pub(super) fn set_clients(&mut self, clients: u32, at_ns: u64) {
        self.clients = clients.into();
        self.settle(at_ns);
    }

    /// Records that a worker has no connection any more, or has a connection again.
    pub(super) fn set_down(&mut self, worker: usize, is_down: bool, at_ns: u64) {
        self.down[worker] = is_down;
        self.settle(at_ns);
    }

    /// Returns the number of workers with clients. Clients are distributed to the workers in order, beginning with the
    /// first worker. A worker without clients has no connection to lose.
    fn with_clients(&self) -> usize {
        self.down.len().min(self.clients as usize)
    }

    fn settle(&mut self, at_ns: u64) {
        let with_clients = self.with_clients();
        let is_down = with_clients > 0 && self.down[..with_clients].iter().all(|down| *down);
        match self.down_since_ns {
            None if is_down => self.down_since_ns = Some(at_ns),
            Some(since_ns) if !is_down => {
                self.down_since_ns = None;
                self.past.push_back((since_ns, at_ns.max(since_ns)));
            }
            _ => {}
        }
    }

    /// Adds the report of a worker about a tick (quarter second).
    pub(super) fn take(&mut self, worker: usize, report: &LossReport) {
        let server = self.servers.entry(report.node).or_default();
        // A node that accepts a connection is back, even if other workers do not need the node now.
        if report.node.is_some() && report.back_ns > 0 {
            server.lost.clear();
        }
        server.lost.insert(worker, report.still_lost);
        if report.lost > 0 {
            let slot_of =
                |node, topology: &Topology| (0..SLOTS).find(|slot| topology.owner(*slot) == Some(node));
            let outage = server.current.get_or_insert_with(|| ConnectionOutage {
                slot: self
                    .cluster
                    .as_ref()
                    .zip(report.node)
                    .and_then(|(it, node)| slot_of(node, &it.topology())),
                since_ns: report.first_ns,
                cause: report.cause.clone(),
                ..ConnectionOutage::default()
            });
            outage.since_ns = outage.since_ns.min(report.first_ns);
            outage.losses += report.lost;
            outage.of.entry(worker).or_insert(report.of);
        }
        if let Some(outage) = &mut server.current {
            outage.back_ns = outage.back_ns.max(report.back_ns);
        }
    }

    /// Returns the new events, each with its time. Call this after every worker has reported its last tick
    /// (quarter second).
    pub(super) fn report(&mut self, now_ns: u64) -> Vec<(u64, EventKind)> {
        let topology = self.cluster.as_ref().map(|cluster| Arc::clone(&cluster.topology()));
        let address = |node| topology.as_ref().map(|topology| topology.node(node).address.to_string());
        let (clients, workers) = (self.clients, self.with_clients());
        let events = |(node, of): (&Option<NodeNumber>, &mut ServerConnections)| {
            let slot = of.current.as_ref().and_then(|outage| outage.slot);
            let owner =
                slot.and_then(|slot| topology.as_ref()?.owner(slot)).filter(|owner| Some(*owner) != *node);
            of.report(now_ns, (clients, workers), [*node, owner].map(|node| node.and_then(address)))
        };
        self.servers.iter_mut().flat_map(events).collect()
    }

    /// At the end of the session, returns the events about lost connections that no event has reported yet.
    pub(super) fn rest(&mut self, now_ns: u64) -> Vec<(u64, EventKind)> {
        self.servers.values_mut().for_each(|server| server.last_reported_ns = None);
        let mut events = self.report(now_ns);
        let times = self.servers.values_mut().map(|server| std::mem::take(&mut server.unreported)).sum();
        events.extend((times > 0).then_some((now_ns, EventKind::MoreConnectionsLost { times })));
        events
    }

    /// Returns the time without any connection between two moments, in seconds.
    pub(super) fn outage_s(&self, from_ns: u64, to_ns: u64) -> f64 {
        let now = self.down_since_ns.map(|since_ns| (since_ns, u64::MAX));
        let overlap = |(start, end): (u64, u64)| end.min(to_ns).saturating_sub(start.max(from_ns));
        seconds(self.past.iter().copied().chain(now).map(overlap).sum())
    }

    /// Removes the outages that ended before `before_ns`.
    pub(super) fn forget(&mut self, before_ns: u64) {
        while self.past.front().is_some_and(|(_, end_ns)| *end_ns < before_ns) {
            self.past.pop_front();
        }
    }
}

impl ServerConnections {
    /// Returns the new events about the node at the address `server`, whose slots now belong to `heir`. Both are `None`
    /// without a cluster. `workers` is the number of workers with clients.
    fn report(
        &mut self,
        now_ns: u64,
        (clients, workers): (u64, usize),
        [server, heir]: [Option<String>; 2],
    ) -> Vec<(u64, EventKind)> {
        let mut events = Vec::new();
        let Some(outage) = &mut self.current else { return events };
        if heir.is_some() {
            self.lost.clear();
        }
        let still_lost: u64 = self.lost.values().sum();
        let is_quiet = self.last_reported_ns.is_none_or(|last| now_ns >= last + REPORT_EVERY_NS);
        let lost = if outage.reported == 0 { outage.losses.max(still_lost) } else { still_lost };
        // The outage is reported again each time the number of its lost connections has doubled.
        if (outage.reported == 0 && is_quiet) || (outage.reported > 0 && lost >= 2 * outage.reported) {
            let at_ns = if outage.reported == 0 { outage.since_ns } else { now_ns };
            let unreported = std::mem::take(&mut self.unreported);
            let (cause, server) = (outage.cause.clone(), server.clone());
            // The connections of a worker that has lost none are unknown.
            let is_known = server.is_some() && outage.of.len() == workers;
            let of = is_known.then(|| outage.of.values().sum());
            events.push((at_ns, EventKind::ConnectionsLost { lost, clients, cause, unreported, server, of }));
            outage.reported = lost;
            self.last_reported_ns = Some(now_ns);
        }
        if still_lost == 0 {
            if outage.reported > 0 {
                // Clients that are no longer needed do not reconnect.
                let at_ns = if outage.back_ns > 0 { outage.back_ns } else { now_ns };
                let after_s = seconds(at_ns.saturating_sub(outage.since_ns));
                let connections = outage.reported;
                events.push((at_ns, EventKind::ConnectionsBack { connections, after_s, server, heir }));
            } else {
                self.unreported += outage.losses;
            }
            self.current = None;
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(n: u64, first_ns: u64) -> LossReport {
        LossReport { lost: n, first_ns, cause: "reset".to_owned(), still_lost: n, ..LossReport::default() }
    }

    fn back(at_ns: u64) -> LossReport {
        LossReport { back_ns: at_ns, ..LossReport::default() }
    }

    fn words(all: Vec<(u64, EventKind)>) -> Vec<String> {
        all.into_iter()
            .map(|(at_ns, what)| format!("{:.2} {}: {what}", seconds(at_ns), what.name()))
            .collect()
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_thousand_connections_lost_at_once_are_one_pair_of_events() {
        let mut connections = LostConnections::new(2, None);
        connections.set_clients(1000, 0);
        connections.take(0, &lost(500, 120 * MS));
        connections.take(1, &lost(500, 110 * MS));
        assert_eq!(
            words(connections.report(250 * MS)),
            ["0.11 load lost: 1 000 of 1 000 connections: reset"]
        );
        connections.take(0, &back(1300 * MS));
        assert_eq!(words(connections.report(1500 * MS)), [""; 0]);
        connections.take(1, &back(1350 * MS));
        assert_eq!(words(connections.report(1500 * MS)), ["1.35 load back: 1 000 connections after 1.24 s"]);
        assert_eq!(connections.rest(2000 * MS), []);
        connections.take(0, &LossReport { still_lost: 0, ..lost(1, 2000 * MS) });
        assert_eq!(connections.report(2000 * MS).len(), 2);
        connections.take(0, &lost(3, 2100 * MS));
        assert_eq!(words(connections.report(2250 * MS)), [""; 0]);
        assert_eq!(words(connections.rest(2300 * MS)), ["2.10 load lost: 3 of 1 000 connections: reset"]);
    }

    #[test]
    fn the_total_of_a_server_is_named_if_all_workers_have_reported_it() {
        let text = |of: &[(usize, u64)]| {
            let (losses, cause) = (of.iter().map(|(_, n)| n).sum(), "reset".to_owned());
            let of = of.iter().copied().collect();
            let outage = ConnectionOutage { losses, cause, of, ..ConnectionOutage::default() };
            let mut server = ServerConnections { current: Some(outage), ..ServerConnections::default() };
            words(server.report(0, (50, 2), [Some("a:1".to_owned()), None])).remove(0)
        };
        assert_eq!(text(&[(0, 25)]), "0.00 load lost: 25 connections to a:1: reset");
        assert_eq!(text(&[(0, 25), (1, 24)]), "0.00 load lost: 49 of 49 connections to a:1: reset");
    }

    #[test]
    fn an_outage_that_spreads_is_reported_again_when_it_has_doubled() {
        let mut connections = LostConnections::new(1, None);
        connections.set_clients(50, 0);
        connections.take(0, &lost(1, 0));
        assert_eq!(connections.report(250 * MS).len(), 1);
        connections.take(0, &LossReport { still_lost: 50, ..lost(49, 300 * MS) });
        assert_eq!(words(connections.report(500 * MS)), ["0.50 load lost: 50 of 50 connections: reset"]);
    }

    #[test]
    fn many_short_outages_are_counted_without_flooding_events() {
        let mut connections = LostConnections::new(1, None);
        connections.set_clients(1, 0);
        let mut events = Vec::new();
        for tick in 1..=40 {
            connections.take(
                0,
                &LossReport { back_ns: tick * 250 * MS, still_lost: 0, ..lost(25, tick * 250 * MS) },
            );
            events.extend(connections.report(tick * 250 * MS));
        }
        let events = words(events);
        assert_eq!(events.len(), 20, "a pair a second in ten seconds: {events:?}");
        assert!(
            events[2].ends_with("25 times among 1 connection: reset (and 75 more since the last report)")
        );
        assert!(words(connections.rest(0))[0].starts_with("0.00 load lost: 75 more"));
    }

    #[test]
    fn the_outage_is_the_time_in_which_no_worker_has_a_connection() {
        let mut connections = LostConnections::new(2, None);
        connections.set_clients(2, 0);
        connections.set_down(0, true, 100 * MS);
        connections.set_down(1, true, 300 * MS);
        assert_eq!(connections.outage_s(0, 500 * MS), 0.2);
        connections.set_down(0, false, 900 * MS);
        assert_eq!(connections.outage_s(500 * MS, 1000 * MS), 0.4);
        connections.set_down(1, false, 1000 * MS);
        assert_eq!(connections.outage_s(0, 2000 * MS), 0.6);
        connections.forget(1000 * MS);
        assert_eq!(connections.past.len(), 0);
    }

    #[test]
    fn a_worker_without_clients_does_not_hide_an_outage() {
        let mut connections = LostConnections::new(4, None);
        connections.set_clients(1, 0);
        connections.set_down(0, true, 0);
        assert_eq!(connections.outage_s(0, 250 * MS), 0.25);
    }
}
