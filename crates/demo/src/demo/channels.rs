//! The clients of the built-in server that wait. A client can wait for messages of a channel, for an entry of a stream
//! or a list, or for changes of keys.

use std::collections::{BTreeMap, BTreeSet};

/// The clients of each channel or key.
type Subscribers = BTreeMap<Vec<u8>, BTreeSet<usize>>;

/// The subscribers of each channel, and the messages that are not yet in the output for a client.
#[derive(Debug, Default)]
pub struct Channels {
    subscribers: Subscribers,
    /// The subscribers of sharded channels. A sharded channel is independent of a normal channel with the same name.
    sharded: Subscribers,
    /// The subscribers of patterns of normal channels.
    patterns: Subscribers,
    /// The encoded messages, each with the client that will receive the message.
    pub posted: Vec<(usize, Vec<u8>)>,
}

impl Channels {
    /// Removes a client that has disconnected.
    pub fn leave(&mut self, client: usize) {
        leave(&mut self.subscribers, client);
        leave(&mut self.sharded, client);
        leave(&mut self.patterns, client);
    }

    /// Returns the subscribers of channels of this kind.
    pub fn of(&mut self, kind: ChannelKind) -> &mut Subscribers {
        match kind {
            ChannelKind::Normal => &mut self.subscribers,
            ChannelKind::Sharded => &mut self.sharded,
            ChannelKind::Pattern => &mut self.patterns,
        }
    }
}

/// The kind of channel to which a client subscribes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelKind {
    /// A channel of PUBLISH.
    Normal,
    /// A channel of SPUBLISH.
    Sharded,
    /// All normal channels whose names match a pattern.
    Pattern,
}

/// The clients that wait for a key.
#[derive(Debug, Default)]
pub struct Waiting {
    clients: Subscribers,
    /// The waiting clients whose key has received an entry.
    pub woken: BTreeSet<usize>,
}

impl Waiting {
    /// Adds a client that waits for this key.
    pub fn add(&mut self, key: &[u8], client: usize) {
        self.clients.entry(key.to_vec()).or_default().insert(client);
    }

    /// Wakes the clients that wait for this key. The caller has added an entry to the key.
    pub fn wake(&mut self, key: &[u8]) {
        self.woken.extend(self.clients.remove(key).into_iter().flatten());
    }

    /// Wakes the clients that wait for certain keys. `is_meant` selects these keys.
    pub fn wake_all(&mut self, is_meant: impl Fn(&[u8]) -> bool) {
        let keys = self.clients.extract_if(.., |key, _| is_meant(key));
        self.woken.extend(keys.flat_map(|(_, clients)| clients));
    }

    /// Removes a client that has disconnected.
    pub fn leave(&mut self, client: usize) {
        leave(&mut self.clients, client);
    }
}

/// The clients with CLIENT TRACKING, which are notified of changes of keys.
#[derive(Debug, Default)]
pub struct Tracking {
    /// The tracking clients, each with a prefix. A client tracks all keys with this prefix. A client without a prefix
    /// (`None`) tracks the keys that it has read.
    pub clients: BTreeMap<usize, Option<Vec<u8>>>,
    /// For each key, the clients that have read the key since its last change.
    readers: Subscribers,
}

impl Tracking {
    /// Records that a client has read this key.
    pub fn read(&mut self, key: &[u8], client: usize) {
        if self.clients.get(&client) == Some(&None) {
            self.readers.entry(key.to_vec()).or_default().insert(client);
        }
    }

    /// Returns the clients that must be notified of a change of this key.
    pub fn write(&mut self, key: &[u8]) -> BTreeSet<usize> {
        let is_meant =
            |prefix: &Option<Vec<u8>>| prefix.as_ref().is_some_and(|prefix| key.starts_with(prefix));
        let all = self.clients.iter().filter(|(_, prefix)| is_meant(prefix)).map(|(client, _)| *client);
        all.chain(self.readers.remove(key).into_iter().flatten()).collect()
    }

    /// Returns all tracking clients. The caller must notify these clients that all keys were removed.
    pub fn clear(&mut self) -> Vec<usize> {
        self.readers.clear();
        self.clients.keys().copied().collect()
    }

    /// Removes a client that has disconnected.
    pub fn leave(&mut self, client: usize) {
        if self.clients.remove(&client).is_some() {
            leave(&mut self.readers, client);
        }
    }
}

fn leave(all: &mut Subscribers, client: usize) {
    all.retain(|_, clients| {
        clients.remove(&client);
        !clients.is_empty()
    });
}
