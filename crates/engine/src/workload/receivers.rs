//! The receivers of a workload: connections that wait for what its operations send.
//!
//! ```text
//!  [receivers]                 clients ── PUBLISH {channel} "{stamp}…" ──► server ──► 10 receivers
//!  kind = "pubsub"                          number, time and key               the same stamp, read again
//!  keys = "channel"
//!  count = 10
//! ```

use serde::{Deserialize, Serialize};

use super::quantity::quantity;

/// The largest number of receivers.
pub const MAX_RECEIVERS: u32 = 20_000;

/// Connections that wait for what the operations send, in the `[receivers]` table of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receivers {
    /// How they receive.
    pub kind: ReceiverKind,
    /// The name of the set of keys that are the channels, queues, streams, or watched keys.
    pub keys: String,
    /// How many there are.
    #[serde(deserialize_with = "quantity")]
    pub count: u32,
    /// The name of the set of keys that are the second queues; only the kind `move` uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// How receivers receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverKind {
    /// SUBSCRIBE to channels.
    Pubsub,
    /// SSUBSCRIBE to sharded channels.
    ShardedPubsub,
    /// BLPOP from queues.
    Queue,
    /// BLMOVE from queues to other queues, from which a message is removed after its receipt.
    Move,
    /// XREAD BLOCK: every receiver of a stream gets every entry.
    Stream,
    /// XREADGROUP BLOCK and XACK: one receiver of a stream gets an entry. XAUTOCLAIM takes over what a lost one left.
    Group,
    /// CLIENT TRACKING on: each key is read by one receiver, and again after each invalidation.
    Tracking,
    /// CLIENT TRACKING on BCAST PREFIX: every receiver gets the invalidations of all keys.
    Broadcast,
    /// PSUBSCRIBE to the notifications of keys: every receiver gets those of all keys.
    Keyspace,
}

impl ReceiverKind {
    /// Returns whether the server removes what one receiver got, so that the receivers of a key share its messages.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Queue | Self::Move | Self::Group)
    }

    /// Returns whether each receiver gets all messages of its channels.
    pub(crate) fn has_own_copy(self) -> bool {
        !self.is_shared() && !self.is_of_keys()
    }

    /// Returns whether receivers get only the key that was written, and not the message.
    pub fn is_of_keys(self) -> bool {
        matches!(self, Self::Tracking | Self::Broadcast | Self::Keyspace)
    }

    /// Returns whether the server keeps messages for receivers that come later.
    pub fn is_kept(self) -> bool {
        self.is_shared() || self == Self::Stream
    }
}
