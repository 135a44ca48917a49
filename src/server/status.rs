//! The server's state, read out of INFO.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::figures::{CommandStat, Connections, LatencyEvent, Memory, Persistence, Replication, Traffic};

/// What one INFO said. A field that the server does not have is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `redis`, `valkey`, or the name of whatever it calls itself.
    pub name: String,
    /// Its own version; for Valkey the `valkey_version`, not the Redis version it is compatible with.
    pub version: String,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// `master` or `slave`.
    pub role: String,
    /// Seconds since its start.
    pub uptime_s: Option<u64>,
    /// Connections, redyno's own included.
    pub clients: Option<u64>,
    /// Clients waiting in a blocking command.
    pub blocked_clients: Option<u64>,
    /// Bytes that its allocator gave out.
    pub used_memory: Option<u64>,
    /// Bytes resident, as the operating system counts.
    pub used_memory_rss: Option<u64>,
    /// Its memory limit in bytes; 0 is none.
    pub maxmemory: Option<u64>,
    /// Commands per second as the server counts them.
    pub ops_per_s: Option<f64>,
    /// Commands since its start.
    pub commands: Option<u64>,
    /// GETs that found their key, since the previous poll.
    pub hits: Option<u64>,
    /// GETs that did not, since the previous poll.
    pub misses: Option<u64>,
    /// Keys in all databases.
    pub keys: Option<u64>,
    /// Keys evicted since the previous poll.
    pub evicted_keys: Option<u64>,
    /// Keys expired since the previous poll.
    pub expired_keys: Option<u64>,
    /// Share of one core used by the main thread (where the server tells), else by the process, since the
    /// previous poll.
    pub cpu: Option<f64>,
    /// Share of the time in which the main thread was at work since the previous poll, where the server tells (Valkey
    /// 9.1). With I/O threads it waits busily, and this is truer than `cpu`.
    pub active: Option<f64>,
    /// Seconds since the previous poll.
    pub poll_s: Option<f64>,
    /// More of its memory.
    pub memory: Memory,
    /// Limits and buffers of its connections.
    pub connections: Connections,
    /// How it saves its data.
    pub persistence: Persistence,
    /// Its place among master and replicas.
    pub replication: Replication,
    /// Bytes over its network since the previous poll.
    pub traffic: Traffic,
    /// Its commands since the previous poll, those of redyno's control plane among them; commands without a call or a
    /// refusal do not appear.
    pub command_stats: BTreeMap<String, CommandStat>,
    /// What its latency monitor saw last.
    pub latency_events: Vec<LatencyEvent>,
    /// The [`PARAMETERS`](super::PARAMETERS) that it has, as CONFIG GET tells them.
    pub config: BTreeMap<String, String>,
}

impl Status {
    /// Hits among hits and misses since the previous poll, 0 to 1; `None` when nothing was looked up.
    pub fn hit_rate(&self) -> Option<f64> {
        let (hits, misses) = (self.hits? as f64, self.misses? as f64);
        (hits + misses > 0.0).then(|| hits / (hits + misses))
    }

    /// `n` since the previous poll, per second.
    pub fn per_s(&self, n: u64) -> Option<f64> {
        self.poll_s.filter(|s| *s > 0.0).map(|s| n as f64 / s)
    }
}
