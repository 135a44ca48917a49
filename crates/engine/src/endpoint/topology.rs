//! The nodes of a cluster, and which node owns each slot. Several independent servers that store keys by consistent
//! hash are also a topology. Each server is a node, and each arc of the hash ring is a slot. This module does no I/O.
//!
//! ```text
//! CLUSTER SLOTS ──► Layout: members and ranges of slots ──► Topology: each slot's node, by a number that stays
//! ```
//! Each node has a number. The number stays the same for the whole session, even if the node leaves or its slots move.
//! The node that the user named has the number 0. Two nodes with the same address are the same node.

use std::sync::Arc;

use thiserror::Error;

use super::{Address, ring::HashRing};
use crate::{
    protocol::{RespValue, SLOTS},
    untrusted,
};

/// The largest number of nodes in one topology. The cluster specification recommends at most 1 000.
pub const MOST_NODES: usize = 1_000;
/// The largest number of different addresses in one session. The limit protects the memory from a cluster that names
/// new addresses again and again.
const MOST_ADDRESSES: usize = 4 * MOST_NODES;
/// The entry of a slot without an owner.
const NOBODY: u16 = u16::MAX;

/// The number of a node, from 0. The number stays the same for the whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNumber(u16);

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The node owns slots.
    Primary,
    /// The node copies the data of this primary.
    Replica(NodeNumber),
    /// The node is known from an earlier topology or a redirect, but is not in the last topology.
    Outside,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The address at which clients reach the node.
    pub address: Address,
    /// The node's identifier in the cluster. The text is empty if the identifier is unknown.
    pub id: String,
    /// The node's role.
    pub role: Role,
}

/// The nodes of a cluster and the owners of its slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<Node>,
    owners: Vec<u16>,
    placement: Placement,
}

/// How keys are placed on the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Placement {
    /// Keys are placed by the slots of a cluster.
    #[default]
    Slots,
    /// Keys are placed by consistent hash. The arcs of a ring take the place of slots.
    Ring(Arc<HashRing>),
    /// All keys are on node 0 and on its replicas. Node 0 is a primary outside a cluster.
    Replication,
}

/// The reason why a reply is not a usable topology.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// The server refused the command.
    #[error("the server refused CLUSTER SLOTS: {0}")]
    Refused(String),
    /// The server is not a primary, so it names no replicas.
    #[error("the server is a replica, or does not name its role in INFO replication")]
    NoPrimary,
    /// The reply does not have the form of a CLUSTER SLOTS reply.
    #[error("the reply to CLUSTER SLOTS does not describe the cluster: {0}")]
    Malformed(&'static str),
    /// The cluster has too many nodes.
    #[error(
        "the cluster has more than {MOST_NODES} nodes, the most that redyno can follow; measure one node with --one-node"
    )]
    TooManyNodes,
    /// The cluster has named too many different addresses during the session.
    #[error(
        "the cluster named more than {MOST_ADDRESSES} different addresses of nodes in this session, the most that redyno can follow"
    )]
    TooManyAddresses,
}

/// The content of a reply to CLUSTER SLOTS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SlotsReply {
    members: Vec<Member>,
    /// The first and the last slot of each range, and the index of the range's owner in `members`.
    ranges: Vec<(u16, u16, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    address: Address,
    id: String,
    /// For a replica, the index of its primary in `members`.
    copies: Option<usize>,
}

impl NodeNumber {
    /// Returns the number as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl Default for Topology {
    /// Creates a topology without nodes.
    fn default() -> Self {
        Self { nodes: Vec::new(), owners: vec![NOBODY; usize::from(SLOTS)], placement: Placement::Slots }
    }
}

impl Topology {
    /// Parses the first topology of a session from the CLUSTER SLOTS reply of the server at `asked`. The server at
    /// `asked` gets the number 0. redyno recognises this server by its identifier `id`, because the cluster may use
    /// another address for the server. If the server has no slot or an unknown identifier, its node has the address
    /// `asked`.
    ///
    /// # Errors
    /// Fails if the reply is not a topology, or has too many nodes.
    pub fn first(reply: &[u8], asked: &Address, id: &str) -> Result<Self, TopologyError> {
        let layout = SlotsReply::read(reply, asked)?;
        let named = layout.members.iter().find(|member| !id.is_empty() && member.id == id);
        let mut none = Self::default();
        none.find_or_add(named.map_or(asked, |member| &member.address))?;
        none.read(reply, asked)
    }

