//! A cluster of built-in servers in one process. Each node is a server with its own thread and port. A primary and its
//! replicas form a shard and share its data. The nodes need no cluster bus, because all nodes read the same layout.
//!
//! ```text
//! node ─► shard: lock, data ─► layout: whose slot? ─► command, or MOVED, ASK, TRYAGAIN, CROSSSLOT, CLUSTERDOWN
//! conductor ─► the faults of the whole cluster: a reshard, a failover
//! ```
//! A node holds the lock of its shard while it runs a command. The owner of a slot changes only under the locks of both
//! shards, so no command runs during this change.

mod layout;
mod member;
mod shard;

pub use self::layout::{ClusterLayout, Node};
pub use self::member::{ClientFlags, Member, SlotUse};
pub use self::shard::ClusterData;
