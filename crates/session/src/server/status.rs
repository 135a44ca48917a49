//! The state of a server after a poll, and the other reports of the control plane.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::ConnectedClients;
use crate::{
    events::EventKind,
    gauge::{GAUGES, Gauge, GaugeKind, Gauges},
    protocol::Dialect,
    stats::Buckets,
};

/// The results of one poll: texts, gauges, and lists. Missing values are empty or `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The kind of server: `redis`, `valkey`, `memcached`, or another name.
    pub name: String,
    /// The address of the server, as `host:port`, if Sentinels name the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The version of the server. For Valkey, this is `valkey_version`, not `redis_version`.
    pub version: String,
    /// The id of the server's process, on its machine or in its container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// The mode of the server: `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// The replication role: `master` or `slave`.
    pub role: String,
    /// The server's behaviour at its memory limit: `noeviction`, `allkeys-lru`, ……
    #[serde(rename = "memory_policy")]
    pub policy: Option<String>,
    /// The address of a replica's master, as `host:port`.
    #[serde(rename = "replication_master")]
    pub master: Option<String>,
    /// The address of the replica that is furthest behind, as `host:port`.
    #[serde(default, rename = "replication_furthest", skip_serializing_if = "Option::is_none")]
    pub furthest_replica: Option<String>,
    /// Seconds since the previous poll.
    pub poll_s: Option<f64>,
    /// The gauges of the server.
    #[serde(flatten)]
    pub gauges: Gauges,
    /// The statistics of each command since the previous poll, including commands of redyno's control plane.
    /// Contains only commands that were called or refused.
    pub command_stats: BTreeMap<String, CommandStat>,
    /// The number of calls in `command_stats` that redyno's control plane made, by command name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, u64>,
    /// The error replies to all clients since the previous poll, by prefix (`WRONGTYPE`); since Redis 6.2. Servers
    /// count only about a hundred prefixes. Some prefixes may therefore be missing here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// The last event of each kind from the latency monitor.
    pub latency_events: Vec<LatencyEvent>,
    /// The values of the parameters that affect latency, from CONFIG GET: the [`PARAMETERS`](super::PARAMETERS), and
    /// parameters that redyno only reads. For memcached, the values are from `stats settings`.
    pub config: Arc<BTreeMap<String, String>>,
    /// The connected clients; `None` in polls without CLIENT LIST.
    #[serde(default, rename = "client_list", skip_serializing_if = "Option::is_none")]
    pub clients: Option<ConnectedClients>,
    /// For a cluster node, the slots that used most of the main thread's time, busiest first; `None` in polls
    /// that did not request slots.
    #[serde(default, rename = "busy_slots", skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<SlotUse>>,
    /// The replicas that are online. The replicas are not written with this record, because each replica has its own
    /// records.
    #[serde(skip)]
    pub replicas: Vec<ReplicaProgress>,
    /// The number of redyno's connections to the server that do not belong to the load. Records do not contain this
    /// number.
    #[serde(skip)]
    pub own_connections: u64,
}

/// The progress of a replica, as its primary reports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaProgress {
    /// The replica's address, as its primary knows it.
    pub address: String,
    /// The number of bytes by which the replica is behind.
    pub behind: u64,
    /// Whole seconds since the replica's last acknowledgement.
    pub ack_s: Option<u64>,
}

/// The smallest time between two polls for which redyno calculates rates and shares, in seconds. An order, such as
/// CONFIG SET, causes an additional poll. Rates from polls that are close together would be wrong.
pub(super) const RATE_MIN_S: f64 = 0.1;

impl Status {
    /// Returns the protocol of the server, which determines its features.
    pub fn dialect(&self) -> Dialect {
        Dialect::of_server(&self.name)
    }

    /// Returns the text about a feature that a server of this kind does not have: `memcached has no slow log`.
    pub fn without(&self, feature: &str) -> String {
        format!("{} has no {feature}", self.dialect().words().server)
    }

    /// Returns the value of a gauge as text, such as `13.6 MiB`. A counter is written as a rate per second: `3.91
    /// MiB/s`.
    pub fn text_of(&self, gauge: Gauge) -> Option<String> {
        let value = self.gauges.get(gauge)?;
        if gauge.about().kind != GaugeKind::Added {
            return Some(gauge.written(value));
        }
        Some(format!("{}/s", gauge.written(self.per_s(value)?)))
    }

    /// Returns the used memory, and the limit if there is one: `13.6 MiB of 512 MiB`.
    pub fn memory_text(&self) -> Option<String> {
        let used = self.text_of(Gauge::UsedMemory)?;
        let limit = self.gauges.get(Gauge::MaxMemory).filter(|limit| *limit > 0.0);
        Some(limit.map_or(used.clone(), |limit| format!("{used} of {}", Gauge::MaxMemory.written(limit))))
    }

