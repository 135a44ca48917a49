//! What is asked for by the options.

use std::{path::PathBuf, time::Duration};

use crate::{compat::Server, load::LatencyTo, protocol::Dialect};

/// The form of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
#[derive(Clone, Default)]
pub(super) struct Asked {
    pub(super) server: Server,
    pub(super) resp3: bool,
    /// Whether `CLIENT TRACKING on` is said.
    pub(super) tracks: bool,
    pub(super) clients: Option<i64>,
    pub(super) requests: Option<i64>,
    pub(super) data_size: Option<usize>,
    pub(super) pipeline: Option<i64>,
    pub(super) threads: i64,
    pub(super) keep_alive: Option<i64>,
    /// How many numbers `__rand_int__` has; `None` is that it is sent as it is.
    pub(super) keyspace: Option<u64>,
    pub(super) seed: Option<u64>,
    /// The list of `-t` in lower case, between commas.
    pub(super) tests: Option<String>,
    pub(super) is_quiet: bool,
    pub(super) is_csv: bool,
    pub(super) is_json: bool,
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
    pub(super) num_functions: Option<i64>,
    pub(super) num_keys_in_fcall: Option<i64>,
    /// What is said on standard error before anything else.
    pub(super) warnings: Vec<String>,
    /// The command and its arguments; empty is the suite.
    pub(super) command: Vec<Vec<u8>>,
}

impl Asked {
    pub(super) fn form(&self) -> Form {
        match (self.is_json, self.is_csv, self.is_quiet) {
            (true, ..) => Form::Json,
            (_, true, _) => Form::Csv,
            (.., true) => Form::Quiet,
            _ => Form::Normal,
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        if self.resp3 { Dialect::Resp3 } else { Dialect::Resp2 }
    }

    pub(super) fn clients(&self) -> i64 {
        self.clients.unwrap_or(50)
    }

    /// How many requests are sent; `None` is as many as there is time for.
    pub(super) fn requests(&self) -> Option<u64> {
        let requests = u64::try_from(self.requests.unwrap_or(100_000)).unwrap_or(0);
        self.duration.is_none().then_some(requests)
    }

    pub(super) fn data_size(&self) -> usize {
        self.data_size.unwrap_or(3)
    }

    pub(super) fn pipeline(&self) -> u32 {
        u32::try_from(self.pipeline.unwrap_or(1).max(1)).unwrap_or(u32::MAX)
    }

    pub(super) fn keep_alive(&self) -> i64 {
        self.keep_alive.unwrap_or(1)
    }
}
