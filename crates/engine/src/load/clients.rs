//! The clients of one load worker: their number, and the states of their connections. A *lane* is a
//! connection of a client to one node. Without a cluster, each client has one lane.
//!
//! ```text
//!         ┌──────────── knob asks for fewer ───────────┐
//!         ▼                                            │
//!       Down ──► Scheduled ──► Open ── connection lost ┤
//!                  ▲   ▲        │                      │
//!                  │   └ renewed┘                      │
//!                  └────────── back-off ◄──────────────┘
//! ```

mod client;
mod closing;
mod lanes;
mod turns;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::connection::{ConnectionPhase, LoadConnection};
use crate::workload::Draws;
pub(super) use client::{Client, ClientConnection};
use lanes::ExtraLanes;
pub(super) use lanes::{Lane, is_extra};

/// The largest number of connections that all workers together open at the same time. Also the largest number of
/// connections that the receivers open at the same time. Servers commonly have
/// an accept queue for 128 connections. With this limit, the queue does not overflow. If a full queue drops a
/// connection, the next attempt follows a second later.
pub(super) const MAX_OPENING: usize = 128;

/// When the number of clients falls, the worker keeps the memory of this many closed clients.
const SPARE: usize = 256;

/// All clients of a worker.
pub(super) struct WorkerClients {
    all: Vec<Client>,
    lanes: ExtraLanes,
    /// The number of clients that the knobs request. Clients with a higher index are closed.
    wanted: usize,
    /// How many connections exist.
    open: usize,
    /// How many connections have not finished their greeting (the first commands, such as AUTH).
    opening: usize,
    /// The largest allowed number of connections that have not finished their greeting.
    max_opening: usize,
    /// How many wanted clients lost their connection and are not connected again yet.
    lost: usize,
    /// How many clients closed their connection on purpose and are not connected again yet.
    between: usize,
    to_open: VecDeque<usize>,
    retries: BinaryHeap<Reverse<(u64, usize)>>,
    ready: VecDeque<usize>,
    /// Clients whose socket still contains data after the few reads of this round.
    unread: VecDeque<usize>,
    /// Connections of the io_uring ring that the worker must close.
    closing: Vec<LoadConnection>,
    jitter: Pcg64Mcg,
}

