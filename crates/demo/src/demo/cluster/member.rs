//! Decides which requests a node of the built-in cluster answers, and to which node it redirects all other requests.

use std::sync::Arc;

use super::shard::ClusterData;
use crate::{
    demo::{reply::ReplyError, store::Database},
    protocol::key_slot,
};

/// A node of a cluster.
#[derive(Debug, Clone)]
pub struct Member {
    /// The state that all nodes share.
    pub shared: Arc<ClusterData>,
    /// The index of the node in the layout.
    pub node: usize,
    /// The index of the node's shard.
    pub shard: usize,
}

/// The state that a client has set with the commands ASKING and READONLY before its request.
#[derive(Debug, Clone, Copy)]
pub struct ClientFlags {
    /// Whether the client has sent ASKING, because its request was redirected to this node with ASK.
    pub asking: bool,
    /// Whether a replica may answer the request. This is true if the client has sent READONLY and the request does not
    /// write.
    pub reading: bool,
}

/// The cost of the requests for a slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlotUse {
    /// The run time of the commands, in ns.
    pub ns: u64,
    /// The bytes of the requests.
    pub bytes_in: u64,
    /// The bytes of the replies.
    pub bytes_out: u64,
}

impl Member {
    /// Returns whether the node is the primary of its shard.
    pub fn is_primary(&self) -> bool {
        self.shared.layout().is_primary(self.node)
    }

    /// Returns whether the node is the primary that owns a slot.
    pub fn owns(&self, slot: u16) -> bool {
        let layout = self.shared.layout();
        layout.owner(slot) == self.shard && layout.is_primary(self.node)
    }

    /// Returns the slot of these keys, if the node may answer a request with these keys. Returns `None` if there are no
    /// keys. `data` contains the keys of the node's shard.
    ///
    /// # Errors
    /// Fails if another node has to answer the request, or if no node can answer the request.
    pub fn place<'a>(
        &self,
        keys: impl Iterator<Item = &'a [u8]> + Clone,
        declared: ClientFlags,
        data: &mut Database,
    ) -> Result<Option<u16>, ReplyError> {
        let Some(first) = keys.clone().next() else { return Ok(None) };
        let slot = key_slot(first);
        if keys.clone().skip(1).any(|key| key_slot(key) != slot) {
            return Err(ReplyError::other("CROSSSLOT Keys in request don't hash to the same slot"));
        }
        let layout = self.shared.layout();
        if !layout.is_ok() {
            return Err(ReplyError::other("CLUSTERDOWN The cluster is down"));
        }
        let (owner, target) = (layout.owner(slot), layout.moving.get(&slot).copied());
        let (is_here, is_primary) = (owner == self.shard, layout.is_primary(self.node));
        let is_arriving = target == Some(self.shard) && is_primary && declared.asking;
        let redirect = |kind: &str, shard: usize| {
            Err(ReplyError::other(format!("{kind} {slot} 127.0.0.1:{}", layout.primary(shard).port)))
        };
        match target {
            _ if !is_arriving && !(is_here && (is_primary || declared.reading)) => redirect("MOVED", owner),
            None => Ok(Some(slot)),
            Some(target) => {
                let (all, is_one_key) = (keys.clone().count(), keys.clone().all(|key| key == first));
                match keys.filter(|key| data.deadline(key).is_some()).count() {
                    n if n == all || is_arriving && is_one_key => Ok(Some(slot)),
                    0 if !is_arriving => redirect("ASK", target),
                    _ => Err(ReplyError::other("TRYAGAIN Multiple keys request during rehashing of slot")),
                }
            }
        }
    }
}
