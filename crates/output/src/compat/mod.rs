//! Imitates the command lines and outputs of other tools, so that scripts for these tools keep working.
//!
//! | tool | is started as | module |
//! |---|---|---|
//! | redis-cli | `redyno --latency` and similar modes | [`redis_cli`] |
//! | redis-benchmark, valkey-benchmark | `redyno bench`, or a link of one of these names | [`redis_benchmark`] |
//! | memtier_benchmark | `redyno memtier`, or a link of that name | [`memtier`] |
//!
//! clap parses the options. redis-cli's options are parsed together with redyno's own options. The benchmarks have
//! their own parsers (`options`), because they have other texts about a refused command line. The runs of the imitated
//! benchmarks are not sessions. redyno sends to the server only the load and the few requests that the original tools
//! also send, such as CONFIG GET.

mod imitated_commands;
pub mod memtier;
mod numbers;
mod options;
pub mod redis_benchmark;
pub mod redis_cli;
mod run;
mod server;

pub use self::{
    imitated_commands::run_imitated_tool, memtier::MemtierOptions, redis_benchmark::BenchOptions,
};
