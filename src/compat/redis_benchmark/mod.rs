//! `redyno bench`: a drop-in for redis-benchmark and valkey-benchmark, also when it is started through a link of one of
//! these names. Scripts that read their output must not notice the difference, nor must the server: nothing is asked,
//! marked, probed or cleaned up beside the load.
//!
//! ```text
//! argv ─► parse (options: the table) ─► Asked ─► tests (catalogue, or custom) ─► Alone, one after the other ─► layout
//!                                         └─► server_config: CONFIG GET, on a connection of its own
//! ```
//! What is deliberately different stands in [`DEVIATIONS`], which `--help` prints.

mod asked;
mod catalogue;
mod custom;
mod flavour;
mod help;
mod idle;
mod layout;
mod options;
mod parse;
mod payload;
mod run;
mod server_config;
mod suite;
mod words;

pub use flavour::Flavour;
pub use help::{DEVIATIONS, options};
pub(super) use run::run;
