//! Chooses the node of a cluster to which the load sends a read-only request.
//!
//! ```text
//!  a read-only request ────────► a replica of its slot's shard
//!                                 └─ refused or lost: for two seconds another replica, or the primary, which is counted
//! ```

use std::collections::BTreeMap;

use crate::endpoint::{NodeNumber, PingMedians, ReadFrom, Topology};

/// How long a replica gets no reads after it refused a read or lost a connection: 2 s.
const AVOIDED_NS: u64 = 2_000_000_000;

/// The division of reads over the nodes of a shard.
#[derive(Debug, Default)]
pub(super) struct ReadRouter {
    from: ReadFrom,
    pings: PingMedians,
    /// The number of batches so far. This number selects the replica of a batch, because batches go to the replicas
    /// in turn.
    turn: usize,
    /// The replicas that get no reads at present. The value is the time from which the replica gets reads again, in
    /// ns.
    avoided_ns: BTreeMap<NodeNumber, u64>,
    /// How many reads went to a primary because no replica answered.
    without_replica: u64,
}

impl ReadRouter {
    pub(super) fn new(from: ReadFrom, pings: PingMedians) -> Self {
        Self { from, pings, ..Self::default() }
    }

    /// Returns whether replicas may get reads.
    pub(super) fn are_divided(&self) -> bool {
        self.from != ReadFrom::Primary
    }

    /// Begins the next batch.
    pub(super) fn next_batch(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }

    /// Returns the node that gets a read. `primary` owns the slot of the read.
    pub(super) fn node(&mut self, topology: &Topology, primary: NodeNumber, now_ns: u64) -> NodeNumber {
        let Self { from, pings, turn, avoided_ns, without_replica } = self;
        let may = |node| avoided_ns.get(&node).is_none_or(|until_ns| *until_ns <= now_ns);
        from.node(topology, (primary, *turn), pings, may).unwrap_or_else(|| {
            *without_replica += 1;
            primary
        })
    }

    /// Stops sending reads to a replica for some time.
    pub(super) fn avoid(&mut self, node: NodeNumber, now_ns: u64) {
        if self.are_divided() {
            self.avoided_ns.insert(node, now_ns + AVOIDED_NS);
        }
    }

    /// Returns how many reads since the last call went to a primary because no replica answered.
    pub(super) fn take_without_replica(&mut self) -> u64 {
        std::mem::take(&mut self.without_replica)
    }
}
