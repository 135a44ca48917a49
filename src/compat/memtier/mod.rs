//! `redyno memtier`: a replacement for memtier_benchmark, also through a link with that name. `redyno memtier` accepts
//! the command line of memtier_benchmark, and writes the same table and JSON, so scripts and dashboards that read the
//! table or the JSON keep working. redyno sends only the load to the server, and does not mark or clean up anything
//! there.
//!
//! ```text
//! argv ─► parse (with options and take) ─► MemtierOptions ─► requests ─► Memtier, run after run ─► Results
//!                                                                                                     │
//!                                                                    layout: progress, table, JSON ◄──┘
//! ```
//! `options.txt` lists the options and, below the options, the deliberate differences; `--help` prints the whole list.

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
mod take;

pub use self::options::OPTIONS;
pub(super) use self::run::run;
