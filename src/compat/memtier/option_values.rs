//! The values of the options of `redyno memtier`, with memtier_benchmark's defaults.

use std::{path::PathBuf, sync::Arc};

use super::{
    import::ImportedRecord, monitor::MonitorOptions, prometheus::PrometheusOptions, retries::RetryOptions,
    statsd::StatsdOptions,
};
use crate::{
    compat::{
        numbers::{NumberRange, Ratio},
        server::ServerOptions,
    },
    endpoint::ReadFrom,
    export::memtier::PERCENTILES,
    knobs::{MAX_CLIENTS, MAX_PIPELINE},
    protocol::Dialect,
};

/// The largest number of clients with `--client-stats`.
const MOST_WITH_STATS: u64 = 1000;

redyno_engine::named_values! {
    /// The protocol, as the option `-P` names it.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(super) enum MemtierProtocol {
        #[default]
        Redis "redis",
        Resp2 "resp2",
        Resp3 "resp3",
        MemcacheText "memcache_text",
    }
}

impl MemtierProtocol {
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Redis | Self::Resp2 => Dialect::Resp2,
            Self::Resp3 => Dialect::Resp3,
            Self::MemcacheText => Dialect::Memcached,
        }
    }
}

redyno_engine::named_values! {
    /// The order in which keys are chosen.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(super) enum KeyOrder {
        #[default]
        Random "R",
        Sequential "S",
        Parallel "P",
        Gaussian "G",
        Zipf "Z",
    }
}

impl KeyOrder {
    pub(super) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == text)
    }
}

/// A command given by the user.
#[derive(Debug, Clone)]
pub(super) struct UserCommand {
    pub(super) words: Vec<Vec<u8>>,
    pub(super) ratio: u32,
    pub(super) pattern: KeyOrder,
}

/// The number of requests that a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestCount {
    Each(u64),
    AllKeys,
}

redyno_engine::named_values! {
    /// The rows of the table for commands given by the user.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(super) enum Breakdown {
        /// A row for all commands that begin with the same word.
        #[default]
        Command "command",
        /// A row for each command.
        Line "line",
    }
}

/// The values of the options for imported data.
#[derive(Clone, Default)]
pub(super) struct ImportOptions {
    pub(super) file: Option<PathBuf>,
    /// The records of the file; empty until the file is read.
    pub(super) records: Arc<[ImportedRecord]>,
    pub(super) is_verified: bool,
    /// Whether the records are only verified.
    pub(super) is_only_verified: bool,
    pub(super) has_no_expiry: bool,
}

/// The values of the options.
#[derive(Clone, Default)]
pub(super) struct MemtierOptions {
    pub(super) server: ServerOptions,
    /// The URIs; without `--hash`, only the last URI is used.
    pub(super) uris: Vec<String>,
    pub(super) authenticate: Option<String>,
    pub(super) protocol: MemtierProtocol,
    /// Whether all primaries of the server's cluster get the load.
    pub(super) is_cluster: bool,
    pub(super) run_count: u32,
    pub(super) out_file: Option<PathBuf>,
    pub(super) shows_config: bool,
    /// The beginning of the names of the clients' result files.
    pub(super) client_stats: Option<String>,
    /// The beginning of the names of the files with latency distributions.
    pub(super) hdr_file_prefix: Option<String>,
    pub(super) json_out_file: Option<PathBuf>,
    pub(super) hides_histogram: bool,
    pub(super) percentiles: Vec<f64>,
    pub(super) prints_all_runs: bool,
    pub(super) breakdown: Breakdown,
    pub(super) statsd: StatsdOptions,
    pub(super) prometheus: PrometheusOptions,
    pub(super) requests: Option<RequestCount>,
    /// The largest rate of one connection, in requests per second.
    pub(super) rate: Option<u32>,
    /// The number of clients per thread.
    pub(super) clients: u32,
    pub(super) threads: u32,
    pub(super) test_time_s: Option<u64>,
    /// The clients per thread at the beginning of a run that adds clients in steps.
    pub(super) clients_start: Option<u32>,
    /// The clients per thread that each step adds.
    pub(super) clients_step: Option<u32>,
    pub(super) step_duration_s: Option<u32>,
    pub(super) ratio: Option<Ratio>,
    pub(super) pipeline: u32,
    pub(super) reconnect_interval: Option<u32>,
    pub(super) reconnects_on_error: bool,
    /// The largest number of failed attempts to reconnect, per client. With this number of failures, the run
    /// ends.
    pub(super) most_attempts: Option<u64>,
    pub(super) has_backoff_factor: bool,
    pub(super) retries: RetryOptions,
    pub(super) read_from: ReadFrom,
    pub(super) connection_timeout_s: u64,
    pub(super) multi_key_get: u32,
    pub(super) is_randomized: bool,
    /// Whether the clients draw different keys in each run.
    pub(super) has_seeds_by_run: bool,
    /// Whether all commands of a turn have one key and go to the node of this key.
    pub(super) is_transaction: bool,
    pub(super) commands: Vec<UserCommand>,
    /// Whether each SCAN sends the cursor from the previous reply.
    pub(super) follows_cursors: bool,
    /// The largest number of SCANs in a row that follow a cursor.
    pub(super) most_scans: Option<u64>,
    pub(super) data_size: Option<u32>,
    pub(super) is_data_random: bool,
    pub(super) data_size_range: Option<NumberRange>,
    pub(super) data_size_list: Option<Vec<(u32, u32)>>,
    pub(super) data_offset: u32,
    pub(super) expiry_range: Option<NumberRange>,
    pub(super) import: ImportOptions,
    pub(super) monitor: MonitorOptions,
    pub(super) key_prefix: String,
    pub(super) key_minimum: u64,
    pub(super) key_maximum: u64,
    /// The key patterns of SET and of GET.
    pub(super) key_pattern: Option<[KeyOrder; 2]>,
    pub(super) key_stddev: Option<f64>,
    pub(super) key_median: Option<f64>,
    pub(super) key_zipf_exp: Option<f64>,
    pub(super) wait_ratio: Option<Ratio>,
    pub(super) num_slaves: Option<NumberRange>,
    pub(super) wait_timeout: Option<NumberRange>,
}

