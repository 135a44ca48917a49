//! Counts, lists and removes the keys of a server, or of one node of a cluster.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    CountResult, ServerError,
    clean::{SCAN_COUNT, Store},
    link::RedisSender,
    place::Slots,
};
use crate::{protocol::key_slot, workload::RunId};

/// The keys of a server, or of a node of a cluster, with the commands to count and remove them.
pub(super) struct StoredKeys<'a> {
    wire: &'a RedisSender,
    /// The slots of the node. `None` without a cluster.
    slots: Option<Arc<Slots>>,
}

impl<'a> StoredKeys<'a> {
    /// Requests the slots of the server. The slots determine the keys that the server can store.
    pub(super) async fn of(wire: &'a RedisSender) -> Result<Self, ServerError> {
        Ok(Self { wire, slots: Slots::of(wire).await? })
    }

    /// Sends a command with `keys`. On a cluster node, sends one command for each slot, all of them in one pipeline, and
    /// leaves out keys of other nodes.
    async fn each(&self, command: &'static str, keys: &[Vec<u8>]) -> Result<CountResult, ServerError> {
        let Some(slots) = &self.slots else {
            let there = self.wire.of_keys(command, keys).await?;
            return Ok(CountResult { looked_for: keys.len() as u64, there });
        };
        let mut by_slot: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for key in keys.iter().filter(|key| self.holds(key)) {
            by_slot.entry(key_slot(key)).or_default().push(key.clone());
        }
        let mut found = Vec::new();
        let is_moving = |slot: u16, keys: &[Vec<u8>]| slots.is_leaving(slot) || slots.is_arriving(&keys[0]);
        let mut moving: Vec<_> = by_slot.extract_if(.., |slot, keys| is_moving(*slot, keys)).collect();
        let replies = self.wire.of_keys_of_slots(command, by_slot.values()).await?;
        for ((slot, keys), reply) in by_slot.into_iter().zip(replies) {
            match reply {
                Err(error) if is_moved(&error) => moving.push((slot, keys)),
                there => found.push(CountResult { looked_for: keys.len() as u64, there: there? }),
            }
        }
        // While a slot is being moved, its keys may be on either node.
        for key in moving.iter().flat_map(|(_, keys)| keys) {
            let is_arriving = slots.is_arriving(key);
            let wire = if is_arriving { self.wire.asking() } else { self.wire.clone() };
            match wire.of_keys(command, std::slice::from_ref(key)).await {
                Err(error) if is_moved(&error) => {}
                Ok(0) if is_arriving => {}
                there => found.push(CountResult { looked_for: 1, there: there? }),
            }
        }
        Ok(found.into_iter().sum())
    }
}

/// Returns whether the server refused a command because its keys may be on another node.
pub(super) fn is_moved(error: &ServerError) -> bool {
    ["MOVED ", "ASK ", "TRYAGAIN"].iter().any(|beginning| error.is_refusal(beginning))
}

impl Store for StoredKeys<'_> {
    fn holds(&self, key: &[u8]) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.has(key) || slots.is_arriving(key))
    }

    async fn count_existing(&self, keys: &[Vec<u8>]) -> Result<CountResult, ServerError> {
        self.each("EXISTS", keys).await
    }

    async fn size(&self) -> Result<u64, ServerError> {
        self.wire.count(&["DBSIZE"]).await
    }

    async fn scan(&self, cursor: &str) -> Result<(String, Vec<Vec<u8>>), ServerError> {
        self.wire.scan(cursor, &RunId::any_key_pattern(), SCAN_COUNT as u32).await
    }

    async fn remove(&self, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
        // Servers before Redis 4 have no UNLINK, and a user may be permitted to use DEL but not UNLINK.
        let removed = match self.each("UNLINK", keys).await {
            Err(error) if error.is_refusal("ERR unknown command") || error.is_refusal("NOPERM") => {
                self.each("DEL", keys).await
            }
            removed => removed,
        };
        Ok(removed?.there)
    }
}
