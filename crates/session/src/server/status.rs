//! The server's state, as a poll finds it, and what the control plane reports of its own accord.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    events::EventKind,
    gauge::{Gauge, Gauges, Kind},
    protocol::Dialect,
    stats::Buckets,
};

/// What one poll said: words, gauges, and lists. What the server does not have is empty or `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// `redis`, `valkey`, `memcached`, or the name of whatever it calls itself.
    pub name: String,
    /// Its own version; for Valkey the `valkey_version`, not the Redis version it is compatible with.
    pub version: String,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// `master` or `slave`.
    pub role: String,
    /// What it does at its limit of memory: `noeviction`, `allkeys-lru`, …
    #[serde(rename = "memory_policy")]
    pub policy: Option<String>,
    /// Of a replica: its master, `host:port`.
    #[serde(rename = "replication_master")]
    pub master: Option<String>,
    /// Seconds since the previous poll.
    pub poll_s: Option<f64>,
    /// Its figures.
    #[serde(flatten)]
    pub gauges: Gauges,
    /// Its commands since the previous poll, those of redyno's control plane among them; commands without a call or a
    /// refusal do not appear.
    pub command_stats: BTreeMap<String, CommandStat>,
    /// What its latency monitor saw last.
    pub latency_events: Vec<LatencyEvent>,
    /// The [`PARAMETERS`](super::PARAMETERS) that it has, from CONFIG GET; of a memcached the settings that it was
    /// started with.
    pub config: BTreeMap<String, String>,
}

impl Status {
    /// What it speaks, and so what it has.
    pub fn dialect(&self) -> Dialect {
        Dialect::of_server(&self.name)
    }

    /// A gauge in words, one that counts what was added as so much per second: `13.6 MiB`, `3.91 MiB/s`.
    pub fn text_of(&self, gauge: Gauge) -> Option<String> {
        let value = self.gauges[gauge]?;
        if gauge.about().kind != Kind::Added {
            return Some(gauge.written(value));
        }
        Some(format!("{}/s", gauge.written(self.per_s(value)?)))
    }

    /// The memory in use, and its limit where there is one: `13.6 MiB of 512 MiB`.
    pub fn memory_text(&self) -> Option<String> {
        let used = self.text_of(Gauge::UsedMemory)?;
        let limit = self.gauges[Gauge::MaxMemory].filter(|limit| *limit > 0.0);
        Some(limit.map_or(used.clone(), |limit| format!("{used} of {}", Gauge::MaxMemory.written(limit))))
    }

    /// `n` since the previous poll, per second.
    pub fn per_s(&self, n: f64) -> Option<f64> {
        self.poll_s.filter(|s| *s > 0.0).map(|s| n / s)
    }
}

/// What one command did since the previous poll, by the server's own count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandStat {
    /// Calls.
    pub calls: u64,
    /// Microseconds spent in them.
    pub usec: u64,
    /// Calls that failed while they ran; `None` before Redis 6.2.
    pub failed: Option<u64>,
    /// Calls refused before they ran (wrong arguments, OOM, ACL); `None` likewise.
    pub rejected: Option<u64>,
    /// How long its calls took since the previous poll: (up to so many µs, so many calls). Of the commands with the most
    /// calls, by servers that have LATENCY HISTOGRAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Buckets>,
    /// Percentiles of its times since the server's start or CONFIG RESETSTAT, in µs by their names (`p99`): INFO
    /// latencystats, where LATENCY HISTOGRAM is refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub since_start_us: BTreeMap<String, f64>,
}

impl CommandStat {
    /// Adds what it did later.
    pub fn merge(&mut self, later: &Self) {
        let sum = |mine: Option<u64>, other: Option<u64>| Some(mine?.saturating_add(other?));
        self.calls = self.calls.saturating_add(later.calls);
        self.usec = self.usec.saturating_add(later.usec);
        self.failed = sum(self.failed, later.failed);
        self.rejected = sum(self.rejected, later.rejected);
        if let Some(times) = &later.times {
            self.times.get_or_insert_default().merge(times);
        }
        if !later.since_start_us.is_empty() {
            self.since_start_us.clone_from(&later.since_start_us);
        }
    }

    /// Mean execution time in microseconds; `None` without a call, and where no time is known: a memcached reports none.
    pub fn mean_us(&self) -> Option<f64> {
        (self.calls > 0 && self.usec > 0).then(|| self.usec as f64 / self.calls as f64)
    }
}

/// What the latency monitor last saw of one kind of event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyEvent {
    /// `command`, `fork`, `aof-write`, …
    pub name: String,
    /// Seconds since it happened, by the server's clock, which counts whole ones.
    pub age_s: Option<u64>,
    /// How long it held the server, in milliseconds.
    pub last_ms: u64,
    /// The longest of its kind, in milliseconds.
    pub max_ms: u64,
}

/// One piece of news. `at_ns` is when it was known, on the session's clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// An INFO was answered.
    Status {
        /// When the reply was there.
        at_ns: u64,
        /// What it said.
        status: Box<Status>,
    },
    /// What a setup has asked the server for, beside the load and in none of its operations.
    Asked {
        /// When its last reply was there.
        at_ns: u64,
        /// Its commands that were answered, as the server's statistics call them, and how often.
        requests: BTreeMap<String, u64>,
    },
    /// Something happened, on the server or on the way to it.
    Event {
        /// When it was noticed.
        at_ns: u64,
        /// What.
        what: EventKind,
    },
}
