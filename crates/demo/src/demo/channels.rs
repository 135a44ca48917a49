//! The subscribers of channels.

use std::collections::{BTreeMap, BTreeSet};

/// The clients of each channel.
type Subscribers = BTreeMap<Vec<u8>, BTreeSet<usize>>;

/// The subscribers of each channel, and the messages that are not in their clients' output yet.
#[derive(Debug, Default)]
pub struct Channels {
    subscribers: Subscribers,
    /// Those of sharded channels, which are others of the same names.
    sharded: Subscribers,
    /// The encoded messages, each with its client.
    pub posted: Vec<(usize, Vec<u8>)>,
}

impl Channels {
    /// Removes a client that has disconnected.
    pub fn leave(&mut self, client: usize) {
        for channels in [&mut self.subscribers, &mut self.sharded] {
            channels.retain(|_, clients| {
                clients.remove(&client);
                !clients.is_empty()
            });
        }
    }

    /// Returns the subscribers of sharded channels, or of the others.
    pub fn of(&mut self, is_sharded: bool) -> &mut Subscribers {
        if is_sharded { &mut self.sharded } else { &mut self.subscribers }
    }
}
