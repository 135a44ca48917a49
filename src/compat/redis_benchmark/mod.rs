//! `redyno bench`: a drop-in for redis-benchmark and valkey-benchmark, also through a link with one of these names.
//! Scripts that read the output must not notice a difference, and the server must not notice one either: redyno sends
//! nothing except the load, and it neither queries, marks, probes nor cleans up anything.
//!
//! ```text
//! argv ─► parse (options: the table) ─► Asked ─► tests (catalogue, or custom) ─► Alone, one after the other ─► layout
//!                                         └─► server_config: CONFIG GET, on a connection of its own
//! ```
//! The deliberate differences stand below the options in `options.txt`, which `--help` prints.

mod catalogue;
mod idle;
mod layout;
mod masters;
mod options;
mod parse;
mod run;
mod server_config;
mod words;

pub use self::options::OPTIONS;
pub use self::parse::Flavour;
pub(super) use self::run::run;
