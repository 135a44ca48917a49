//! Chooses which node of a shard gets a read-only request. A shard is a primary and its replicas. This module does no
//! I/O. Another thread sets the median PING times of the nodes.

use std::{str::FromStr, sync::Arc};

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use super::{NodeNumber, Role, Topology};

crate::named_values! {
    /// The rule that decides which nodes of a shard get the read-only requests. A shard is a primary and its replicas.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ReadFrom {
        /// The primary gets the reads.
        #[default]
        Primary "primary",
        /// The replicas get the reads in turn.
        Replica "replica",
        /// The primary and the replicas get the reads in turn.
        Any "any",
        /// The node with the lowest median round trip of PING gets the reads.
        Nearest "nearest",
    }
}

impl ReadFrom {
    /// Returns the node that gets read number `turn` in the shard of `primary`. Only replicas for which `may` returns
    /// true are considered. With `Primary`, always returns the primary. Otherwise, returns `None` if `may` returns true
    /// for no replica.
    pub(crate) fn node(
        self,
        topology: &Topology,
        (primary, turn): (NodeNumber, usize),
        pings: &PingMedians,
        may: impl Fn(NodeNumber) -> bool,
    ) -> Option<NodeNumber> {
        let replicas = topology.nodes().filter(|(_, node)| node.role == Role::Replica(primary));
        let mut nodes: Vec<_> = replicas.map(|(number, _)| number).filter(|number| may(*number)).collect();
        match (self, nodes.len()) {
            (Self::Primary, _) => Some(primary),
            (_, 0) => None,
            (Self::Replica, count) => Some(nodes[turn % count]),
            (Self::Any, count) => Some(*nodes.get(turn % (count + 1)).unwrap_or(&primary)),
            (Self::Nearest, _) => {
                // Among equally near nodes, the primary is preferred, because it has all data.
                nodes.insert(0, primary);
                nodes.into_iter().min_by_key(|node| pings.of(*node).unwrap_or(u64::MAX))
            }
        }
    }
}

impl FromStr for ReadFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|known| known.name() == text);
        known.ok_or_else(|| format!("'{text}' must be {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// The median round trips of PING to the nodes of a cluster. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct PingMedians(Arc<ArcSwap<Vec<Option<u64>>>>);

impl PingMedians {
    /// Sets the medians of all nodes, in nanoseconds, in the order of the node numbers.
    pub fn set(&self, medians_ns: Vec<Option<u64>>) {
        self.0.store(Arc::new(medians_ns));
    }

    /// Returns the median of a node, or `None` if the median is unknown.
    fn of(&self, node: NodeNumber) -> Option<u64> {
        self.0.load().get(node.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Address;

    /// Returns a shard of a primary and two replicas, with the numbers of these nodes.
    fn shard() -> (Topology, [NodeNumber; 3]) {
        let nodes: String = [1, 2, 3].map(|port| format!("*2\r\n$1\r\nh\r\n:{port}\r\n")).concat();
        let reply = format!("*1\r\n*5\r\n:0\r\n:16383\r\n{nodes}");
        let topology = Topology::default().read(reply.as_bytes(), &Address::default()).unwrap();
        let numbers: Vec<_> = topology.nodes().map(|(number, _)| number).collect();
        (topology, numbers.try_into().unwrap())
    }

    #[test]
    fn reads_are_divided_by_the_setting() {
        let (topology, [primary, one, other]) = shard();
        let pings = PingMedians::default();
        let of =
            |from: ReadFrom| [0, 1, 2, 3].map(|turn| from.node(&topology, (primary, turn), &pings, |_| true));
        assert_eq!(of(ReadFrom::Primary), [Some(primary); 4]);
        assert_eq!(of(ReadFrom::Replica), [one, other, one, other].map(Some));
        assert_eq!(of(ReadFrom::Any), [one, other, primary, one].map(Some));
        assert_eq!(of(ReadFrom::Nearest), [Some(primary); 4], "nothing is known of any");
        pings.set(vec![Some(90), None, Some(80)]);
        assert_eq!(of(ReadFrom::Nearest), [Some(other); 4]);
        pings.set(vec![Some(80), Some(90), Some(80)]);
        assert_eq!(of(ReadFrom::Nearest), [Some(primary); 4]);
    }

    #[test]
    fn a_replica_that_may_not_be_read_is_left_out_and_without_any_there_is_no_node() {
        let (topology, [primary, one, other]) = shard();
        let of = |from: ReadFrom, may: &[NodeNumber]| {
            from.node(&topology, (primary, 1), &PingMedians::default(), |node| may.contains(&node))
        };
        assert_eq!(of(ReadFrom::Replica, &[other]), Some(other));
        assert_eq!(of(ReadFrom::Any, &[one]), Some(primary));
        for from in [ReadFrom::Replica, ReadFrom::Any, ReadFrom::Nearest] {
            assert_eq!(of(from, &[]), None);
        }
        assert_eq!(of(ReadFrom::Primary, &[]), Some(primary));
    }

    #[test]
    fn its_words_are_read_back_and_others_are_refused_in_one_line() {
        for from in ReadFrom::ALL {
            assert_eq!(from.name().parse(), Ok(from));
        }
        let error = "slave".parse::<ReadFrom>().unwrap_err();
        assert_eq!(error, "'slave' must be primary, replica, any, nearest");
    }
}
