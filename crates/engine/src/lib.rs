//! The load engine of redyno, and what it stands on: quantities, statistics, protocols, workloads, knobs, probes.
//!
//! The map of all rooms is in `redyno`, the package at the top.

pub mod clock;
pub mod endpoint;
pub mod events;
pub mod gauge;
pub mod host;
pub mod knobs;
pub mod load;
pub mod probe;
pub mod protocol;
pub mod signals;
pub mod stats;
pub mod units;
pub mod untrusted;
pub mod workload;
