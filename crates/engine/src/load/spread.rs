//! The state that a load worker needs for a cluster: the topology, the addresses of the nodes, and the waiting
//! parcels. A parcel is a group of requests for one node.

use std::{collections::BTreeMap, io, sync::Arc};

use super::{
    ClusterPlan, LoadPlan, Retries,
    gathered::{GatheredRequests, TargetNode},
    parcel::{NodeRefusal, Parcel, ParcelRequest},
    reads::ReadRouter,
    slot_counts::SlotCounts,
};
use crate::{
    endpoint::{
        Cluster, Endpoint, Endpoints, NodeNumber, Placement, Role, Target, Tls, Topology, TopologyError,
        node_address,
    },
    protocol::key_slot,
    workload::Share,
};

/// The largest number of redirects of one request. After more redirects, the request counts as an error. While a slot
/// changes its owner, two nodes may briefly redirect a request to each other.
pub(super) const MOST_HOPS: u32 = 6;
/// The first pause before a request is sent again: 2 ms. Each further pause of the request is twice as long.
const FIRST_PAUSE_NS: u64 = 2_000_000;
/// The longest pause before a request is sent again: 100 ms. The time between two requests for the topology is also at
/// least this long.
const LONGEST_PAUSE_NS: u64 = 100_000_000;

/// The state that a worker needs for a cluster.
pub(super) struct WorkerCluster {
    pub(super) cluster: Arc<Cluster>,
    /// The node that the user gave. All other nodes have the same credentials.
    target: Target,
    /// The resolved addresses of the nodes, and their TLS configurations, by the number of the node.
    doors: Vec<Option<(Endpoints, Option<Tls>)>>,
    /// Waiting parcels. The key contains the time when the wait ends, and a unique number.
    waiting: BTreeMap<(u64, u64), (Parcel, NodeRefusal)>,
    /// Requests that were generated and not sent yet.
    pub(super) gathered: GatheredRequests,
    entries: u64,
    /// The number of requests without a key so far. Requests without a key go to all primaries in turn.
    keyless: usize,
    /// The division of reads over the nodes.
    pub(super) reads: ReadRouter,
    /// The rule that assigns keys to nodes.
    placement: Placement,
    /// The rules by which failed requests are sent again.
    pub(super) retries: Option<Arc<Retries>>,
    /// The number of requests of each slot.
    pub(super) slots: SlotCounts,
    /// The largest number of connections of all workers on all machines.
    max_connections: usize,
    /// The largest number of connections of this worker.
    pub(super) most_lanes: usize,
    /// The number of the last segment before the current prefill. Lost requests of the prefill are sent again
    /// only if they belong to a later segment.
    pub(super) gives_back_after: u32,
}

impl WorkerCluster {
    /// Creates the state of a cluster for a worker of this plan, or `None` without a cluster.
    pub(super) fn of(plan: &LoadPlan) -> Option<Self> {
        let ClusterPlan { cluster, max_connections, read_from, pings, retries } = plan.cluster.clone()?;
        Some(Self {
            placement: cluster.topology().placement().clone(),
            cluster,
            target: plan.target.clone(),
            doors: Vec::new(),
            waiting: BTreeMap::new(),
            gathered: GatheredRequests::default(),
            entries: 0,
            keyless: 0,
            reads: ReadRouter::new(read_from, pings),
            retries,
            slots: SlotCounts::new(),
            max_connections,
            most_lanes: 0,
            gives_back_after: 0,
        })
    }

    /// Sets the number of clients of all workers together. This worker has `share` of the clients. The worker gets
    /// one connection for each of its clients, and its share of the remaining connections.
    pub(super) fn follow_clients(&mut self, clients: u32, share: Share) {
        let left = self.max_connections.saturating_sub(clients as usize);
        self.most_lanes = (share.part(clients.into()) + share.part(left as u64)) as usize;
    }