    /// Returns a command's statistics without the calls of redyno's control plane. Returns `None` if other clients made
    /// no calls. The function assumes that redyno's calls took the mean time of all calls. The histogram in `times`
    /// includes redyno's calls.
    pub fn of_others(&self, name: &str) -> Option<CommandStat> {
        let stat = self.command_stats.get(name)?;
        let own = self.own.get(name).copied().unwrap_or(0).min(stat.calls);
        let usec = stat.usec.saturating_sub(self.own_us(name).round() as u64);
        let others = CommandStat { calls: stat.calls - own, usec, ..stat.clone() };
        (others.calls > 0 || others.rejected.is_some_and(|n| n > 0)).then_some(others)
    }

    /// Returns how long redyno's calls of a command occupied the server's main thread, in microseconds. The
    /// time is estimated as in [`of_others`](Self::of_others).
    pub fn own_us(&self, name: &str) -> f64 {
        let Some(stat) = self.command_stats.get(name).filter(|stat| stat.calls > 0) else { return 0.0 };
        let own = self.own.get(name).copied().unwrap_or(0).min(stat.calls);
        stat.usec as f64 * (own as f64 / stat.calls as f64)
    }

    /// Returns the gauges, with counters as rates per second since the previous poll. Without a previous poll, counters
    /// have no value.
    pub fn rates(&self) -> Gauges {
        let mut rates = self.gauges.clone();
        for gauge in GAUGES.into_iter().filter(|gauge| gauge.about().kind == GaugeKind::Added) {
            rates.set(gauge, rates.get(gauge).and_then(|added| self.per_s(added)));
        }
        rates
    }

    /// Converts `n`, a difference since the previous poll, to a rate per second. Returns `None` without a previous
    /// poll, or if the previous poll was too recent.
    pub fn per_s(&self, n: f64) -> Option<f64> {
        self.rate_s().map(|s| n / s)
    }

    /// Returns the seconds since the previous poll, if they are enough for a rate.
    pub(crate) fn rate_s(&self) -> Option<f64> {
        self.poll_s.filter(|s| *s >= RATE_MIN_S)
    }
}

/// The statistics of one command since the previous poll, from the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandStat {
    /// The number of calls.
    pub calls: u64,
    /// The total execution time of the calls, in microseconds.
    pub usec: u64,
    /// Calls that failed during execution; `None` before Redis 6.2.
    pub failed: Option<u64>,
    /// Calls that were refused before execution (wrong arguments, OOM, ACL); `None` before Redis 6.2.
    pub rejected: Option<u64>,
    /// The histogram of the execution times since the last poll with a histogram (usually the previous poll). Each
    /// bucket has an upper limit in microseconds and a number of calls. Histograms exist only for the commands with the
    /// most calls, and only on servers with LATENCY HISTOGRAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Buckets>,
    /// The percentiles of the execution times since the server's start or CONFIG RESETSTAT, in microseconds by name
    /// (`p99`). The percentiles are read from INFO latencystats if LATENCY HISTOGRAM is refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub since_start_us: BTreeMap<String, f64>,
}

impl CommandStat {
    /// Adds the statistics of a later interval.
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

    /// Returns the mean execution time in microseconds; `None` if there were no calls, or if the server reports no
    /// times (memcached).
    pub fn mean_us(&self) -> Option<f64> {
        (self.calls > 0 && self.usec > 0).then(|| self.usec as f64 / self.calls as f64)
    }
}

/// The last event of one kind from the latency monitor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyEvent {
    /// The kind of event: `command`, `fork`, `aof-write`, …
    pub name: String,
    /// The age of the event in whole seconds, by the server's clock.
    pub age_s: Option<u64>,
    /// The duration of the event in milliseconds.
    pub last_ms: u64,
    /// The longest duration of an event of this kind, in milliseconds.
    pub max_ms: u64,
}

/// A report of the control plane. `at_ns` is the time of the report on the session's clock.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlMessage {
    /// The server replied to INFO.
    Status {
        /// The time when the reply arrived.
        at_ns: u64,
        /// The content of the reply.
        status: Box<Status>,
    },
    /// redyno has sent commands that prepare the server for the load. These commands are not operations of
    /// the load.
    SetupRequests {
        /// The time when the last reply arrived.
        at_ns: u64,
        /// The number of replies to each command, by the command's name in INFO commandstats.
        requests: BTreeMap<String, u64>,
    },
    /// An event on the server, or of the connection to it.
    Event {
        /// The time when the event was noticed.
        at_ns: u64,
        /// The event.
        what: EventKind,
    },
}

/// The use of one slot since the previous poll that requested slots.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotUse {
    /// The number of the slot.
    pub slot: u16,
    /// The number of keys in the slot.
    pub keys: u64,
    /// The share of a core that the commands of the slot used.
    pub cpu: f64,
    /// The bytes per second that clients sent in requests for the slot.
    pub bytes_in_per_s: f64,
    /// The bytes per second that clients received in replies for the slot.
    pub bytes_out_per_s: f64,
}
