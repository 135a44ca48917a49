//! What is asked for by the options.

use std::{path::PathBuf, time::Duration};

use crate::{compat::server::Server, load::LatencyTo, protocol::Dialect};

/// The form of the output: of several that are asked for the last of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// A page a test.
    #[default]
    Normal,
    /// A line a test.
    Quiet,
    /// A row a test.
    Csv,
    /// A record a test.
    Json,
}

/// What the options say. Numbers are as they were given, within what their own benchmark does to them.
#[derive(Debug, Clone, Default)]
pub(super) struct BenchOptions {
    pub(super) server: Server,
    pub(super) resp3: bool,
    /// Whether `CLIENT TRACKING on` is said.
    pub(super) tracks: bool,
    pub(super) clients: i64,
    pub(super) requests: Option<i64>,
    pub(super) data_size: usize,
    pub(super) pipeline: u32,
    pub(super) threads: i64,
    pub(super) keep_alive: i64,
    /// How many numbers `__rand_int__` has; `None` is that it is sent as it is.
    pub(super) keyspace: Option<u64>,
    pub(super) seed: Option<u64>,
    /// The list of `-t` in lower case, between commas.
    pub(super) tests: Option<String>,
    pub(super) form: Form,
    pub(super) loops: bool,
    /// Whether connections are only held.
    pub(super) is_idle: bool,
    /// Whether the numbers of placeholders come one after the other.
    pub(super) is_sequential: bool,
    /// How many requests are sent a second.
    pub(super) rps: Option<u32>,
    /// How long is measured, in place of a number of requests, and how long before that is not; none is no time at all.
    pub(super) duration: Option<Duration>,
    pub(super) warmup: Option<Duration>,
    /// Whether the last argument of the command is read from standard input.
    pub(super) reads_stdin: bool,
    pub(super) latency_to: LatencyTo,
    /// Where records come from, and how many of them are taken at the most.
    pub(super) dataset: Option<PathBuf>,
    pub(super) maxdocs: Option<u64>,
    pub(super) num_functions: i64,
    pub(super) num_keys_in_fcall: i64,
    /// What is said on standard error before anything else.
    pub(super) warnings: Vec<String>,
    /// The command and its arguments; empty is the suite.
    pub(super) command: Vec<Vec<u8>>,
}

impl BenchOptions {
    /// The benchmarks' defaults.
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

    pub(super) fn dialect(&self) -> Dialect {
        if self.resp3 { Dialect::Resp3 } else { Dialect::Resp2 }
    }

    /// How many requests are sent; `None` is as many as there is time for.
    pub(super) fn requests(&self) -> Option<u64> {
        let requests = u64::try_from(self.requests.unwrap_or(100_000)).unwrap_or(0);
        self.duration.is_none().then_some(requests)
    }
}