    /// Returns the slot of the key of a request, and counts the request for this slot.
    pub(super) fn slot(&mut self, key: &[u8]) -> u16 {
        match &self.placement {
            Placement::Ring(ring) => return ring.arc(key),
            Placement::Replication => return 0,
            Placement::Slots => {}
        }
        let slot = key_slot(key);
        self.slots.count(slot);
        slot
    }

    /// Divides a parcel by the nodes that get its requests: the owners of the slots, or replicas for reads.
    pub(super) fn by_owner(&mut self, parcel: Parcel, now_ns: u64) -> Vec<Parcel> {
        let topology = self.cluster.topology();
        self.reads.next_batch();
        let parts = parcel.divide(|_, request| self.receiver(&topology, request, now_ns));
        let to = |((node, is_for_replica), parcel)| Parcel { node, is_for_replica, ..parcel };
        parts.into_iter().map(to).collect()
    }

    /// Returns the node that gets a request: the owner of the request's slot, or a replica of this owner.
    pub(super) fn receiver(
        &mut self,
        topology: &Topology,
        request: &ParcelRequest,
        now_ns: u64,
    ) -> TargetNode {
        let owner = match request.slot {
            Some(slot) => topology.owner(slot),
            None => {
                self.keyless = self.keyless.wrapping_add(1);
                nth_primary(topology, self.keyless)
            }
        };
        let node = owner.filter(|_| request.reads).map(|owner| self.reads.node(topology, owner, now_ns));
        // Replicas outside a cluster do not support READONLY.
        let asks = self.placement == Placement::Slots && node.is_some() && node != owner;
        (node.or(owner), asks)
    }

    /// Returns whether the replies to a parcel show that its slots have a primary. Replies from a replica to reads do
    /// not show this.
    pub(super) fn has_primary_answered(&self, parcel: &Parcel) -> bool {
        let topology = self.cluster.topology();
        let is_replica = |node| matches!(topology.node(node).role, Role::Replica(_));
        !parcel.node.is_some_and(is_replica) || parcel.requests.iter().any(|request| !request.reads)
    }

    /// Stops sending reads to a node for some time, if the node is a replica.
    pub(super) fn avoid_replica(&mut self, node: NodeNumber, now_ns: u64) {
        if matches!(self.cluster.topology().node(node).role, Role::Replica(_)) {
            self.reads.avoid(node, now_ns);
        }
    }

    /// Returns the node for a client's own connection. Successive values of `turn` give the primaries one after the
    /// other. Outside a cluster, the values of `turn` give the primary and its replicas in turn. Clients can then read
    /// while the primary is down.
    pub(super) fn own_node(&self, turn: usize) -> Option<NodeNumber> {
        let topology = self.cluster.topology();
        if self.placement != Placement::Replication {
            return nth_primary(&topology, turn);
        }
        let members = || topology.nodes().filter(|(_, node)| node.role != Role::Outside);
        members().nth(turn % members().count().max(1)).map(|(number, _)| number)
    }

    /// Returns the node that `redirect` names. `by` is the node that sent the redirect.
    ///
    /// # Errors
    /// Fails if the cluster has reported too many addresses.
    pub(super) fn redirect_target(
        &self,
        redirect: &NodeRefusal,
        by: NodeNumber,
    ) -> Result<Option<NodeNumber>, TopologyError> {
        let (NodeRefusal::Moved(host, port) | NodeRefusal::Ask(host, port)) = redirect else {
            return Ok(None);
        };
        let address = {
            let topology = self.cluster.topology();
            node_address(host, *port, &topology.node(by).address)
        };
        address.map(|address| self.cluster.find_or_add(&address)).transpose()
    }

