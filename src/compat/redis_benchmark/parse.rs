//! Parses a command line as redis-benchmark or valkey-benchmark does. The *flavour* is which of the two
//! redyno imitates.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, path::PathBuf, time::Duration};

use super::options;
use crate::{
    compat::{
        options::{Availability, OptionReader, OptionRefusal, ParsingStyle},
        run::PrintedText,
        server::ServerOptions,
    },
    endpoint::ReadFrom,
    knobs::{MAX_CLIENTS, MAX_PIPELINE},
    load::LatencyTo,
    protocol::Dialect,
};

/// Reads the arguments after the name of the program.
///
/// # Errors
/// Returns the text to print if the arguments are invalid or request no run.
pub(super) fn parse(flavour: Flavour, words: &[OsString]) -> Result<BenchOptions, PrintedText> {
    let mut options = BenchOptions::usual();
    let habit = ParsingStyle::Command { ends_with_dashes: flavour != Flavour::Redis };
    let read = OptionReader::new(habit, options::options(flavour), words)
        .read(|given| options.take(given.choice.name(), &given.value));
    let (out, last, code) = match read {
        Ok(command) => match options.check() {
            Ok(()) => {
                options.command = command.iter().map(|word| word.as_bytes().to_vec()).collect();
                return Ok(options);
            }
            Err(line) => (String::new(), Some(line), 1),
        },
        Err(OptionRefusal::Help) => (options::usage(flavour), None, 0),
        Err(OptionRefusal::Version) => (flavour.version(), None, 0),
        Err(OptionRefusal::Message(line)) => (String::new(), Some(line), 1),
        Err(OptionRefusal::Wrong(option, _)) => {
            let invalid = format!("Invalid option \"{option}\" or option argument missing\n\n");
            (invalid + &options::usage(flavour), None, 1)
        }
    };
    let err = options.warnings.into_iter().chain(last).map(|line| line + "\n").collect();
    Err(PrintedText { out, err, code })
}

/// The format of the output. If several formats are requested, the one that comes last in this list is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OutputFormat {
    /// A page per test.
    #[default]
    Normal,
    /// A line per test.
    Quiet,
    /// A row per test.
    Csv,
    /// A record per test.
    Json,
}

/// The values of the options. Numbers have the limits that the benchmark itself sets.
#[derive(Debug, Clone, Default)]
pub(super) struct BenchOptions {
    pub(super) server: ServerOptions,
    pub(super) resp3: bool,
    /// Whether `CLIENT TRACKING on` is sent.
    pub(super) tracks: bool,
    pub(super) clients: i64,
    pub(super) requests: Option<i64>,
    pub(super) data_size: usize,
    pub(super) pipeline: u32,
    pub(super) threads: i64,
    pub(super) keep_alive: i64,
    /// The number of values that `__rand_int__` can have; with `None`, `__rand_int__` is sent unchanged.
    pub(super) keyspace: Option<u64>,
    pub(super) seed: Option<u64>,
    /// The list of `-t` in lower case, with a comma before and after each name.
    pub(super) tests: Option<String>,
    pub(super) form: OutputFormat,
    pub(super) loops: bool,
    /// Whether connections only stay open, without requests.
    pub(super) is_idle: bool,
    /// Whether the numbers of placeholders are sequential.
    pub(super) is_sequential: bool,
    /// Whether the requests go to all primaries of a cluster.
    pub(super) is_cluster: bool,
    /// Which nodes of the cluster get requests that only read.
    pub(super) read_from: ReadFrom,
    /// The rate, in requests per second.
    pub(super) rps: Option<u32>,
    /// The duration of the measurement, in place of a number of requests. A duration of 0 is ignored.
    pub(super) duration: Option<Duration>,
    /// The duration of the warm-up before the measurement. A duration of 0 is ignored.
    pub(super) warmup: Option<Duration>,
    /// Whether the last argument of the command is read from standard input.
    pub(super) reads_stdin: bool,
    pub(super) latency_to: LatencyTo,
    /// The file of the dataset.
    pub(super) dataset: Option<PathBuf>,
    /// The largest number of records of the dataset to use.
    pub(super) maxdocs: Option<u64>,
    pub(super) num_functions: i64,
    pub(super) num_keys_in_fcall: i64,
    /// Warnings to print on standard error before anything else.
    pub(super) warnings: Vec<String>,
    /// The command and its arguments; empty for the suite.
    pub(super) command: Vec<Vec<u8>>,
}

impl BenchOptions {
    /// Returns the benchmarks' defaults.
    pub(super) fn usual() -> Self {
        Self {
            clients: 50,
            data_size: 3,
            pipeline: 1,
            keep_alive: 1,
            num_functions: 10,
            num_keys_in_fcall: 1,
            ..Self::default()
        }
    }

    /// Checks that the options do not contradict each other, and that the amounts are possible.
    fn check(&self) -> Result<(), String> {
        let Self { clients, pipeline, .. } = self;
        if self.server.is_ring && (self.is_cluster || self.is_idle) {
            let option = if self.is_cluster { "--cluster" } else { "-I" };
            return Err(format!("{option} does not work with --hash; leave one out"));
        }
        if *clients > MAX_CLIENTS.into() && !self.is_idle {
            return Err(format!(
                "{clients} clients are too many: redyno opens at most {MAX_CLIENTS} connections; lower -c"
            ));
        }
        if *pipeline > MAX_PIPELINE {
            return Err(format!(
                "a pipeline of {pipeline} requests is too deep: at most {MAX_PIPELINE} are possible; lower -P"
            ));
        }
        Ok(())
    }

