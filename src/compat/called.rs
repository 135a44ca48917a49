//! How stand-ins are called: as a command of redyno, whose words are taken as they are since its options are not ours, or
//! through a link that has the tool's name.

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::Args;

use super::{
    memtier,
    redis_benchmark::{self, Flavour},
};

/// The words behind `bench`.
#[derive(Args, Debug, Clone)]
pub struct BenchArgs {
    /// Options, then a command of your own, or none: redyno bench --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS] [COMMAND ARGS")]
    pub words: Vec<OsString>,
}

/// The words behind `memtier`.
#[derive(Args, Debug, Clone)]
pub struct MemtierArgs {
    /// memtier_benchmark's options: redyno memtier --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub words: Vec<OsString>,
}

/// Runs the stand-in that a command line calls, if it calls one, and says so itself if that fails.
pub fn stand_in(args: &[OsString]) -> Option<ExitCode> {
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