impl WorkerClients {
    /// Creates an empty set of clients for one of `workers` workers.
    pub(super) fn new(seed: u64, workers: usize) -> Self {
        Self {
            all: Vec::new(),
            lanes: ExtraLanes::default(),
            wanted: 0,
            open: 0,
            opening: 0,
            max_opening: (MAX_OPENING / workers).max(1),
            lost: 0,
            between: 0,
            to_open: VecDeque::new(),
            retries: BinaryHeap::new(),
            ready: VecDeque::new(),
            unread: VecDeque::new(),
            closing: Vec::new(),
            jitter: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Returns client `i`, if there is one.
    #[inline]
    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut Client> {
        self.all.get_mut(i)
    }

    /// Returns the connection of lane `i`, if it has one.
    #[inline]
    pub(super) fn connection(&mut self, i: usize) -> Option<&mut LoadConnection> {
        match self.lane(i) {
            Some(Lane { link: ClientConnection::Open(connection), .. }) => Some(connection),
            _ => None,
        }
    }

    /// Returns all connections, each with the index of its lane.
    pub(super) fn connections(&mut self) -> impl Iterator<Item = (usize, &mut LoadConnection)> {
        let own = self.all.iter_mut().map(|client| &mut client.lane).enumerate();
        own.chain(self.lanes.with_indices()).filter_map(|(i, lane)| match &mut lane.link {
            ClientConnection::Open(connection) => Some((i, connection)),
            _ => None,
        })
    }

    /// Returns the time since the oldest unanswered request was written, or 0 if all requests are answered.
    pub(super) fn longest_wait_ns(&mut self, now_ns: u64) -> u64 {
        let waits = self.connections().filter_map(|(_, connection)| connection.wait_ns(now_ns));
        waits.max().unwrap_or(0)
    }

    /// Returns how many clients have finished their greeting or are replacing their connection on purpose.
    #[inline]
    pub(super) fn connected(&self) -> usize {
        self.open - self.opening + self.between
    }

    /// Sets the number of clients to `n`. For a new client, `draws_of` returns the source of random numbers. Clients
    /// with an index of `n` or more close their connections. Idle clients close at once. Other clients close after the
    /// replies to their batch.
    pub(super) fn want(&mut self, n: usize, draws_of: impl Fn(usize) -> Draws) {
        self.wanted = n;
        for i in (n..self.all.len()).rev() {
            if self.all[i].unanswered == 0
                && self.connection(i).is_none_or(|c| c.phase != ConnectionPhase::Busy)
            {
                self.close(i);
            }
        }
        while self.all.len() < n {
            let i = self.all.len();
            self.all.push(Client::new(i, draws_of(i)));
        }
        for i in 0..n {
            if matches!(self.all[i].lane.link, ClientConnection::Down) {
                self.all[i].lane.link = ClientConnection::Scheduled;
                self.to_open.push_back(i);
            }
        }
    }

    /// Frees the memory of clients that are no longer wanted and have no connection.
    fn shrink(&mut self) {
        let is_gone =
            |client: &Client| matches!(client.lane.link, ClientConnection::Down) && client.unanswered == 0;
        while self.all.len() > self.wanted && self.all.last().is_some_and(is_gone) {
            self.all.pop();
        }
        if self.all.capacity() > 2 * self.all.len() + SPARE {
            let n = self.all.len();
            self.to_open.retain(|i| *i < n);
            self.ready.retain(|i| *i < n);
            self.unread.retain(|i| *i < n || is_extra(*i));
            self.retries.retain(|Reverse((_, i))| *i < n);
            self.all.shrink_to(n + SPARE);
            self.to_open.shrink_to(n + SPARE);
            self.ready.shrink_to(n + SPARE);
            self.unread.shrink_to(n + SPARE);
            self.retries.shrink_to(n + SPARE);
        }
    }

    /// Returns how many clients are wanted.
    pub(super) fn how_many_wanted(&self) -> usize {
        self.wanted
    }

    /// Returns whether client `i` is no longer wanted.
    #[inline]
    pub(super) fn is_surplus(&self, i: usize) -> bool {
        i >= self.wanted
    }

    /// Returns whether any client is waiting for a connection.
    #[inline]
    pub(super) fn any_to_open(&self) -> bool {
        !self.to_open.is_empty() || self.lanes.any_to_open()
    }

    /// Returns the next client to connect, if another connection may be opened now.
    pub(super) fn next_to_open(&mut self) -> Option<usize> {
        while self.opening + self.lanes.opening < self.max_opening {
            let Some(i) = self.to_open.pop_front() else { return self.lanes.next_to_open() };
            // A client that was not wanted for a while may be in the queue twice.
            if !self.is_surplus(i) && matches!(self.all[i].lane.link, ClientConnection::Scheduled) {
                return Some(i);
            }
        }
        None
    }

    /// Notes that a connection of lane `i` begins to open.
    pub(super) fn opened(&mut self, i: usize, connection: LoadConnection) {
        self.count_opening(i, 1);
        if let Some(client) = self.all.get_mut(i) {
            self.open += 1;
            (client.served, client.has_ended) = (0, false);
        }
        if let Some(lane) = self.lane(i) {
            lane.link = ClientConnection::Open(connection);
        }
    }

    /// Notes that lane `i` has finished its greeting. Returns whether the new connection replaces a connection that the
    /// client had lost. For a lane to another node of a cluster, returns false.
    pub(super) fn greeted(&mut self, i: usize) -> bool {
        self.count_opening(i, -1);
        if is_extra(i) {
            return false;
        }
        self.arrive(i);
        self.forget_loss(i)
    }

    /// Closes the connection of client `i` on purpose and schedules a new connection. The closed connection does not
    /// count as a loss. If the client has lost its connection, the function does nothing, because the client already
    /// waits for a new connection.
    pub(super) fn renew(&mut self, i: usize) {
        if self.all[i].is_lost {
            return;
        }
        self.take_connection(i);
        self.close_others(i);
        let client = &mut self.all[i];
        client.lane.link = ClientConnection::Scheduled;
        self.between += usize::from(!std::mem::replace(&mut client.is_between, true));
        self.to_open.push_back(i);
    }

    /// Notes that client `i` has finished replacing its connection, with or without success.
    fn arrive(&mut self, i: usize) {
        self.between -= usize::from(std::mem::take(&mut self.all[i].is_between));
    }

    /// Closes lane `i`, because the client no longer needs it. If lane `i` is a client's own lane and the client has no
    /// requests in flight, the function closes all lanes of the client.
    pub(super) fn close(&mut self, i: usize) {
        if is_extra(i) {
            return self.close_lane(i);
        }
        if self.all[i].unanswered == 0 {
            self.close_others(i);
        }
        self.take_connection(i);
        self.arrive(i);
        self.forget_loss(i);
        self.all[i].lane.link = ClientConnection::Down;
        self.all[i].back_off.reset();
        self.shrink();
    }

    /// Notes that lane `i` lost its connection, or failed to open one. The client connects again later. A
    /// lane to another node of a cluster is opened again when a client needs the node. Returns whether this
    /// is a new loss. A failed attempt to connect again is not a new loss.
    pub(super) fn lost(&mut self, i: usize, now_ns: u64) -> bool {
        let was_open = self.take_connection(i);
        if is_extra(i) {
            self.close_lane(i);
            return was_open;
        }
        self.arrive(i);
        if self.is_surplus(i) {
            self.close(i);
            return false;
        }
        let client = &mut self.all[i];
        client.lane.link = ClientConnection::Scheduled;
        let pause = client.back_off.next(&mut self.jitter);
        self.retries.push(Reverse((now_ns + pause.as_nanos() as u64, i)));
        let newly_lost = !std::mem::replace(&mut client.is_lost, true);
        self.lost += usize::from(newly_lost);
        newly_lost
    }

    /// Returns how many wanted clients lost their connection and are not connected again yet.
    pub(super) fn how_many_lost(&self) -> usize {
        self.lost
    }

    /// Returns whether all wanted clients have lost their connections.
    pub(super) fn are_all_lost(&self) -> bool {
        self.wanted > 0 && self.lost >= self.wanted
    }

    /// Returns the time when the next back-off of a client ends, in ns.
    pub(super) fn next_retry_ns(&self) -> Option<u64> {
        self.retries.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Schedules the clients whose back-off has ended.
    pub(super) fn retry(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, i))) = self.retries.peek().copied()
            && at_ns <= now_ns
        {
            self.retries.pop();
            self.to_open.push_back(i);
        }
    }

