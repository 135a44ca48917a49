//! Detects failovers and measures how long they last.
//!
//! ```text
//! an outage of a primary, or another owner of its slots ─► search: every 20 ms, a read of a key in these slots, from
//!                                                          the owner or a replica ─► the first good reply ─► event
//! an outage of a server with a name, or with Sentinels  ─► search: the name's address, a PING to it
//! ```
//! A failover begins at the due time of the first request that was lost or got no reply. The request can be a request
//! of the ping probe, or a request of a load that [reports](crate::endpoint::NodeOutages) its lost requests.

mod bus;
mod owners;
mod probe;
mod search;

pub use probe::{FailoverPlan, FailoverProbe};

/// The time between two tries of a search, and between two questions about a failover: 20 ms.
const EVERY: std::time::Duration = std::time::Duration::from_millis(20);
