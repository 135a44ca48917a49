//! The subscribers of channels.

use std::collections::{BTreeMap, BTreeSet};

/// The subscribers of each channel, and the messages that are not in their clients' output yet.
#[derive(Debug, Default)]
pub struct Channels {
    pub subscribers: BTreeMap<Vec<u8>, BTreeSet<usize>>,
    /// The encoded messages, each with its client.
    pub posted: Vec<(usize, Vec<u8>)>,
}

impl Channels {
    /// Removes a client that has disconnected.
    pub fn leave(&mut self, client: usize) {
        self.subscribers.retain(|_, clients| {
            clients.remove(&client);
            !clients.is_empty()
        });
    }
}
