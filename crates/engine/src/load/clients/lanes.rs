//! Lanes: the connections of clients to the nodes of a cluster. A client's own lane is its first connection,
//! which may lead to any node. Each further lane is opened when the client first needs its node.
//!
//! ```text
//!  client 0 ── own lane: node 0 ── lane FIRST+0: node 1 ── lane FIRST+1: node 2
//!  client 1 ── own lane: node 1 ── lane FIRST+2: node 0
//! ```
//! The index of a client is the index of its own lane. The other lanes have indices from [`FIRST_LANE`] on.

use std::collections::VecDeque;

use super::{Client, ClientConnection, WorkerClients, is_opening};
use crate::{
    endpoint::NodeNumber,
    knobs::MAX_CLIENTS,
    load::{connection::ConnectionPhase, parcel::Parcel},
};

/// The index of the first lane that is not a client's own.
const FIRST_LANE: usize = MAX_CLIENTS as usize;

/// A client's connection to a node, and the parcels that wait for the connection. A parcel is a group of requests for
/// one node. Without a cluster, each client has one lane.
pub(in crate::load) struct Lane {
    pub(in crate::load) link: ClientConnection,
    /// Whether the lane is in the queue of lanes with unread data in the socket.
    pub(super) unread: bool,
    /// The node of a cluster to which the lane leads. `None` without a cluster or without a connection.
    pub(in crate::load) node: Option<NodeNumber>,
    /// Parcels to be written on this lane, one after the other.
    pub(in crate::load) waiting: VecDeque<Parcel>,
    /// The index of the client that uses this lane.
    owner: usize,
}

impl Lane {
    pub(super) fn new(owner: usize) -> Self {
        Self { link: ClientConnection::Down, unread: false, node: None, waiting: VecDeque::new(), owner }
    }

    /// Returns whether the lane is open and has no batch in flight and no waiting parcels.
    pub(in crate::load) fn is_idle(&self) -> bool {
        let ClientConnection::Open(connection) = &self.link else { return false };
        connection.phase == ConnectionPhase::Idle && self.waiting.is_empty()
    }
}

/// The lanes in addition to the clients' own lanes.
#[derive(Default)]
pub(super) struct ExtraLanes {
    pub(super) all: Vec<Lane>,
    /// Indices in `all` of lanes that no client uses.
    free: Vec<usize>,
    to_open: VecDeque<usize>,
    /// How many connections have not finished their greeting.
    pub(super) opening: usize,
}

impl ExtraLanes {
    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut Lane> {
        self.all.get_mut(i.checked_sub(FIRST_LANE)?)
    }

    /// Returns the next lane to open.
    pub(super) fn next_to_open(&mut self) -> Option<usize> {
        while let Some(i) = self.to_open.pop_front() {
            if self.get_mut(i).is_some_and(|lane| matches!(lane.link, ClientConnection::Scheduled)) {
                return Some(i);
            }
        }
        None
    }

    /// Returns all lanes, with their indices.
    pub(super) fn with_indices(&mut self) -> impl Iterator<Item = (usize, &mut Lane)> {
        (FIRST_LANE..).zip(&mut self.all)
    }

    pub(super) fn any_to_open(&self) -> bool {
        !self.to_open.is_empty()
    }
}

/// Returns whether lane `i` is not a client's own.
pub(in crate::load) fn is_extra(i: usize) -> bool {
    i >= FIRST_LANE
}

impl WorkerClients {
    /// Returns lane `i`, if there is one.
    #[inline]
    pub(in crate::load) fn lane(&mut self, i: usize) -> Option<&mut Lane> {
        match self.all.get_mut(i) {
            Some(client) => Some(&mut client.lane),
            None => self.lanes.get_mut(i),
        }
    }

    /// Returns the index of the client of lane `i`.
    pub(in crate::load) fn owner(&mut self, i: usize) -> usize {
        self.lanes.get_mut(i).map_or(i, |lane| lane.owner)
    }

    /// Returns the node of a cluster to which lane `i` leads.
    pub(in crate::load) fn node_of(&mut self, i: usize) -> Option<NodeNumber> {
        self.lane(i)?.node
    }

    /// Returns the number of open connections to a node.
    pub(in crate::load) fn open_to(&self, node: NodeNumber) -> u64 {
        let lanes = self.all.iter().map(|client| &client.lane).chain(&self.lanes.all);
        let is_open = |lane: &&Lane| match &lane.link {
            ClientConnection::Open(connection) => lane.node == Some(node) && !is_opening(connection),
            _ => false,
        };
        lanes.filter(is_open).count() as u64
    }

    /// Returns the number of lanes, including the clients' own lanes.
    pub(in crate::load) fn how_many_lanes(&self) -> usize {
        self.wanted + self.lanes.all.len() - self.lanes.free.len()
    }

