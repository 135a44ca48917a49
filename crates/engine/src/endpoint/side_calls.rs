//! Counts redyno's own connections and commands beside the load. redyno subtracts these connections and commands from
//! the server's figures, so that the figures contain only other clients. The commands of the control plane are counted
//! elsewhere. The control plane is the part that polls the server with INFO.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::Address;
use crate::untrusted;

/// The largest number of servers whose calls are counted.
const MOST_SERVERS: usize = 1024;

/// The counts of redyno's connections and commands beside the load, for each server. Clones share their counts. Two
/// values of this type are always equal, so two targets are equal even if these counts differ.
#[derive(Debug, Clone, Default)]
pub struct SideCalls(Arc<Mutex<SideCounts>>);

#[derive(Debug, Default)]
struct SideCounts {
    calls: BTreeMap<String, BTreeMap<String, u64>>,
    open: BTreeMap<String, u64>,
}

/// A connection that counts as open until this value is dropped.
pub(crate) struct OpenConnection {
    of: SideCalls,
    server: String,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut counts = self.of.0.lock();
        if let Some(open) = counts.open.get_mut(&self.server) {
            *open -= 1;
        }
        counts.open.retain(|_, open| *open > 0);
    }
}

impl SideCalls {
    /// Counts a command to the server at `address`.
    pub(super) fn count(&self, address: &Address, words: &[&[u8]]) {
        // A word that is no subcommand does no harm: the server's statistics have no such name.
        let name = words.iter().take(2).map(|word| untrusted::bytes(word).to_lowercase()).collect::<Vec<_>>();
        let (server, mut counts) = (address.to_string(), self.0.lock());
        let calls = &mut counts.calls;
        // A cluster whose nodes always have new addresses must not fill the memory.
        if calls.len() < MOST_SERVERS || calls.contains_key(&server) {
            *calls.entry(server).or_default().entry(name.join("|")).or_default() += 1;
        }
    }

    /// Returns the calls on the server at `address` since the previous call of this function. A name consists of the
    /// command and its first argument: `cluster|slots`.
    pub fn take(&self, address: &Address) -> BTreeMap<String, u64> {
        self.0.lock().calls.remove(&address.to_string()).unwrap_or_default()
    }

    /// Counts a connection to the server at `address` as open, until the returned value is dropped.
    pub(crate) fn opened(&self, address: &Address) -> OpenConnection {
        let server = address.to_string();
        *self.0.lock().open.entry(server.clone()).or_default() += 1;
        OpenConnection { of: self.clone(), server }
    }

    /// Returns the number of connections to the server at `address` that are open now.
    pub fn open(&self, address: &Address) -> u64 {
        self.0.lock().open.get(&address.to_string()).copied().unwrap_or_default()
    }
}

impl PartialEq for SideCalls {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SideCalls {}
