//! The command lines and outputs of other tools, so that scripts which call these tools or read their output keep working.
//!
//! | tool | is called as | where |
//! |---|---|---|
//! | redis-cli | `redyno --latency` and its like | [`redis_cli`] |
//! | redis-benchmark, valkey-benchmark | `redyno bench`, or a link of one of these names | [`redis_benchmark`] |
//! | memtier_benchmark | `redyno memtier`, or a link of that name | [`memtier`] |
//!
//! What the stand-ins for benchmarks share lies here: the tables of options, the server that these mean, words of a foreign
//! command as those of a step, the run of a load by itself to its end, and why it may end before.

mod help;
pub mod memtier;
mod options;
pub mod redis_benchmark;
pub mod redis_cli;
mod run;
mod server;
mod stop;
mod words;

use help::{listed, wrapped};
use options::{Choice, Refusal, Takes, flag, value};
use run::to_its_end;
use server::{Server, place, plain, without_number, without_step};
use stop::Stop;
use words::escaped;
