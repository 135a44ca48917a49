//! The command line: one file per command; arguments become a plan, and nothing is measured here.

mod ab;
pub mod args;
pub mod bench;
pub mod clean;
pub mod demo;
mod drop_in;
mod effect;
pub mod experiment_args;
mod failure;
pub mod headless;
pub mod lines;
pub mod load_args;
pub mod look_args;
mod man;
pub mod memtier;
pub mod oneshot;
pub mod oneshot_args;
pub mod outlet;
mod outlook;
pub mod replay;
mod run;
mod series;
pub mod session;
pub mod session_args;
pub mod target_args;
pub mod tls_args;
mod values;
mod verify;
mod versus;
pub mod words;
mod workloads;

pub use failure::{Failure, UsageError};
pub use run::{refusal, run};
