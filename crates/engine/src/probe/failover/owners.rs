//! Finds the primaries of a cluster that another node has replaced or may replace. This module does no I/O.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    endpoint::{NodeNumber, NodeOutage, NodeOutages, Role, Topology},
    protocol::{SLOTS, key_slot},
};

/// A primary that another owner of its slots has replaced or may replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SuspectPrimary {
    pub(super) node: NodeNumber,
    /// The outage of the primary. `None` if the primary handed over its slots and no request was lost.
    pub(super) outage: Option<NodeOutage>,
    /// The last topology in which the primary owned its slots.
    pub(super) known: Arc<Topology>,
}

impl SuspectPrimary {
    /// Returns the first slot of the primary. The function ignores slots that have moved to a node other than the
    /// primary's successor.
    pub(super) fn slot(&self, topology: &Topology) -> Option<u16> {
        let is_its = |owner| owner == self.node || is_successor(owner, self.node, (&self.known, topology));
        (0..SLOTS).find(|slot| {
            self.known.owner(*slot) == Some(self.node) && topology.owner(*slot).is_none_or(is_its)
        })
    }

    /// Returns the replicas of the primary. One of the replicas may take over.
    pub(super) fn replicas(&self) -> impl Iterator<Item = NodeNumber> {
        let replicas = self.known.nodes().filter(|(_, it)| it.role == Role::Replica(self.node));
        replicas.map(|(number, _)| number)
    }
}

/// The last topology, and the outages that started a search.
#[derive(Debug, Default)]
pub(super) struct Owners {
    known: Arc<Topology>,
    /// The beginning of the last outage that started a search, by node.
    done_ns: BTreeMap<usize, u64>,
    /// The new primaries that the probe found before a topology named them. The key is the number of the
    /// replaced node.
    found: BTreeMap<NodeNumber, NodeNumber>,
}

impl Owners {
    /// Records that `successor` answers for the slots of `node`. The next topologies will name `successor` as the owner
    /// of these slots.
    pub(super) fn found(&mut self, node: NodeNumber, successor: NodeNumber) {
        if self.known.primaries().any(|primary| primary == node) {
            self.found.insert(node, successor);
        }
    }

    /// Returns the primaries that have become suspects. Suspects are primaries that do not answer, and primaries whose
    /// slots a successor now owns.
    pub(super) fn new_suspects(
        &mut self,
        topology: &Arc<Topology>,
        outages: &NodeOutages,
    ) -> Vec<SuspectPrimary> {
        let known = std::mem::replace(&mut self.known, Arc::clone(topology));
        let is_changed = !Arc::ptr_eq(&known, topology);
        let mut suspects = Vec::new();
        for node in known.primaries() {
            let done_ns = self.done_ns.get(&node.index()).copied().unwrap_or_default();
            let outage = outages.of(node.index()).filter(|outage| outage.since_ns > done_ns);
            let is_silent = outage.is_some_and(|outage| outage.back_ns.is_none());
            // A look at the slots of a hundred nodes, twenty times a second, would use up a core.
            if !is_changed && !is_silent {
                continue;
            }
            let Some(slot) = (0..SLOTS).find(|slot| known.owner(*slot) == Some(node)) else { continue };
            let owner = topology.owner(slot).filter(|owner| *owner != node);
            let is_known = owner.is_some() && self.found.remove(&node) == owner;
            let is_replaced =
                owner.is_some_and(|owner| !is_known && is_successor(owner, node, (&known, topology)));
            if is_silent || is_replaced {
                // An outage that ended before the handover does not belong to the handover.
                let outage = outage.filter(|outage| outage.back_ns.is_none());
                self.done_ns.insert(node.index(), outage.map_or(done_ns, |outage| outage.since_ns));
                suspects.push(SuspectPrimary { node, outage, known: Arc::clone(&known) });
            }
        }
        suspects
    }
}

/// Returns whether `owner` is the successor of `node`. `owner` is a successor if it was a replica of `node`, or if it
/// is a new node and `node` has no slots left. A new node may have been a replica before, because CLUSTER SLOTS does
/// not list a replica without data.
fn is_successor(owner: NodeNumber, node: NodeNumber, (before, now): (&Topology, &Topology)) -> bool {
    match before.nodes().find(|(number, _)| *number == owner).map(|(_, it)| it.role) {
        // A node that was known only from a redirect is new, too.
        None | Some(Role::Outside) => now.primaries().all(|it| it != node),
        Some(role) => role == Role::Replica(node),
    }
}