    /// Returns the topology of servers that store keys by consistent hash, at most
    /// [`MOST_RING_SERVERS`](super::MOST_RING_SERVERS). All servers are primaries.
    pub fn of_ring(servers: impl Iterator<Item = Address>) -> Self {
        let node = |address| Node { address, id: String::new(), role: Role::Primary };
        let nodes: Vec<_> = servers.map(node).collect();
        let (ring, owners) = HashRing::of(nodes.iter().map(|node| &node.address));
        Self { nodes, owners, placement: Placement::Ring(Arc::new(ring)) }
    }

    /// Returns the topology of one server without replicas.
    pub fn of_one(server: &Address) -> Self {
        let primary = Node { address: server.clone(), id: String::new(), role: Role::Primary };
        Self { nodes: vec![primary], owners: vec![0; usize::from(SLOTS)], placement: Placement::Replication }
    }

    /// Parses the topology of a primary outside a cluster and its replicas from a reply to INFO replication. The
    /// primary at `asked` gets the number 0.
    ///
    /// # Errors
    /// Fails if the server is not a primary, or has too many replicas.
    pub fn of_replication(reply: &[u8], asked: &Address) -> Result<Self, TopologyError> {
        Self::of_one(asked).read(reply, asked)
    }

    fn read_copies(&self, reply: &[u8], asked: &Address) -> Result<Self, TopologyError> {
        let reply = RespValue::read(reply);
        let info = reply.as_ref().and_then(RespValue::text).map(untrusted::lines).unwrap_or_default();
        if !info.contains("role:master") {
            return Err(TopologyError::NoPrimary);
        }
        let mut next = self.clone();
        next.nodes.iter_mut().skip(1).for_each(|node| node.role = Role::Outside);
        // A replica that is still copying its primary's data cannot answer reads.
        let online: Vec<_> =
            info.lines().filter(|line| !line.starts_with("slave") || line.contains("state=online")).collect();
        for address in replicas(&online.join("\n"), asked) {
            let number = next.find_or_add(&address)?;
            next.nodes[number.index()].role = Role::Replica(NodeNumber(0));
        }
        Ok(next)
    }

    /// Parses the topology from a reply of the server at `asked`. In a cluster, `reply` is the reply to
    /// CLUSTER SLOTS. For a primary outside a cluster, `reply` is the reply to INFO replication. The nodes of
    /// `self` keep their numbers.
    ///
    /// # Errors
    /// Fails if the reply is not a topology, or has too many nodes.
    pub fn read(&self, reply: &[u8], asked: &Address) -> Result<Self, TopologyError> {
        if self.placement == Placement::Replication {
            return self.read_copies(reply, asked);
        }
        let layout = SlotsReply::read(reply, asked)?;
        let mut next = self.clone();
        next.owners.fill(NOBODY);
        next.nodes.iter_mut().for_each(|node| node.role = Role::Outside);
        let mut numbers = Vec::with_capacity(layout.members.len());
        for member in &layout.members {
            let number = next.find_or_add(&member.address)?;
            next.nodes[number.index()].id.clone_from(&member.id);
            numbers.push(number);
        }
        for (member, number) in layout.members.iter().zip(&numbers) {
            let role = member.copies.map_or(Role::Primary, |primary| Role::Replica(numbers[primary]));
            next.nodes[number.index()].role = role;
        }
        for (from, to, owner) in layout.ranges {
            next.owners[usize::from(from)..=usize::from(to)].fill(numbers[owner].0);
        }
        Ok(next)
    }

    /// Returns the number of the node at `address`. An unknown node gets the next number.
    ///
    /// # Errors
    /// Fails if there are too many addresses.
    pub fn find_or_add(&mut self, address: &Address) -> Result<NodeNumber, TopologyError> {
        if let Some(known) = self.find(address) {
            return Ok(known);
        }
        if self.nodes.len() >= MOST_ADDRESSES {
            return Err(TopologyError::TooManyAddresses);
        }
        self.nodes.push(Node { address: address.clone(), id: String::new(), role: Role::Outside });
        Ok(NodeNumber((self.nodes.len() - 1) as u16))
    }

    /// Returns the number of the node at `address`, if it is known.
    pub fn find(&self, address: &Address) -> Option<NodeNumber> {
        self.nodes.iter().position(|node| node.address == *address).map(|place| NodeNumber(place as u16))
    }

    /// Returns how keys are placed on the nodes.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Returns the owner of a slot, or `None` if the slot has no owner.
    #[inline]
    pub fn owner(&self, slot: u16) -> Option<NodeNumber> {
        self.owners.get(usize::from(slot)).copied().filter(|owner| *owner != NOBODY).map(NodeNumber)
    }

