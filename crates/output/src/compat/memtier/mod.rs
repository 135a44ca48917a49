//! `redyno memtier` is a replacement for memtier_benchmark. A link with the name memtier_benchmark starts it as well.
//! redyno then accepts the command line of memtier_benchmark, and writes the same table and JSON. Scripts and
//! dashboards that read the output therefore keep working. redyno sends only the load to the server. redyno writes no
//! marker key, and removes nothing.
//!
//! ```text
//! argv ─► parse (with clap) ─► MemtierOptions ─► requests ─► Memtier, run after run ─► Results
//!                                                                                                     │
//!                                                                    layout: progress, table, JSON ◄──┘
//! ```
//! `options` describes the options and, below them, the deliberate differences. `--help` prints all these texts.

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
