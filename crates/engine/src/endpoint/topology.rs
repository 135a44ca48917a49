//! The nodes of a cluster, and which node owns each slot. Pure.
//!
//! ```text
//! CLUSTER SLOTS ──► Layout: members and ranges of slots ──► Topology: each slot's node, by a number that stays
//! ```
//! A node's number stays the same for the whole session, also when the node leaves or its slots move. The node that the
//! user named has the number 0. Two nodes with the same address are the same node.

use thiserror::Error;

use super::Address;
use crate::{
    protocol::{RespValue, SLOTS},
    untrusted,
};

/// The largest number of nodes in one topology. The cluster specification recommends at most 1 000.
pub const MOST_NODES: usize = 1_000;
/// The largest number of different addresses in one session, so that ever new ones cannot use up the memory.
const MOST_ADDRESSES: usize = 4 * MOST_NODES;
/// The entry of a slot without an owner.
const NOBODY: u16 = u16::MAX;

/// The number of a node, from 0, which stays the same for the whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNumber(u16);

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The node owns slots.
    Primary,
    /// The node copies this primary.
    Replica(NodeNumber),
    /// The node is known from an earlier topology or from a redirect, and is not in the last topology.
    Outside,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The address at which clients reach the node.
    pub address: Address,
    /// The node's identifier in the cluster; empty if it is unknown.
    pub id: String,
    /// The node's role.
    pub role: Role,
}

/// The nodes of a cluster and the owners of its slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<Node>,
    owners: Vec<u16>,
}

/// Why a reply is no usable topology.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// The server refused the question.
    #[error("the server refused CLUSTER SLOTS: {0}")]
    Refused(String),
    /// The reply has another form than that of CLUSTER SLOTS.
    #[error("the reply to CLUSTER SLOTS is no topology: {0}")]
    Malformed(&'static str),
    /// The cluster has too many nodes.
    #[error(
        "the cluster has more than {MOST_NODES} nodes, the most that redyno can follow; measure one node with --one-node"
    )]
    TooManyNodes,
    /// The addresses of the nodes change all the time.
    #[error(
        "the cluster named more than {MOST_ADDRESSES} different addresses of nodes in this session, the most that redyno can follow"
    )]
    TooManyAddresses,
}

/// The content of a reply to CLUSTER SLOTS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Layout {
    members: Vec<Member>,
    /// The first and the last slot of each range, and the index of its owner in `members`.
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
        Self { nodes: Vec::new(), owners: vec![NOBODY; usize::from(SLOTS)] }
    }
}

impl Topology {
    /// Returns the first topology of a session, in a reply to CLUSTER SLOTS of the server at `asked`, which gets the
    /// number 0. The server is recognised by its identifier `id` in the cluster, because the cluster may know it by
    /// another address. A server without a slot, or with an unknown identifier, has the address `asked`.
    ///
    /// # Errors
    /// When the reply is not a topology, or has too many nodes.
    pub fn first(reply: &[u8], asked: &Address, id: &str) -> Result<Self, TopologyError> {
        let layout = Layout::read(reply, asked)?;
        let named = layout.members.iter().find(|member| !id.is_empty() && member.id == id);
        let mut none = Self::default();
        none.meet(named.map_or(asked, |member| &member.address))?;
        none.read(reply, asked)
    }

