//! Counts, lists and removes the keys of a server, or of one node of a cluster.

use std::{collections::BTreeMap, sync::Arc};

use tokio::task::JoinSet;

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

    /// Sends a command with `keys`. On a cluster node, sends one command for each slot, and leaves out keys of other
    /// nodes.
    async fn each(&self, command: &'static str, keys: &[Vec<u8>]) -> Result<CountResult, ServerError> {
        let Some(slots) = &self.slots else {
            let there = self.wire.of_keys(command, keys).await?;
            return Ok(CountResult { looked_for: keys.len() as u64, there });
        };
        let mut by_slot: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for key in keys.iter().filter(|key| self.holds(key)) {
            by_slot.entry(key_slot(key)).or_default().push(key.clone());
        }
        let mut commands = JoinSet::new();
        for (slot, keys) in by_slot {
            let (wire, slots) = (self.wire.clone(), Arc::clone(slots));
            commands.spawn(async move { of_slot(&wire, &slots, command, (slot, &keys)).await });
        }
        commands.join_all().await.into_iter().sum()
    }
}

/// Sends a command with keys of one slot. While the slot is being moved, a command is sent for each key.
async fn of_slot(
    wire: &RedisSender,
    slots: &Slots,
    command: &'static str,
    (slot, keys): (u16, &[Vec<u8>]),
) -> Result<CountResult, ServerError> {
    let is_arriving = keys.first().is_some_and(|key| slots.is_arriving(key));
    if !is_arriving && !slots.is_leaving(slot) {
        match wire.of_keys(command, keys).await {
            Err(error) if is_moved(&error) => {}
            there => return Ok(CountResult { looked_for: keys.len() as u64, there: there? }),
        }
    }
    let wire = if is_arriving { wire.asking() } else { wire.clone() };
    let mut found = CountResult { looked_for: keys.len() as u64, there: 0 };
    for key in keys {
        match wire.of_keys(command, std::slice::from_ref(key)).await {
            Err(error) if is_moved(&error) => found.looked_for -= 1,
            // A key that was not found may still be on the other node.
            Ok(0) if is_arriving => found.looked_for -= 1,
            there => found.there += there?,
        }
    }
    Ok(found)
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
        self.wire.dbsize().await
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
