//! `redyno memtier`: a replacement for memtier_benchmark. It can also be started through a link with that
//! name. It accepts the command line of memtier_benchmark, and writes the same table and JSON. So scripts and
//! dashboards that read the output keep working. redyno sends only the load to the server. It writes no
//! marker key, and removes nothing.
//!
//! ```text
//! argv ─► parse (with clap) ─► MemtierOptions ─► requests ─► Memtier, run after run ─► Results
//!                                                                                                     │
//!                                                                    layout: progress, table, JSON ◄──┘
//! ```
//! `options` describes the options and, below them, the deliberate differences. `--help` prints all of it.

mod command;
mod configuration;
mod files;
mod import;
mod layout;
mod load;
mod monitor;
mod option_values;
mod options;
mod parse;
mod prometheus;
mod requests;
mod retries;
mod run;
mod statsd;

pub use self::options::MemtierOptions;
pub(super) use self::run::run;