    /// Returns the topology in a reply to CLUSTER SLOTS of the server at `asked`. The nodes of `self` keep their
    /// numbers.
    ///
    /// # Errors
    /// When the reply is not a topology, or has too many nodes.
    pub fn read(&self, reply: &[u8], asked: &Address) -> Result<Self, TopologyError> {
        let layout = Layout::read(reply, asked)?;
        let mut next = self.clone();
        next.owners.fill(NOBODY);
        next.nodes.iter_mut().for_each(|node| node.role = Role::Outside);
        let mut numbers = Vec::with_capacity(layout.members.len());
        for member in &layout.members {
            let number = next.meet(&member.address)?;
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

    /// Returns the number of the node at `address`. If it is not known yet, it gets the next number.
    ///
    /// # Errors
    /// When there are too many addresses.
    pub fn meet(&mut self, address: &Address) -> Result<NodeNumber, TopologyError> {
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

    /// Returns the owner of a slot; `None` if the slot has no owner.
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

impl Layout {
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

/// Returns the address of a node that a server names as `host` and `port`. If the host is empty or `?`, the server does
/// not know the node's host, and it is the host at which the server itself was `asked`. Returns `None` if that is
/// unknown too, because the server was asked through a unix socket.
pub fn node_address(host: &[u8], port: u16, asked: &Address) -> Option<Address> {
    let host = std::str::from_utf8(host).ok()?.trim_start_matches('[').trim_end_matches(']');
    match (host, asked) {
        ("" | "?", Address::Tcp { host, .. }) => Some(Address::Tcp { host: host.clone(), port }),
        ("" | "?", Address::Unix(_) | Address::Service(_)) => None,
        (host, _) => Some(Address::Tcp { host: host.to_owned(), port }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    fn asked() -> Address {
        at("10.0.0.9", 6379)
    }

    fn bulk(text: &str) -> String {
        format!("${}\r\n{text}\r\n", text.len())
    }

    /// Returns a node as CLUSTER SLOTS names it.
    fn node(host: &str, port: u16, id: &str) -> String {
        format!("*4\r\n{}:{port}\r\n{}*0\r\n", bulk(host), bulk(id))
    }

    fn range(from: u16, to: u16, nodes: &[String]) -> String {
        format!("*{}\r\n:{from}\r\n:{to}\r\n{}", 2 + nodes.len(), nodes.concat())
    }

    fn reply(ranges: &[String]) -> Vec<u8> {
        format!("*{}\r\n{}", ranges.len(), ranges.concat()).into_bytes()
    }

    fn two() -> Vec<u8> {
        let [one, other, copy] =
            [node("10.0.0.1", 7000, "a"), node("::1", 7001, "b"), node("10.0.0.1", 7002, "c")];
        let halves = [range(0, 8191, &[one.clone(), copy.clone()]), range(8192, 16_000, &[other])];
        reply(&[&halves[..], &[range(16_100, 16_383, &[one, copy])]].concat())
    }

    #[test]
    fn each_slot_has_its_owner_or_none() {
        let topology = Topology::default().read(&two(), &asked()).unwrap();
        let owner = |slot| topology.owner(slot).map(|number| &topology.node(number).address);
        assert_eq!([0, 8191, 16_100].map(owner), [Some(&at("10.0.0.1", 7000)); 3]);
        assert_eq!([8192, 16_000].map(owner), [Some(&at("::1", 7001)); 2]);
        assert_eq!([16_001, 16_099, SLOTS].map(owner), [None; 3]);
        assert_eq!((topology.unowned(), topology.primaries().count()), (99, 2));
        let roles: Vec<_> = topology.nodes().map(|(_, node)| (node.id.as_str(), node.role)).collect();
        assert_eq!(roles, [("a", Role::Primary), ("c", Role::Replica(NodeNumber(0))), ("b", Role::Primary)]);
    }

    #[test]
    fn the_node_that_the_user_named_has_number_0_by_whatever_address_the_cluster_knows_it() {
        let named = |id| {
            let topology = Topology::first(&two(), &asked(), id).unwrap();
            let ids: Vec<_> = topology.nodes().map(|(_, node)| node.id.clone()).collect();
            (topology.node(NodeNumber(0)).address.clone(), topology.node(NodeNumber(0)).role, ids)
        };
        let ids = |ids: [&str; 3]| ids.map(str::to_owned).to_vec();
        assert_eq!(named("b"), (at("::1", 7001), Role::Primary, ids(["b", "a", "c"])));
        assert_eq!(named("c").2, ids(["c", "a", "b"]));
        for without_slot in ["x", ""] {
            assert_eq!(named(without_slot).0, asked());
            assert_eq!(named(without_slot).1, Role::Outside);
        }
    }

    #[test]
    fn a_node_keeps_its_number_when_it_leaves_and_when_its_role_changes() {
        let first = Topology::default().read(&two(), &asked()).unwrap();
        let copy = [node("10.0.0.1", 7002, "c"), node("10.0.0.5", 1, "d")];
        let next = first.read(&reply(&[range(0, 16_383, &copy)]), &asked()).unwrap();
        let roles: Vec<_> = next.nodes().map(|(_, node)| (node.id.as_str(), node.role)).collect();
        assert_eq!(
            roles,
            [
                ("a", Role::Outside),
                ("c", Role::Primary),
                ("b", Role::Outside),
                ("d", Role::Replica(NodeNumber(1)))
            ]
        );
        assert_eq!((next.owner(5), next.unowned()), (Some(NodeNumber(1)), 0));
    }

    #[test]
    fn an_unknown_host_is_the_host_that_was_asked() {
        for host in ["$0\r\n\r\n", "$-1\r\n", "_\r\n", "$1\r\n?\r\n"] {
            let node = format!("*3\r\n{host}:6380\r\n{}", bulk("a"));
            let read = |asked: &Address| {
                Topology::default().read(&reply(&[range(0, 1, std::slice::from_ref(&node))]), asked)
            };
            assert_eq!(read(&asked()).unwrap().node(NodeNumber(0)).address, at("10.0.0.9", 6380));
            let error = read(&Address::Unix("/tmp/socket".into())).unwrap_err();
            assert_eq!(error, TopologyError::Malformed("a node has no host"));
        }
        assert_eq!(node_address(b"[::1]", 7, &asked()), Some(at("::1", 7)));
        assert_eq!(node_address(b"a.name", 7, &asked()), Some(at("a.name", 7)));
    }

    #[test]
    fn a_topology_that_is_none_is_refused_in_one_line() {
        let read = |reply: &[u8]| Topology::default().read(reply, &asked()).unwrap_err().to_string();
        assert_eq!(
            read(b"-ERR This instance has cluster support disabled\r\n"),
            "the server refused CLUSTER SLOTS: ERR This instance has cluster support disabled"
        );
        let bad = [
            "+OK\r\n".to_owned(),
            "*1\r\n+OK\r\n".to_owned(),
            format!("*1\r\n{}", range(5, 4, &[node("h", 1, "a")])),
            format!("*1\r\n{}", range(0, SLOTS, &[node("h", 1, "a")])),
            format!("*1\r\n{}", range(0, 1, &[node("h", 0, "a")])),
            format!("*1\r\n{}", range(0, 1, &["*1\r\n+h\r\n".to_owned()])),
            "*2\r\n*0\r\n".to_owned(),
        ];
        for reply in bad {
            assert!(read(reply.as_bytes()).contains("is no topology: "), "{reply}");
        }
    }

    #[test]
    fn ten_thousand_nodes_are_refused_and_so_are_nodes_that_are_others_in_each_reply() {
        let nodes = |from: u16, n: u16| -> Vec<u8> {
            let each = (from..from + n).map(|port| range(port - from, port - from, &[node("h", port, "x")]));
            reply(&each.collect::<Vec<_>>())
        };
        let first = Topology::default();
        assert_eq!(first.read(&nodes(1, 10_000), &asked()).unwrap_err(), TopologyError::TooManyNodes);
        let mut topology = first.read(&nodes(1, 1000), &asked()).unwrap();
        for part in 1..4 {
            topology = topology.read(&nodes(1 + 1000 * part, 1000), &asked()).unwrap();
        }
        let error = topology.read(&nodes(4001, 1000), &asked()).unwrap_err();
        assert_eq!(error, TopologyError::TooManyAddresses);
        assert_eq!((topology.nodes().count(), topology.primaries().count()), (4000, 1000));
    }
}
