//! `redyno bench`: a drop-in for redis-benchmark and valkey-benchmark, also when it is started through a link of one of
//! these names. Scripts that read their output must not notice the difference, nor must the server: nothing is asked,
//! marked, probed or cleaned up beside the load.
//!
//! ```text
//! argv ─► parse (options: the table) ─► Asked ─► tests (catalogue, or custom) ─► Alone, one after the other ─► layout
//!                                         └─► server_config: CONFIG GET, on a connection of its own
//! ```
//! What is deliberately different stands in [`DEVIATIONS`], which `--help` prints.

mod catalogue;
mod layout;
mod options;
mod parse;
mod run;
mod server_config;
mod words;

pub use self::options::{DEVIATIONS, options};
pub use self::parse::Flavour;
pub(super) use self::run::run;
