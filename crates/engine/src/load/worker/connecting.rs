//! Opens the connections of clients to a server, and the clients' lanes (their connections to the nodes of a cluster).

use std::sync::Arc;

use mio::Token;

use super::{Worker, stopping::WorkerStage};
use crate::{
    endpoint::{Endpoint, Tls, Transport},
    load::{broken::ConnectionFailure, clients::is_extra, connection::LoadConnection},
};

impl Worker {
    /// Opens all wanted connections that may be opened now.
    pub(super) fn connect(&mut self, now_ns: u64) {
        self.awaits_endpoints = false;
        if self.spread.is_some() {
            return self.connect_spread(now_ns);
        }
        if self.stage != WorkerStage::Sending || !self.clients.any_to_open() {
            return;
        }
        let Some(endpoints) = self.setup.endpoints.current(now_ns) else {
            self.awaits_endpoints = true;
            return;
        };
        let plan = Arc::clone(&self.setup.plan);
        while let Some(i) = self.clients.next_to_open() {
            self.open(i, &endpoints[self.endpoint % endpoints.len()], plan.target.tls.as_ref());
        }
    }

    /// Begins to open the connection of lane `i`.
    fn open(&mut self, i: usize, endpoint: &Endpoint, tls: Option<&Tls>) {
        let dialect = self.setup.greeting.dialect();
        // Opening takes a while, so each connection has its own timestamp.
        let now_ns = self.setup.clock.now_ns();
        let opened = Transport::connect(endpoint, tls).and_then(|transport| {
            LoadConnection::open(transport, dialect, self.io.registry(), Token(i), now_ns)
        });
        match opened {
            Ok(connection) => {
                self.clients.opened(i, connection);
                self.watches.watch(i, self.check_ns(now_ns.saturating_add(self.timeout_ns), now_ns));
            }
            Err(error) => self.lose(i, &ConnectionFailure::Socket(error), now_ns),
        }
    }

    /// Opens all wanted lanes that may be opened now. After the last request is sent, only redirected requests still
    /// need lanes.
    fn connect_spread(&mut self, now_ns: u64) {
        loop {
            let is_sending = self.stage == WorkerStage::Sending;
            let next =
                if is_sending { self.clients.next_to_open() } else { self.clients.next_lane_to_open() };
            let Some(i) = next else { return };
            let (Some(spread), Some(lane)) = (&mut self.spread, self.clients.lane(i)) else { return };
            if !is_extra(i) {
                lane.node = spread.own_node(i.wrapping_add(self.endpoint));
            }
            let door = lane.node.map_or(Ok(None), |node| spread.door(node, self.endpoint, now_ns));
            match door {
                Ok(Some((endpoint, tls))) => self.open(i, &endpoint, tls.as_ref()),
                Ok(None) => {
                    self.awaits_endpoints = true;
                    return self.clients.open_later(i);
                }
                Err(error) => self.lose(i, &ConnectionFailure::Socket(error), now_ns),
            }
        }
    }
}