    pub(super) fn dialect(&self) -> Dialect {
        if self.resp3 { Dialect::Resp3 } else { Dialect::Resp2 }
    }

    /// Returns the number of requests to send, or `None` if only the time limits the run.
    pub(super) fn requests(&self) -> Option<u64> {
        let requests = u64::try_from(self.requests.unwrap_or(100_000)).unwrap_or(0);
        self.duration.is_none().then_some(requests)
    }
}

/// The benchmark that determines the options, tests and lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flavour {
    /// `redyno bench`: the options of both benchmarks, and the tests and output lines of redis-benchmark.
    #[default]
    Redyno,
    /// Started through a link named redis-benchmark: like the benchmark of Redis 8.
    Redis,
    /// Started through a link named valkey-benchmark: like the benchmark of Valkey 9.1.
    Valkey,
}

impl Flavour {
    /// Returns the name of the program in its help.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Redyno => "redyno bench",
            Self::Redis => "redis-benchmark",
            Self::Valkey => "valkey-benchmark",
        }
    }

    /// Returns the reply to `--version`. A script may find the imitated version there.
    pub(super) fn version(self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        match self {
            Self::Redyno => format!("redyno bench {own}\n"),
            Self::Redis => format!("redis-benchmark 8.0.0 (redyno {own})\n"),
            Self::Valkey => format!("valkey-benchmark 9.1.0 (redyno {own})\n"),
        }
    }

    /// Returns the server's name in messages about a server that cannot be reached.
    pub(super) fn server(self) -> &'static str {
        if self == Self::Valkey { "server" } else { "Redis" }
    }

    /// Returns whether this flavour has an option that the tools `who` have.
    pub(super) fn supports(self, who: Availability) -> bool {
        who != Availability::Valkey || self != Self::Redis
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(flavour: Flavour, line: &str) -> Result<BenchOptions, PrintedText> {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        parse(flavour, &words)
    }

    fn options(line: &str) -> BenchOptions {
        parsed(Flavour::Redyno, line).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
    }

    fn answer(flavour: Flavour, line: &str) -> PrintedText {
        parsed(flavour, line).err().unwrap_or_else(|| panic!("{line} is taken"))
    }

    #[test]
    fn the_first_word_without_a_dash_begins_the_command() {
        let options = options("-n 10 -q lpush abc -q");
        assert_eq!(options.command, [b"lpush".to_vec(), b"abc".to_vec(), b"-q".to_vec()]);
        assert_eq!((options.form, options.requests()), (OutputFormat::Quiet, Some(10)));
        assert_eq!(self::options("-- -x").command, [b"-x".to_vec()]);
    }

    #[test]
    fn values_out_of_range_are_limited_as_in_redis_benchmark() {
        let options = options("-P 0 -d 0 -r -5 -c 7 -t GET,nope --threads 501 -e");
        assert_eq!(
            (options.pipeline, options.data_size, options.keyspace, options.threads),
            (1, 1, Some(0), 500)
        );
        assert_eq!(options.tests.as_deref(), Some(",get,nope,"));
        assert_eq!(options.warnings.len(), 2);
        assert_eq!(self::options("-d 9999999999").data_size, 1 << 30);
    }

    #[test]
    fn an_invalid_option_is_named_above_the_usage() {
        for (flavour, line, name) in [
            (Flavour::Redyno, "--zz", "--zz"),
            (Flavour::Redyno, "-q -n", "-n"),
            (Flavour::Redyno, "-r -x", "-r"),
            (Flavour::Redis, "--num-functions 3", "--num-functions"),
            (Flavour::Redis, "--", "--"),
        ] {
            let PrintedText { out, err, code } = answer(flavour, line);
            let first = format!("Invalid option \"{name}\" or option argument missing\n\nUsage: ");
            assert!(out.starts_with(&first) && err.is_empty() && code == 1, "{out}");
        }
    }

    #[test]
    fn contradictory_and_unsupported_options_are_refused_on_standard_error() {
        for (line, expected) in [
            ("--duration 1 -n 5", "Options -n and --duration are mutually exclusive.\n"),
            ("-n abc", "-n: the number of requests must be a number such as 100000\n"),
            ("-n -5", "-n: the number of requests must be a number such as 100000\n"),
            ("-p 65536", "Invalid server port.\n"),
            ("-c 18001", "18001 clients are too many: redyno opens at most 18000 connections; lower -c\n"),
            ("-P 10001", "a pipeline of 10001 requests is too deep: at most 10000 are possible; lower -P\n"),
            ("--duration 10000000000000000000", "--duration: at most 31536000 seconds are possible\n"),
            ("--warmup 100000000000000000000", "--warmup: at most 31536000 seconds are possible\n"),
            ("--rps 4294967296", "--rps: at most 4294967295 requests per second are possible\n"),
            ("--num-keys-in-fcall 1000001", "--num-keys-in-fcall: at most 1000000 keys are possible\n"),
            ("--mptcp", "--mptcp is not supported by redyno bench yet; leave it out\n"),
        ] {
            let PrintedText { out, err, code } = answer(Flavour::Redyno, line);
            assert_eq!((out.as_str(), err.as_str(), code), ("", expected, 1));
        }
    }
}
