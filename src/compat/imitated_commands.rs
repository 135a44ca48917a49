//! The two ways to start the imitation of another tool: as a command of redyno with the tool's options
//! (`redyno bench`), or through a link with the tool's name.

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::Args;

use super::{
    memtier,
    redis_benchmark::{self, Flavour},
};

/// The arguments after `bench`.
#[derive(Args, Debug, Clone)]
pub struct BenchArgs {
    /// Options, then a command of your own, if any; see 'redyno bench --help'
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS] [COMMAND ARGS")]
    pub words: Vec<OsString>,
}

/// The arguments after `memtier`.
#[derive(Args, Debug, Clone)]
pub struct MemtierArgs {
    /// memtier_benchmark's options; see 'redyno memtier --help'
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub words: Vec<OsString>,
}

/// Runs the imitated tool, if the command line names one. The tool prints its own errors.
pub fn run_imitated_tool(args: &[OsString]) -> Option<ExitCode> {
    let (program, words) = args.split_first()?;
    let link = Path::new(program).file_name().and_then(|name| name.to_str());
    let command = words.split_first().and_then(|(first, rest)| Some((first.to_str()?, rest)));
    match (link, command) {
        (Some("redis-benchmark"), _) => Some(redis_benchmark::run(Flavour::Redis, words)),
        (Some("valkey-benchmark"), _) => Some(redis_benchmark::run(Flavour::Valkey, words)),
        (Some(link @ "memtier_benchmark"), _) => Some(memtier::run(link, words)),
        (_, Some(("bench", words))) => Some(redis_benchmark::run(Flavour::Redyno, words)),
        (_, Some(("memtier", words))) => Some(memtier::run("redyno memtier", words)),
        _ => None,
    }
}
