//! `redyno bench` is a replacement for redis-benchmark and valkey-benchmark. A link with one of these names starts it
//! as well. Scripts that read the output must not notice a difference. The server must not notice a difference either.
//! redyno sends only the load and the few requests that the original benchmark also sends, such as CONFIG GET. redyno
//! writes no marker key, sends no probes, and removes nothing at the end.
//!
//! ```text
//! argv ─► parse (with options) ─► BenchOptions ─► tests (catalogue) ─► loads, one after the other ─► layout
//!                                    └─► server_config: CONFIG GET, on a connection of its own
//! ```
//! `options` describes the options and, below them, the deliberate differences. `--help` prints all these texts.

mod catalogue;
mod command_steps;
mod idle;
mod layout;
mod masters;
mod options;
mod parse;
mod run;
mod server_config;

pub use self::options::BenchOptions;
pub use self::parse::Flavour;
pub(super) use self::run::run;
