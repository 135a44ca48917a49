//! `redyno memtier`: a stand-in for memtier_benchmark, also when it is started through a link of that name. It takes its
//! command line, and writes its table and its JSON, so that scripts and dashboards that read these keep working; the server
//! is asked for nothing beside the load, and nothing is marked or cleaned up on it.
//!
//! ```text
//! argv ─► parse (options: the table; take: what each sets) ─► Asked ─► requests ─► Alone, run after run ─► Results
//!                                                                                 layout: progress, table, JSON ◄─┘
//! ```
//! What is deliberately different stands in [`DEVIATIONS`], which `--help` prints.

mod asked;
mod command;
mod layout;
mod options;
mod parse;
mod requests;
mod run;
mod take;

pub use self::options::{DEVIATIONS, options};
pub(super) use self::run::run;
