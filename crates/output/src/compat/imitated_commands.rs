//! The two ways to imitate another tool: a command of redyno with the tool's options (`redyno bench`), or a link with
//! the tool's name.

use std::{ffi::OsString, path::Path, process::ExitCode};

use super::{
    memtier,
    redis_benchmark::{self, Flavour},
};

/// Runs the imitated tool, if the command line names one. The tool prints its own errors.
pub fn run_imitated_tool(args: &[OsString]) -> Option<ExitCode> {
    let (program, words) = args.split_first()?;
    let link = Path::new(program).file_name().and_then(|name| name.to_str());
    let command = words.split_first().and_then(|(first, rest)| Some((first.to_str()?, rest)));
    match (link, command) {
        (Some("redis-benchmark"), _) => Some(redis_benchmark::run(Flavour::Redis, words)),
        (Some("valkey-benchmark"), _) => Some(redis_benchmark::run(Flavour::Valkey, words)),
        (Some("memtier_benchmark"), _) => Some(memtier::run("memtier_benchmark", words)),
        (_, Some(("bench", words))) => Some(redis_benchmark::run(Flavour::Redyno, words)),
        (_, Some(("memtier", words))) => Some(memtier::run("redyno memtier", words)),
        _ => None,
    }
}
