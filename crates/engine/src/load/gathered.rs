//! Gathers generated requests for the nodes of a cluster before the requests are sent. In a closed loop with a
//! pipeline, each batch goes to one node, as in redis-benchmark. A worker generates requests and gathers them by
//! node. Whenever a batch for a node is complete, a client sends this batch.
//!
//! ```text
//!  drawn  A B A C A B C A …  ──►  node A [A A A A]  complete: a client sends it
//!                                 node B [B B]
//!                                 node C [C C]
//! ```
//! Gathering does not change which requests a node gets, or their order. Without gathering, a client would divide each
//! batch of 16 requests over three nodes. Dividing a batch over three nodes takes three times as many system calls and
//! more than twice the CPU time.

use std::{collections::VecDeque, mem};

use super::parcel::{Parcel, ParcelRequest};
use crate::{
    endpoint::NodeNumber,
    workload::{OutgoingRequests, Values},
};

/// The node that gets a request, and whether the node is a replica. The node is `None` if the slot has no owner.
pub(super) type TargetNode = (Option<NodeNumber>, bool);

/// The largest number of gathered bytes: 4 MiB. If the requests of a setting exceed this number, the requests
/// are sent without being gathered.
const MOST_BYTES: usize = 4 << 20;
/// If this many batches for one node are complete, any client sends one of these batches.
const WAITING_BATCHES: usize = 2;

/// Generated requests, grouped by node.
#[derive(Debug, Default)]
pub(super) struct GatheredRequests {
    /// The parcels of each node. The index in the list is the number of the node plus 1. Parcels without a node are
    /// at index 0. Only the last parcel of a node may be incomplete.
    by_node: Vec<VecDeque<Parcel>>,
    bytes: usize,
    /// The bytes of the longest batch.
    longest: usize,
    /// Whether the requests of this setting are too large to be gathered.
    is_refused: bool,
}

impl GatheredRequests {
    /// Returns whether requests may be gathered.
    pub(super) fn is_possible(&self) -> bool {
        !self.is_refused
    }

    /// Returns whether too many bytes are gathered. After that, no requests can be gathered until a new
    /// setting calls [`take_all`](Self::take_all).
    pub(super) fn is_too_large(&mut self) -> bool {
        self.is_refused |= self.bytes > MOST_BYTES;
        self.is_refused
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_node.iter().all(VecDeque::is_empty)
    }

    /// Adds the request in `out` for a node, in batches of `pipeline` requests.
    pub(super) fn add(
        &mut self,
        (node, is_for_replica): TargetNode,
        request: ParcelRequest,
        (out, values): (&mut OutgoingRequests, &Values),
        pipeline: usize,
    ) {
        let place = place_of(node);
        self.by_node.resize_with(self.by_node.len().max(place + 1), VecDeque::new);
        let parcels = &mut self.by_node[place];
        self.bytes += out.length();
        match parcels.back_mut().filter(|last| last.requests.len() < pipeline) {
            Some(last) => last.add(request, out, values),
            None => {
                let requests = Vec::with_capacity(pipeline);
                let bytes = Vec::with_capacity(self.longest);
                let mut parcel = Parcel { node, is_for_replica, requests, bytes, ..Parcel::new(0, 0, 0) };
                parcel.add(request, out, values);
                parcels.push_back(parcel);
            }
        }
    }

    /// Removes and returns a complete batch for `node`. If `node` is not the client's `own` node, the function
    /// removes a batch only if several batches are complete.
    pub(super) fn take_complete(
        &mut self,
        node: Option<NodeNumber>,
        own: Option<NodeNumber>,
        pipeline: usize,
    ) -> Option<Parcel> {
        let parcels = self.by_node.get_mut(place_of(node))?;
        let complete = parcels.iter().filter(|parcel| parcel.requests.len() >= pipeline).count();
        let parcel = if complete >= if node == own { 1 } else { WAITING_BATCHES } {
            parcels.pop_front()
        } else {
            None
        };
        self.without(parcel)
    }

    /// Removes and returns the largest batch.
    pub(super) fn take_largest(&mut self) -> Option<Parcel> {
        let size =
            |parcels: &&mut VecDeque<Parcel>| parcels.front().map_or(0, |parcel| parcel.requests.len());
        let parcel = self.by_node.iter_mut().max_by_key(size).and_then(VecDeque::pop_front);
        self.without(parcel)
    }

    /// Removes and returns all parcels. `goes_on` is true if the setting of the load stays the same. After a change
    /// of the setting, requests may be gathered again, even if earlier requests were too large.
    pub(super) fn take_all(&mut self, goes_on: bool) -> Vec<Parcel> {
        let is_refused = self.is_refused && goes_on;
        mem::replace(self, Self { is_refused, ..Self::default() }).by_node.into_iter().flatten().collect()
    }

    fn without(&mut self, parcel: Option<Parcel>) -> Option<Parcel> {
        let bytes = parcel.as_ref().map_or(0, |parcel| parcel.bytes.len());
        self.longest = self.longest.max(bytes);
        self.bytes -= bytes;
        parcel
    }
}

fn place_of(node: Option<NodeNumber>) -> usize {
    node.map_or(0, |node| node.index() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        endpoint::{Address, Topology},
        load::testing::program,
        workload::Draws,
    };

    fn add(gathered: &mut GatheredRequests, node: Option<NodeNumber>, request: &[u8]) {
        let (program, mut out) = (program(), OutgoingRequests::default());
        let op = program.append(&mut Draws::new(1), &mut out);
        let kept = ParcelRequest { op, slot: None, reads: false, end: 0 };
        let mut out = OutgoingRequests::whole(request.to_vec());
        gathered.add((node, false), kept, (&mut out, program.values()), 2);
    }

    #[test]
    fn a_complete_batch_is_for_the_clients_own_node_or_for_a_node_with_several_batches() {
        let address = Address::Tcp { host: "a".to_owned(), port: 1 };
        let own = Topology::of_ring([address].into_iter()).primaries().next();
        let (mut gathered, other) = (GatheredRequests::default(), None);
        for request in [b"a", b"b", b"c", b"d"] {
            assert!(gathered.take_complete(other, own, 2).is_none());
            add(&mut gathered, other, request);
        }
        assert_eq!(gathered.take_complete(other, own, 2).unwrap().bytes, b"ab");
        assert!(gathered.take_complete(other, own, 2).is_none());
        add(&mut gathered, own, b"e");
        assert!(gathered.take_complete(own, own, 2).is_none());
        assert_eq!(gathered.take_largest().unwrap().bytes, b"cd");
        assert_eq!(gathered.take_largest().unwrap().bytes, b"e");
        assert!(gathered.take_largest().is_none() && gathered.is_empty() && gathered.bytes == 0);
    }

    #[test]
    fn requests_that_are_too_large_are_not_gathered_before_the_setting_changes() {
        let mut gathered = GatheredRequests::default();
        let large = vec![0; MOST_BYTES];
        add(&mut gathered, None, &large);
        assert!(!gathered.is_too_large());
        add(&mut gathered, None, b"x");
        assert!(gathered.is_too_large());
        assert_eq!(gathered.take_all(true).len(), 1);
        assert!(!gathered.is_possible());
        gathered.take_all(false);
        assert!(gathered.is_possible());
    }
}