    /// Returns a node.
    pub fn node(&self, number: NodeNumber) -> &Node {
        &self.nodes[number.index()]
    }

    /// Returns all nodes of this session, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeNumber, &Node)> {
        self.nodes.iter().enumerate().map(|(place, node)| (NodeNumber(place as u16), node))
    }

    /// Returns the primaries of this topology, in the order of their numbers.
    pub fn primaries(&self) -> impl Iterator<Item = NodeNumber> {
        self.nodes().filter(|(_, node)| node.role == Role::Primary).map(|(number, _)| number)
    }

    /// Returns how many slots have no owner.
    pub fn unowned(&self) -> usize {
        self.owners.iter().filter(|owner| **owner == NOBODY).count()
    }
}

impl SlotsReply {
    fn read(reply: &[u8], asked: &Address) -> Result<Self, TopologyError> {
        let malformed = TopologyError::Malformed;
        let reply = RespValue::read(reply).ok_or(malformed("it is not complete"))?;
        if let RespValue::Error(line) = reply {
            return Err(TopologyError::Refused(untrusted::bytes(line)));
        }
        let mut layout = Self::default();
        for range in reply.list().ok_or(malformed("it is not a list"))? {
            let [from, to, primary, replicas @ ..] = range.list().unwrap_or_default() else {
                return Err(malformed("a range of slots has fewer than three elements"));
            };
            let slot = |value: &RespValue| {
                let slot = value.number().and_then(|number| u16::try_from(number).ok());
                slot.filter(|slot| *slot < SLOTS).ok_or(malformed("a slot is not a number below 16384"))
            };
            let (from, to) = (slot(from)?, slot(to)?);
            if from > to {
                return Err(malformed("a range of slots ends before it begins"));
            }
            let owner = layout.member(primary, asked, None)?;
            for replica in replicas {
                layout.member(replica, asked, Some(owner))?;
            }
            layout.ranges.push((from, to, owner));
        }
        Ok(layout)
    }

    /// Returns the index of a node in `members`, and adds the node if it is new.
    fn member(
        &mut self,
        node: &RespValue,
        asked: &Address,
        copies: Option<usize>,
    ) -> Result<usize, TopologyError> {
        let malformed = TopologyError::Malformed;
        let [host, port, rest @ ..] = node.list().unwrap_or_default() else {
            return Err(malformed("a node has no address"));
        };
        let port = port.number().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        let port = port.ok_or(malformed("a node has no port"))?;
        let host = host.text().unwrap_or_default();
        let address = node_address(host, port, asked).ok_or(malformed("a node has no host"))?;
        let id = rest.first().and_then(RespValue::text).map(untrusted::bytes).unwrap_or_default();
        if let Some(known) = self.members.iter().position(|known| known.address == address) {
            // A node that owns slots is a primary, whatever another range says.
            self.members[known].copies.take_if(|_| copies.is_none());
            return Ok(known);
        }
        if self.members.len() >= MOST_NODES {
            return Err(TopologyError::TooManyNodes);
        }
        self.members.push(Member { address, id, copies });
        Ok(self.members.len() - 1)
    }
}

/// Returns the address of a node that the server at `asked` names as `host` and `port`. An empty host or `?` means the
/// host of the server at `asked`. Returns `None` if this host is unknown, because redyno is connected through a unix
/// socket.
pub fn node_address(host: &[u8], port: u16, asked: &Address) -> Option<Address> {
    let host = std::str::from_utf8(host).ok()?.trim_start_matches('[').trim_end_matches(']');
    match (host, asked) {
        ("" | "?", Address::Tcp { host, .. }) => Some(Address::Tcp { host: host.clone(), port }),
        ("" | "?", Address::Unix(_) | Address::Service(_)) => None,
        (host, _) => Some(Address::Tcp { host: host.to_owned(), port }),
    }
}

/// Parses the addresses of a primary's replicas from INFO replication: `slave0:ip=10.0.0.6,port=6379,state=online,…`.
pub(super) fn replicas(info: &str, asked: &Address) -> Vec<Address> {
    let replica = |line: &str| {
        let (name, values) = line.split_once(':')?;
        name.strip_prefix("slave")?.parse::<u32>().ok()?;
        let value = |name: &str| {
            values.split(',').find_map(|pair| pair.split_once('=').filter(|pair| pair.0 == name))
        };
        let port = value("port")?.1.trim().parse().ok().filter(|port| *port > 0)?;
        node_address(value("ip")?.1.as_bytes(), port, asked)
    };
    info.lines().filter_map(replica).collect()
}

#[cfg(test)]
mod tests;
