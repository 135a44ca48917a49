//! The layout of a cluster of built-in servers: the nodes, their shards and roles, and the owners of all
//! slots.

use std::collections::BTreeMap;

use rand::RngExt;

use crate::protocol::SLOTS;

/// A node of a cluster.
#[derive(Debug, Clone)]
pub struct Node {
    /// The identifier of the node: forty hexadecimal digits.
    pub id: String,
    /// The port of the node on 127.0.0.1.
    pub port: u16,
    /// The index of the node's shard.
    pub shard: usize,
    /// Whether the node is known to be down.
    pub has_failed: bool,
}

/// The nodes of a cluster and the owners of its slots.
#[derive(Debug)]
pub struct ClusterLayout {
    /// The nodes: first all primaries, then the first replica of each primary, then the second replicas, and so on.
    pub nodes: Vec<Node>,
    /// The index of the primary of each shard.
    pub primaries: Vec<usize>,
    /// The configuration epoch of each shard.
    pub epochs: Vec<u64>,
    /// The slots that are moving, each with the shard to which it moves.
    pub moving: BTreeMap<u16, usize>,
    owners: Vec<usize>,
}

impl ClusterLayout {
    /// Creates a layout in which each primary has an equal share of the slots.
    pub fn new(primaries: usize, replicas: usize) -> Self {
        // The identifiers distinguish runs, so they do not come from the seed.
        let mut rng = rand::rng();
        let mut id = || (0..5).map(|_| format!("{:08x}", rng.random::<u32>())).collect();
        let nodes = (0..primaries * (1 + replicas)).map(|n| n % primaries);
        Self {
            nodes: nodes.map(|shard| Node { id: id(), port: 0, shard, has_failed: false }).collect(),
            primaries: (0..primaries).collect(),
            epochs: (1..).take(primaries).collect(),
            moving: BTreeMap::new(),
            owners: (0..usize::from(SLOTS)).map(|slot| slot * primaries / usize::from(SLOTS)).collect(),
        }
    }

    /// Returns the shard that owns a slot.
    pub fn owner(&self, slot: u16) -> usize {
        self.owners[usize::from(slot)]
    }

    /// Returns whether a node is the primary of its shard.
    pub fn is_primary(&self, node: usize) -> bool {
        self.primaries[self.nodes[node].shard] == node
    }

    /// Returns the primary of a shard.
    pub fn primary(&self, shard: usize) -> &Node {
        &self.nodes[self.primaries[shard]]
    }

    /// Returns the replicas of a shard.
    pub fn replicas(&self, shard: usize) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter(move |(n, node)| node.shard == shard && !self.is_primary(*n)).map(|(_, node)| node)
    }

    /// Returns whether every slot has a primary that answers.
    pub fn is_ok(&self) -> bool {
        self.primaries.iter().all(|primary| !self.nodes[*primary].has_failed)
    }

    /// Returns the slots of a shard, in ascending order.
    pub fn slots(&self, shard: usize) -> impl Iterator<Item = u16> {
        (0..SLOTS).filter(move |slot| self.owner(*slot) == shard)
    }

    /// Returns the ranges of consecutive slots with the same owner. Each range consists of its first slot,
    /// its last slot and the shard.
    pub fn ranges(&self) -> Vec<(u16, u16, usize)> {
        let mut ranges: Vec<(u16, u16, usize)> = Vec::new();
        for (slot, shard) in (0..SLOTS).zip(&self.owners) {
            match ranges.last_mut().filter(|range| range.2 == *shard) {
                Some(range) => range.1 = slot,
                None => ranges.push((slot, slot, *shard)),
            }
        }
        ranges
    }

    /// Ends the move of a slot, and makes `shard` the owner of the slot.
    pub fn assign(&mut self, slot: u16, shard: usize) {
        self.moving.remove(&slot);
        self.owners[usize::from(slot)] = shard;
        // As in Redis, a shard with the highest epoch keeps its epoch.
        if self.epochs[shard] < self.epoch() {
            self.epochs[shard] = self.epoch() + 1;
        }
    }

    /// Makes a node the primary of its shard.
    pub fn promote(&mut self, node: usize) {
        let shard = self.nodes[node].shard;
        self.primaries[shard] = node;
        self.epochs[shard] = self.epoch() + 1;
    }

    /// Returns the current epoch, which is the highest epoch of all shards.
    pub fn epoch(&self) -> u64 {
        self.epochs.iter().copied().max().unwrap_or(0)
    }
}