impl MemtierOptions {
    /// Returns memtier_benchmark's defaults.
    pub(super) fn usual() -> Self {
        Self {
            run_count: 1,
            percentiles: PERCENTILES.to_vec(),
            clients: 50,
            threads: 4,
            pipeline: 1,
            key_prefix: "memtier-".to_owned(),
            key_maximum: 10_000_000,
            ..Self::default()
        }
    }

    pub(super) fn ratio(&self) -> Ratio {
        self.ratio.unwrap_or(Ratio { a: 1, b: 10 })
    }

    pub(super) fn patterns(&self) -> [KeyOrder; 2] {
        self.key_pattern.unwrap_or_default()
    }

    /// Returns the key patterns of SET, of GET, and of the commands given by the user.
    pub(super) fn all_patterns(&self) -> impl Iterator<Item = KeyOrder> {
        self.patterns().into_iter().chain(self.commands.iter().map(|command| command.pattern))
    }

    /// Returns the number of clients per thread in this second; in a staircase run, the number grows from step to step.
    pub(super) fn clients_at(&self, second: u64) -> u32 {
        let (Some(start), Some(step), Some(length_s)) =
            (self.clients_start, self.clients_step, self.step_duration_s)
        else {
            return self.clients;
        };
        let more = (second / u64::from(length_s)).saturating_mul(step.into());
        u64::from(start).saturating_add(more).min(self.clients.into()) as u32
    }

    /// Returns the number of clients of all threads.
    pub(super) fn connections(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.threads)
    }

    /// Returns the number of keys; `key_minimum` must not be above `key_maximum`.
    pub(super) fn keys(&self) -> u64 {
        (self.key_maximum - self.key_minimum).saturating_add(1)
    }

    /// Returns whether each client has separate keys.
    pub(super) fn is_parallel(&self) -> bool {
        match self.commands.first() {
            Some(command) => command.pattern == KeyOrder::Parallel,
            None => self.patterns()[0] == KeyOrder::Parallel,
        }
    }

    /// Returns the number of all requests, or `None` if only the time limits the run.
    pub(super) fn total_requests(&self) -> Option<u64> {
        let each = match self.requests {
            Some(RequestCount::AllKeys) if self.is_parallel() => return Some(self.keys()),
            Some(RequestCount::AllKeys) => self.keys(),
            Some(RequestCount::Each(each)) => each,
            None if self.test_time_s.is_some() => return None,
            None => 10_000,
        };
        Some(each.saturating_mul(self.connections()))
    }

    /// Returns the number of requests of a client. If the clients differ, returns the largest number.
    pub(super) fn requests_per_client(&self) -> Option<u64> {
        self.total_requests().map(|all| all.div_ceil(self.connections()))
    }

    /// Checks that the requested amounts are possible with this number of primaries.
    ///
    /// # Errors
    /// Returns a line about the first amount that is not possible.
    pub(super) fn check_amounts(&self, primaries: u32) -> Result<(), String> {
        let connections = self.connections();
        if connections > MAX_CLIENTS.into() {
            return Err(format!(
                "{connections} connections are too many: redyno opens at most {MAX_CLIENTS}; lower --clients or --threads"
            ));
        }
        let most = MAX_PIPELINE / primaries;
        if self.client_stats.is_some() && connections > MOST_WITH_STATS {
            return Err(format!(
                "--client-stats needs one thread for each client, and at most {MOST_WITH_STATS} threads; lower --clients or \
                 --threads"
            ));
        }
        if self.pipeline > most {
            return Err(format!("pipeline must be at most {most}"));
        }
        let most = u64::from(u32::MAX);
        let all = connections * u64::from(primaries);
        if self.rate.is_some_and(|rate| u64::from(rate).saturating_mul(all) > most) {
            return Err(format!(
                "rate-limiting must be at most {most} requests a second over all connections"
            ));
        }
        Ok(())
    }
}
