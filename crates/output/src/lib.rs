//! What people see of a session of redyno: printed lines, reports, the outputs of other tools, and the state of the
//! screen.
//!
//! The documentation of `redyno`, the top-level package, has an overview of all modules.

#[cfg(test)]
use redyno_engine::host;
use redyno_engine::{
    clock, endpoint, events, gauge, knobs, load, probe, protocol, signals, stats, units, untrusted, workload,
};
use redyno_session::{compare, diagnose, experiment, export, server, session};

pub mod app;
pub mod compat;
pub mod print;
pub mod report;
