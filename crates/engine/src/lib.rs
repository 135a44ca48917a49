//! The load engine of redyno, and the modules that it needs: quantities, statistics, protocols, workloads,
//! load settings and probes.
//!
//! The documentation of the top-level package `redyno` has an overview of all modules.

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
