//! Counts the commands of redyno's side connections, which belong neither to the load nor to the control
//! plane (the part that polls the server's own figures). The figures of other clients leave these commands
//! out.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::Address;
use crate::untrusted;

/// The largest number of servers whose calls are counted.
const MOST_SERVERS: usize = 1024;

/// The commands that [`Talk`](super::Talk)s have sent, by server. Clones share their counts. Any two values
/// compare as equal, so that two targets which differ only in these counts are the same target.
#[derive(Debug, Clone, Default)]
pub struct SideCalls(Arc<Mutex<CallsByServer>>);

type CallsByServer = BTreeMap<String, BTreeMap<String, u64>>;

impl SideCalls {
    /// Counts a command to the server at `address`.
    pub(super) fn count(&self, address: &Address, words: &[&[u8]]) {
        // A word that is no subcommand does no harm: the server's statistics have no such name.
        let name = words.iter().take(2).map(|word| untrusted::bytes(word).to_lowercase()).collect::<Vec<_>>();
        let (server, mut calls) = (address.to_string(), self.0.lock());
        // A cluster whose nodes always have new addresses must not fill the memory.
        if calls.len() < MOST_SERVERS || calls.contains_key(&server) {
            *calls.entry(server).or_default().entry(name.join("|")).or_default() += 1;
        }
    }

    /// Returns the calls on the server at `address` since the previous call of this function. A name consists of the
    /// command and its first argument: `cluster|slots`.
    pub fn take(&self, address: &Address) -> BTreeMap<String, u64> {
        self.0.lock().remove(&address.to_string()).unwrap_or_default()
    }
}

impl PartialEq for SideCalls {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SideCalls {}
