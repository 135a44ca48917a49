//! The command lines and outputs of other tools, so that scripts which call these tools or read their output keep working.
//!
//! | tool | is called as | where |
//! |---|---|---|
//! | redis-cli | `redyno --latency` and its like | [`redis_cli`] |
//! | redis-benchmark, valkey-benchmark | `redyno bench`, or a link of one of these names | [`redis_benchmark`] |
//! | memtier_benchmark | `redyno memtier`, or a link of that name | [`memtier`] |
//!
//! redis-cli's options are read with redyno's own by clap. The benchmarks read their words in ways that clap has not, with
//! error texts of their own: one table of options and one reader (`options`) serve them. A plan is made of what was asked for,
//! and runs by itself: the server is asked for nothing beside the load.

mod called;
pub mod memtier;
mod numbers;
mod options;
pub mod redis_benchmark;
pub mod redis_cli;
mod run;
mod server;
mod words;

pub use self::called::{BenchArgs, MemtierArgs, stand_in};
