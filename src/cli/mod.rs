//! The command line: one file per command; arguments become a plan, and nothing is measured here.

mod ab;
pub mod args;
pub mod clean;
pub mod compare;
mod completions;
pub mod demo;
mod effect;
pub mod experiment_args;
pub mod export;
pub mod load_args;
pub mod look_args;
mod man;
mod outlook;
mod reading;
pub(crate) mod recordings;
pub mod replay;
pub mod report;
mod run;
pub(crate) mod series;
pub mod session_args;
pub mod target_args;
pub mod tls_args;
mod topics;
mod values;
mod verify;
mod versus;
mod workloads;

pub use run::{refusal, run};

pub use crate::{
    print::{lines, outlet, printer as headless, words},
    runner::{self as session, Failure, UsageError, metrics},
};
