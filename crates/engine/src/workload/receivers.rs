//! The receivers of a workload: connections that receive the messages of its operations, such as subscribers
//! of channels.
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

/// The table `[receivers]` of a workload: connections that receive the messages of the operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receivers {
    /// How the receivers get messages.
    pub kind: ReceiverKind,
    /// The name of the set of keys that contains the channels, queues, streams or watched keys.
    pub keys: String,
    /// The number of receivers.
    #[serde(deserialize_with = "quantity")]
    pub count: u32,
    /// The name of the set of keys that contains the second queues. Only receivers of the kind `move` use this set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// How receivers get messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverKind {
    /// SUBSCRIBE to channels.
    Pubsub,
    /// SSUBSCRIBE to sharded channels.
    ShardedPubsub,
    /// BLPOP from queues.
    Queue,
    /// BLMOVE from queues to second queues. After its receipt, a message is removed from the second queue.
    Move,
    /// XREAD BLOCK. Every receiver of a stream gets every entry.
    Stream,
    /// XREADGROUP BLOCK and XACK. Exactly one receiver of the stream gets each entry. XAUTOCLAIM takes over the entries
    /// of a lost receiver.
    Group,
    /// CLIENT TRACKING. Each key has one receiver, which reads the key again after each invalidation.
    Tracking,
    /// CLIENT TRACKING with BCAST and PREFIX. Every receiver gets the invalidations of all keys.
    Broadcast,
    /// PSUBSCRIBE to keyspace notifications. Every receiver gets the notifications of all keys.
    Keyspace,
}

impl ReceiverKind {
    /// Returns whether the receivers of a key share its messages. If they share the messages, exactly one of the
    /// receivers gets each message.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Queue | Self::Move | Self::Group)
    }

    /// Returns whether each receiver gets all messages of its channels.
    pub(crate) fn has_own_copy(self) -> bool {
        !self.is_shared() && !self.is_of_keys()
    }

    /// Returns whether receivers get only the name of the written key, and not the message.
    pub fn is_of_keys(self) -> bool {
        matches!(self, Self::Tracking | Self::Broadcast | Self::Keyspace)
    }

    /// Returns whether the receivers can follow channels or keys through a cluster.
    pub fn is_for_clusters(self) -> bool {
        !self.is_of_keys() && self != Self::Move
    }

    /// Returns whether the server stores messages for receivers that connect later.
    pub fn is_kept(self) -> bool {
        self.is_shared() || self == Self::Stream
    }
}
