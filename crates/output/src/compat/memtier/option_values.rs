//! The values of the options of `redyno memtier`, and parsers for the values that only memtier_benchmark has.

use std::{path::PathBuf, sync::Arc};

use clap::Args;

use super::{import::ImportedRecord, options::MemtierOptions};
use crate::{
    compat::numbers::{NumberRange, POSITIVE, Ratio, number, positive},
    endpoint::ReadFrom,
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
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        match Self::ALL.into_iter().find(|protocol| protocol.name() == text) {
            Some(protocol) => Ok(protocol),
            None if text == "memcache_binary" => Err(
                "memcache_binary is not supported by redyno memtier: give -P memcache_text, memcached's text protocol.",
            ),
            None => Err("supported protocols are 'memcache_text', 'redis', 'resp2' and 'resp3'."),
        }
    }

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

impl RequestCount {
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        if text == "allkeys" { Ok(Self::AllKeys) } else { positive(text).map(Self::Each) }
    }
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

impl Breakdown {
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let known = Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(text));
        known.ok_or("must be 'command' or 'line'.")
    }
}

/// The options for imported data.
#[derive(Args, Debug, Clone, Default)]
pub(super) struct ImportOptions {
    /// Write the records of this file in their order, with SET, or with SETEX if they have an expiry, and read their
    /// keys with GET. The file is read into memory first
    #[arg(id = "data_import", long = "data-import", value_name = "FILE", conflicts_with = "is_cluster")]
    pub(super) file: Option<PathBuf>,
    /// The records of the file; empty until the file is read.
    #[arg(skip)]
    pub(super) records: Arc<[ImportedRecord]>,
    /// After the run, read each imported record once and compare it with the file
    #[arg(long = "data-verify", conflicts_with = "hash")]
    pub(super) is_verified: bool,
    /// Only verify the imported data, as --data-verify does, without a run
    #[arg(long = "verify-only", conflicts_with = "hash")]
    pub(super) is_only_verified: bool,
    /// Ignore expiry information in imported data
    #[arg(long = "no-expiry")]
    pub(super) has_no_expiry: bool,
}

/// Parses a number that is finite and above zero.
pub(super) fn above_zero(text: &str) -> Result<f64, &'static str> {
    positive(text).and_then(|number: f64| if number.is_finite() { Ok(number) } else { Err(POSITIVE) })
}

pub(super) fn seconds(text: &str) -> Result<u64, &'static str> {
    positive::<u32>(text).map(u64::from)
}

pub(super) fn port(text: &str) -> Option<u16> {
    number(text).filter(|port| *port > 0)
}

pub(super) fn offset(text: &str) -> Option<u32> {
    number(text).filter(|offset| *offset < 1 << 29)
}

pub(super) fn exponent(text: &str) -> Option<f64> {
    number(text).filter(|exponent| *exponent > 0.0 && *exponent < 5.0)
}

pub(super) fn size_range(text: &str) -> Option<NumberRange> {
    NumberRange::read(text).filter(|range| range.min > 0)
}

pub(super) fn size_pattern(text: &str) -> Result<KeyOrder, &'static str> {
    match text {
        "R" => Ok(KeyOrder::Random),
        "S" => {
            Err("--data-size-pattern S is not supported by redyno memtier: sizes are drawn at random (R).")
        }
        _ => Err("must be either R or S."),
    }
}

pub(super) fn monitor_pattern(text: &str) -> Option<KeyOrder> {
    KeyOrder::read(&text.to_ascii_uppercase())
        .filter(|order| [KeyOrder::Random, KeyOrder::Sequential].contains(order))
}

/// Parses a list of TLS versions. Returns whether it contains TLS 1.2, and whether it contains TLS 1.3.
pub(super) fn tls_protocols(text: &str) -> Result<[bool; 2], &'static str> {
    let mut has = [false; 2];
    for protocol in text.split(',') {
        match protocol.to_ascii_lowercase().as_str() {
            "tlsv1.2" => has[0] = true,
            "tlsv1.3" => has[1] = true,
            _ => return Err("--tls-protocols must be TLSv1.2, TLSv1.3 or both: redyno has no other version"),
        }
    }
    Ok(has)
}

pub(super) fn reads(text: &str) -> Result<ReadFrom, &'static str> {
    match text {
        "primary" => Ok(ReadFrom::Primary),
        // If no replica answers, reads go to the primary.
        "secondary" | "secondaryPreferred" => Ok(ReadFrom::Replica),
        "nearest" => Err(
            "read-preference nearest needs PINGs, which redyno memtier does not send: use `redyno --read-from nearest`.",
        ),
        _ => Err("must be primary, secondary or secondaryPreferred."),
    }
}

pub(super) fn key_pattern(text: &str) -> Result<[KeyOrder; 2], &'static str> {
    let read = text.split_once(':').and_then(|(set, get)| Some([KeyOrder::read(set)?, KeyOrder::read(get)?]));
    let patterns = read.ok_or("must be in the format of [S/R/G/P/Z]:[S/R/G/P/Z].")?;
    if patterns.contains(&KeyOrder::Parallel) && patterns != [KeyOrder::Parallel; 2] {
        return Err("parallel key-pattern must be configured for both SET and GET commands.");
    }
    Ok(patterns)
}

impl MemtierOptions {
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

    /// Returns the number of clients per thread in this second. In a staircase run, the number grows from step to step.
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

    /// Returns the number of keys. `key_minimum` must not be above `key_maximum`.
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

    /// Returns the number of all requests. Returns `None` if only the time limits the run.
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
    /// Fails if an amount is not possible. The message is a line about the first such amount.
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