/// Returns a key that belongs to a slot. The search tries about 16 384 numbers, which takes about a millisecond.
pub(super) fn key_of(slot: u16) -> String {
    let mut keys = (0_u32..).map(|n| n.to_string());
    keys.find(|key| key_slot(key.as_bytes()) == slot).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Address;

    /// Returns a topology with two primaries, given as (port, port of the replica). Each primary owns half of the
    /// slots.
    fn topology(before: &Topology, owners: [(u16, Option<u16>); 2]) -> Arc<Topology> {
        let node = |port: u16| format!("*2\r\n$1\r\nh\r\n:{port}\r\n");
        let ranges =
            [(0, 8191), (8192, 16_383)].into_iter().zip(owners).map(|((from, to), (port, replica))| {
                let nodes: Vec<_> = std::iter::once(port).chain(replica).map(node).collect();
                format!("*{}\r\n:{from}\r\n:{to}\r\n{}", 2 + nodes.len(), nodes.concat())
            });
        let reply = format!("*2\r\n{}", ranges.collect::<String>());
        Arc::new(before.read(reply.as_bytes(), &Address::default()).unwrap())
    }

    fn two() -> Arc<Topology> {
        topology(&Topology::default(), [(10, Some(11)), (20, Some(21))])
    }

    #[test]
    fn a_primary_that_does_not_answer_is_a_suspect_once_and_its_replica_is_not() {
        let (mut owners, outages, topology) = (Owners::default(), NodeOutages::default(), two());
        assert_eq!(owners.new_suspects(&topology, &outages), []);
        outages.lost(2, 70);
        outages.lost(3, 70);
        let suspects = owners.new_suspects(&topology, &outages);
        let seen: Vec<_> = suspects
            .iter()
            .map(|it| (it.node.index(), it.slot(&topology), it.replicas().map(NodeNumber::index).collect()))
            .collect();
        assert_eq!(seen, [(2, Some(8192), vec![3])]);
        assert_eq!(owners.new_suspects(&topology, &outages), []);
        outages.answered(2, 90);
        outages.lost(2, 100);
        assert_eq!(owners.new_suspects(&topology, &outages)[0].outage.unwrap().since_ns, 100);
    }

    #[test]
    fn a_takeover_by_a_replica_is_noticed_but_not_a_move_of_slots_between_primaries() {
        let (mut owners, outages, first) = (Owners::default(), NodeOutages::default(), two());
        owners.new_suspects(&first, &outages);
        let moved = topology(&first, [(20, Some(21)), (20, Some(21))]);
        assert_eq!(owners.new_suspects(&moved, &outages), []);
        owners.new_suspects(&first, &outages);
        let taken = topology(&first, [(11, Some(10)), (20, Some(21))]);
        let suspects = owners.new_suspects(&taken, &outages);
        assert_eq!((suspects.len(), suspects[0].node.index(), suspects[0].outage), (1, 0, None));
        assert_eq!(owners.new_suspects(&taken, &outages), []);
    }

    #[test]
    fn a_replica_that_was_not_listed_is_a_successor_if_it_takes_all_slots() {
        let (mut owners, outages, first) = (Owners::default(), NodeOutages::default(), two());
        owners.new_suspects(&first, &outages);
        let taken = topology(&first, [(30, None), (20, Some(21))]);
        let suspects = owners.new_suspects(&taken, &outages);
        assert_eq!(suspects.iter().map(|it| it.node.index()).collect::<Vec<_>>(), [0]);
        let mut owners = Owners::default();
        let one = topology(&Topology::default(), [(10, None), (10, None)]);
        owners.new_suspects(&one, &outages);
        let half = topology(&one, [(30, None), (10, None)]);
        assert_eq!(owners.new_suspects(&half, &outages), [], "a node that joins gets some of the slots");
    }

    #[test]
    fn a_search_uses_a_slot_that_has_not_moved_to_another_primary_meanwhile() {
        let (mut owners, outages, first) = (Owners::default(), NodeOutages::default(), two());
        owners.new_suspects(&first, &outages);
        outages.lost(0, 70);
        let suspect = owners.new_suspects(&first, &outages).remove(0);
        assert_eq!(suspect.slot(&first), Some(0));
        let moved = topology(&first, [(20, None), (20, None)]);
        assert_eq!(suspect.slot(&moved), None, "a reshard is no failover");
        let taken = topology(&first, [(30, None), (20, None)]);
        assert_eq!(suspect.slot(&taken), Some(0), "a node that was no primary is a successor");
    }

    #[test]
    fn a_short_outage_while_slots_move_to_a_new_node_is_no_failover() {
        let (mut owners, outages) = (Owners::default(), NodeOutages::default());
        let one = topology(&Topology::default(), [(10, None), (10, None)]);
        owners.new_suspects(&one, &outages);
        outages.lost(0, 70);
        let suspect = owners.new_suspects(&one, &outages).remove(0);
        let half = topology(&one, [(30, None), (10, None)]);
        assert_eq!(suspect.slot(&half), Some(8192), "the suspect is asked for a slot that it still has");
        let all = topology(&one, [(30, None), (30, None)]);
        assert_eq!(suspect.slot(&all), Some(0));
    }

    #[test]
    fn a_successor_that_was_found_before_the_topology_names_it_is_not_searched_for_again() {
        let (mut owners, outages, first) = (Owners::default(), NodeOutages::default(), two());
        owners.new_suspects(&first, &outages);
        outages.lost(0, 70);
        let suspect = owners.new_suspects(&first, &outages).remove(0);
        owners.found(suspect.node, suspect.replicas().next().unwrap());
        let taken = topology(&first, [(11, None), (20, Some(21))]);
        assert_eq!(owners.new_suspects(&taken, &outages), []);
        let back = topology(&taken, [(10, Some(11)), (20, Some(21))]);
        owners.new_suspects(&back, &outages);
        assert_eq!(
            owners.new_suspects(&topology(&back, [(11, Some(10)), (20, Some(21))]), &outages).len(),
            1
        );
    }

    #[test]
    fn a_key_of_a_slot_is_in_it() {
        for slot in [0, 8000, 16_383] {
            assert_eq!(key_slot(key_of(slot).as_bytes()), slot);
        }
    }
}