    /// Notes that client `i` received all replies to a batch of `batch` requests. The replies end the client's
    /// back-off.
    #[inline]
    pub(super) fn answered(&mut self, i: usize, batch: u32) {
        let client = &mut self.all[i];
        client.served = client.served.saturating_add(batch);
        if client.back_off.is_failing() {
            client.back_off.reset();
        }
    }

    /// Returns how many requests were answered on the connection of client `i`.
    pub(super) fn served(&self, i: usize) -> u32 {
        self.all[i].served
    }

    fn forget_loss(&mut self, i: usize) -> bool {
        let was_lost = std::mem::take(&mut self.all[i].is_lost);
        self.lost -= usize::from(was_lost);
        was_lost
    }
}

/// Returns whether a connection has not finished its greeting.
pub(super) fn is_opening(connection: &LoadConnection) -> bool {
    matches!(connection.phase, ConnectionPhase::Connecting | ConnectionPhase::Greeting(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes every attempt to connect fail, so that all `n` clients are in back-off.
    fn lose_all(clients: &mut WorkerClients, n: usize) {
        while let Some(i) = clients.next_to_open() {
            clients.lost(i, 0);
        }
        assert_eq!((clients.how_many_lost(), clients.are_all_lost()), (n, true));
    }

    #[test]
    fn the_memory_of_ten_thousand_clients_is_freed() {
        let mut clients = WorkerClients::new(1, 1);
        clients.want(10_000, |i| Draws::new(i as u64));
        lose_all(&mut clients, 10_000);
        clients.want(50, |i| Draws::new(i as u64));
        assert_eq!(clients.all.len(), 50);
        let room = [clients.all.capacity(), clients.to_open.capacity(), clients.retries.capacity()];
        assert!(room.into_iter().all(|room| room <= 50 + 2 * SPARE), "{room:?}");
        assert_eq!(clients.how_many_lost(), 50, "clients that are not wanted are not counted as lost");
    }

    #[test]
    fn a_client_that_is_wanted_again_is_opened_once() {
        let mut clients = WorkerClients::new(1, 1);
        clients.want(3, |i| Draws::new(i as u64));
        lose_all(&mut clients, 3);
        clients.want(1, |i| Draws::new(i as u64));
        clients.want(3, |i| Draws::new(i as u64));
        clients.retry(u64::MAX);
        let mut opened = Vec::new();
        while let Some(i) = clients.next_to_open() {
            opened.push(i);
            // Puts the client in the state of a connected client, which is neither scheduled nor lost.
            clients.all[i].lane.link = ClientConnection::Down;
        }
        opened.sort_unstable();
        assert_eq!(opened, [0, 1, 2]);
    }

    #[test]
    fn a_client_that_replaces_its_connection_on_purpose_is_not_lost() {
        let mut clients = WorkerClients::new(1, 1);
        clients.want(2, |i| Draws::new(i as u64));
        for i in 0..2 {
            assert_eq!(clients.next_to_open(), Some(i));
            clients.renew(i);
        }
        assert_eq!((clients.connected(), clients.how_many_lost()), (2, 0));
        assert_eq!((clients.next_to_open(), clients.next_retry_ns()), (Some(0), None), "no back-off");
        clients.lost(0, 0);
        clients.renew(0); // The client's other lanes are answered.
        assert_eq!((clients.connected(), clients.how_many_lost()), (1, 1), "connecting again failed");
        clients.close(1);
        assert_eq!(clients.connected(), 0);
    }

    #[test]
    fn the_number_of_opening_connections_is_limited_over_all_workers() {
        assert_eq!(WorkerClients::new(1, 16).max_opening * 16, MAX_OPENING);
        assert_eq!(WorkerClients::new(1, 500).max_opening, 1);
    }
}
