//! The command lines and outputs of other tools: scripts that run these tools or read their output keep working.
//!
//! | tool | is started as | where |
//! |---|---|---|
//! | redis-cli | `redyno --latency` and its like | [`redis_cli`] |
//! | redis-benchmark, valkey-benchmark | `redyno bench`, or a link of one of these names | [`redis_benchmark`] |
//! | memtier_benchmark | `redyno memtier`, or a link of that name | [`memtier`] |
//!
//! redis-cli's options are parsed by clap, together with redyno's own. The benchmarks parse their arguments in ways
//! that clap does not support, with error texts of their own: the text of each one's help is its table of options, and
//! one parser (`options`) serves both. The runs of the imitated benchmarks are not sessions: redyno sends nothing to the
//! server except the load.

mod called;
pub mod memtier;
mod numbers;
mod options;
pub mod redis_benchmark;
pub mod redis_cli;
mod run;
mod server;

pub use self::called::{BenchArgs, MemtierArgs, stand_in};
