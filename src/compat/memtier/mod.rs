//! `redyno memtier`: a stand-in for memtier_benchmark, also when it is started through a link of that name. It takes its
//! command line, and writes its table and its JSON, so that scripts and dashboards that read these keep working; the server
//! is asked for nothing beside the load, and nothing is marked or cleaned up on it.
//!
//! ```text
//! argv ─► parse (options: the table; absent: what is not there) ─► Asked ─► requests ─► Alone, run after run ─► Results
//!                                                                                 layout: progress, table, JSON ◄─┘
//! ```
//! What is deliberately different stands in [`DEVIATIONS`], which `--help` prints.

mod absent;
mod args;
mod asked;
mod command;
mod effect;
mod help;
mod layout;
mod numbers;
mod options;
mod parse;
mod requests;
mod run;

pub use args::MemtierArgs;
pub use help::{DEVIATIONS, entries};
pub use run::{called, run};
