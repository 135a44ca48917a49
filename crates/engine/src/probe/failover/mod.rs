//! Detects failovers and measures how long they last.
//!
//! ```text
//! an outage of a primary, or another owner of its slots ─► search: every 20 ms, a read of a key in these slots, from
//!                                                          the owner or a replica ─► the first good reply ─► event
//! an outage of a server with a name, or with Sentinels  ─► search: the name's address, a PING to it
//! ```
//! The length of a failover is counted from the due time of the first lost or unanswered request. This request can
//! belong to the ping probe, or to a load that [reports](crate::endpoint::NodeOutages) its lost requests.

mod bus;
mod owners;
mod probe;
mod search;

pub use probe::{FailoverPlan, FailoverProbe};