    /// Returns the TLS configuration of a node, and the address for connection attempt number `attempt`. Returns
    /// `None` while the node's host name is looked up.
    ///
    /// # Errors
    /// Fails if the host name has no address, or if TLS cannot be used for the node.
    pub(super) fn door(
        &mut self,
        node: NodeNumber,
        attempt: usize,
        now_ns: u64,
    ) -> io::Result<Option<(Endpoint, Option<Tls>)>> {
        let place = node.index();
        self.doors.resize_with(self.doors.len().max(place + 1), || None);
        if self.doors[place].is_none() {
            let address = self.cluster.topology().node(node).address.clone();
            let target = self.target.at(address).map_err(io::Error::other)?;
            self.doors[place] = Some((Endpoints::begin(&target, now_ns), target.tls));
        }
        let Some((endpoints, tls)) = &self.doors[place] else { return Ok(None) };
        let Some(found) = endpoints.current(now_ns) else { return Ok(None) };
        let endpoint = found.get(attempt % found.len().max(1)).cloned();
        let nowhere = || io::Error::new(io::ErrorKind::NotFound, "the host name of the node has no address");
        endpoint.map(|endpoint| Some((endpoint, tls.clone()))).ok_or_else(nowhere)
    }

    /// Looks up the host name of a node and the topology again, because a connection to the node was lost.
    pub(super) fn look_up_again(&self, node: NodeNumber, now_ns: u64) {
        if let Some(Some((endpoints, _))) = self.doors.get(node.index()) {
            endpoints.mark_stale(now_ns);
        }
        self.cluster.mark_stale();
    }

    /// Keeps a parcel until it may be sent again, at most until `end_ns`. Each pause of a parcel is longer
    /// than the pause before.
    pub(super) fn delay(&mut self, mut parcel: Parcel, why: NodeRefusal, (now_ns, end_ns): (u64, u64)) {
        let pause_ns = (FIRST_PAUSE_NS << parcel.pauses.min(10)).min(LONGEST_PAUSE_NS);
        parcel.pauses += 1;
        self.hold_until((now_ns + pause_ns).min(end_ns), parcel, why);
    }

    /// Keeps a parcel until `at_ns`.
    pub(super) fn hold_until(&mut self, at_ns: u64, parcel: Parcel, why: NodeRefusal) {
        self.entries += 1;
        self.waiting.insert((at_ns, self.entries), (parcel, why));
    }

    /// Returns the rules by which failed requests are sent again. A redirect of a cluster is not a failure,
    /// so for a redirect the function returns `None`.
    pub(super) fn retries_after(&self, refusal: &NodeRefusal) -> Option<&Arc<Retries>> {
        let is_redirect = refusal.is_redirect() && self.placement == Placement::Slots;
        self.retries.as_ref().filter(|_| !is_redirect)
    }

    /// Returns the time when the next waiting parcel may be sent again, in ns.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|((at_ns, _), _)| *at_ns)
    }

    /// Removes and returns a waiting parcel that may be sent again at `now_ns`.
    pub(super) fn next_delayed(&mut self, now_ns: u64) -> Option<(Parcel, NodeRefusal)> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        self.waiting.pop_first().map(|(_, waiting)| waiting)
    }
}

fn nth_primary(topology: &Topology, n: usize) -> Option<NodeNumber> {
    let primaries = topology.primaries().count();
    topology.primaries().nth(n % primaries.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_with_clients_may_open_one_more_connection_than_its_clients_have() {
        for (clients, workers, spare) in [(6, 2, 2), (11, 2, 2), (1, 4, 1), (7, 3, 5)] {
            let target = Target::default();
            let cluster = Arc::new(Cluster::of_one(&target));
            let max_connections = (clients + spare) as usize;
            let plan = LoadPlan {
                cluster: Some(ClusterPlan::new(cluster, max_connections)),
                threads: workers,
                ..LoadPlan::fixture()
            };
            let mut lanes = 0;
            for index in 0..workers {
                let (share, mut spread) = (Share { index, of: workers }, WorkerCluster::of(&plan).unwrap());
                spread.follow_clients(clients, share);
                let own = share.part(clients.into()) as usize;
                assert!(own == 0 || spread.most_lanes > own, "{clients} {workers} {index}");
                lanes += spread.most_lanes;
            }
            assert_eq!(lanes, max_connections);
        }
    }
}
