//! A session of redyno: the control plane, records, findings, exports, comparisons and experiments.
//!
//! The documentation of `redyno`, the package at the top, lists the modules of all packages.

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
