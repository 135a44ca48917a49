//! Notices failovers and measures how long they last.
//!
//! ```text
//! a lull of a primary, or another owner of its slots ─► search: every 20 ms one read of a key of its slots, from
//!                                                       the owner or a replica ─► the first good reply ─► event
//! a lull of a server with a name, or with Sentinels  ─► search: the name's address, a PING to it
//! ```
//! The length counts from when the first request that was lost or stayed unanswered was due. Requests of the ping probe
//! count, and those of a load that [reports](crate::endpoint::Lulls) them.

mod bus;
mod owners;
mod probe;
mod search;

pub use probe::{FailoverPlan, FailoverProbe};
