//! A session of redyno: the polls of the server, the records of measurements, findings, exports, comparisons
//! and experiments.
//!
//! The documentation of `redyno`, the top-level package, has an overview of all modules.

use redyno_engine::{
    clock, endpoint, events, gauge, host, knobs, load, probe, protocol, signals, stats, units, untrusted,
    workload,
};

#[cfg(test)]
use redyno_demo::demo;

pub mod compare;
pub mod diagnose;
pub mod experiment;
pub mod export;
pub mod fleet;
pub mod server;
pub mod session;