    /// Returns the index of the lane of `client` to `node`. If this lane is closed or new, the function schedules its
    /// opening. If a new lane is needed and there are already `most` lanes, the function closes an idle lane first.
    /// If no lane is idle, the function returns `None`.
    pub(in crate::load) fn lane_to(&mut self, client: usize, node: NodeNumber, most: usize) -> Option<usize> {
        let Client { lane, others, .. } = self.all.get(client)?;
        if lane.node == Some(node) && matches!(lane.link, ClientConnection::Open(_)) {
            return Some(client);
        }
        let known = others.iter().find(|(known, _)| *known == node).map(|(_, i)| *i);
        let i = match known {
            Some(i) => i,
            None => {
                if self.how_many_lanes() >= most {
                    let idle = self.lanes.all.iter().position(Lane::is_idle)?;
                    self.close(FIRST_LANE + idle);
                }
                self.add_lane(client, node)
            }
        };
        let lane = self.lanes.get_mut(i)?;
        if matches!(lane.link, ClientConnection::Down) {
            lane.link = ClientConnection::Scheduled;
            self.lanes.to_open.push_back(i);
        }
        Some(i)
    }

    fn add_lane(&mut self, client: usize, node: NodeNumber) -> usize {
        let place = self.lanes.free.pop().unwrap_or(self.lanes.all.len());
        if place == self.lanes.all.len() {
            self.lanes.all.push(Lane::new(client));
        }
        let i = FIRST_LANE + place;
        self.lanes.all[place] = Lane { node: Some(node), ..Lane::new(client) };
        self.all[client].others.push((node, i));
        i
    }

    /// Closes lane `i`, which is not a client's own lane, and frees its index. The lane's waiting parcels must be
    /// removed before this call.
    pub(super) fn close_lane(&mut self, i: usize) {
        self.take_connection(i);
        let Some(lane) = self.lanes.get_mut(i) else { return };
        lane.link = ClientConnection::Down;
        let owner = std::mem::replace(&mut lane.owner, usize::MAX);
        if let Some(client) = self.all.get_mut(owner) {
            client.others.retain(|(_, other)| *other != i);
            self.lanes.free.push(i - FIRST_LANE);
        }
    }

    /// Closes all lanes of client `i` except the client's own lane.
    pub(super) fn close_others(&mut self, i: usize) {
        let others: Vec<_> = self.all[i].others.iter().map(|(_, lane)| *lane).collect();
        others.into_iter().for_each(|lane| self.close_lane(lane));
    }

    /// Changes the number of connections that have not finished their greeting.
    pub(super) fn count_opening(&mut self, i: usize, change: isize) {
        let count = if is_extra(i) { &mut self.lanes.opening } else { &mut self.opening };
        *count = count.saturating_add_signed(change);
    }

    /// Notes that client `i` has `n` more unanswered requests.
    pub(in crate::load) fn add_unanswered(&mut self, i: usize, n: u32) {
        self.all[i].unanswered += n;
        self.all[i].batch += n;
    }

    /// Notes that `n` requests of client `i` are answered or lost. If the batch is then complete, returns the number
    /// of its requests.
    pub(in crate::load) fn note_answered(&mut self, i: usize, n: u32) -> Option<u32> {
        let client = self.all.get_mut(i)?;
        client.unanswered -= n;
        (client.unanswered == 0).then(|| std::mem::take(&mut client.batch))
    }

    /// Returns the next parcel for lane `i` if the lane is idle.
    pub(in crate::load) fn next_parcel(&mut self, i: usize) -> Option<Parcel> {
        let lane = self.lane(i)?;
        let ClientConnection::Open(connection) = &lane.link else { return None };
        if connection.phase == ConnectionPhase::Idle { lane.waiting.pop_front() } else { None }
    }

    /// Puts lane `i` back into the queue, because it could not be opened yet.
    pub(in crate::load) fn open_later(&mut self, i: usize) {
        if is_extra(i) { self.lanes.to_open.push_front(i) } else { self.to_open.push_front(i) }
    }

    /// Returns the next lane to open that is not a client's own lane.
    pub(in crate::load) fn next_lane_to_open(&mut self) -> Option<usize> {
        if self.opening + self.lanes.opening < self.max_opening { self.lanes.next_to_open() } else { None }
    }

    /// Removes and returns all parcels that wait to be written.
    pub(in crate::load) fn take_all_waiting(&mut self) -> Vec<Parcel> {
        let own = self.all.iter_mut().map(|client| &mut client.lane);
        let lanes = own.chain(&mut self.lanes.all);
        lanes.flat_map(|lane| lane.waiting.drain(..)).collect()
    }
}
