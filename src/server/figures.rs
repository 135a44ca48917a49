//! What a server says of its parts: memory, connections, persistence, replication, traffic, commands.

use serde::{Deserialize, Serialize};

/// What it holds in memory. A field that the server does not have is `None`, here and below.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The most bytes that its allocator ever gave out.
    pub peak: Option<u64>,
    /// Resident bytes by given out bytes.
    pub fragmentation: Option<f64>,
    /// What it does at its limit: `noeviction`, `allkeys-lru`, …
    pub policy: Option<String>,
}

/// Who is connected, and what their buffers hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// The most connections that it takes.
    pub max: Option<u64>,
    /// The largest input buffer among its clients lately, in bytes.
    pub input_buffer: Option<u64>,
    /// The largest output buffer likewise.
    pub output_buffer: Option<u64>,
    /// Connections turned away at `maxclients` since the previous poll.
    pub rejected: Option<u64>,
}

/// How it saves its data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Persistence {
    /// Whether a child writes a snapshot now.
    pub saving: Option<bool>,
    /// Whether the last snapshot succeeded.
    pub last_save_ok: Option<bool>,
    /// Seconds that the last snapshot took.
    pub last_save_s: Option<u64>,
    /// Writes since the last snapshot.
    pub unsaved_changes: Option<u64>,
    /// Whether an append-only file is kept.
    pub aof: Option<bool>,
    /// Whether a child rewrites it now.
    pub aof_rewriting: Option<bool>,
    /// Whether the last write to it succeeded.
    pub aof_ok: Option<bool>,
    /// Microseconds for which the last fork held the server.
    pub last_fork_us: Option<u64>,
}

/// Its place among master and replicas.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replication {
    /// Replicas connected to it.
    pub replicas: Option<u64>,
    /// Bytes by which the furthest of them is behind.
    pub lag_bytes: Option<u64>,
    /// Of a replica: its master, `host:port`.
    pub master: Option<String>,
    /// Of a replica: whether the link to the master is up.
    pub link_up: Option<bool>,
    /// Of a replica: seconds since the master was last heard.
    pub heard_s: Option<u64>,
}

/// Bytes over its network since the previous poll.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Bytes read.
    pub input: Option<u64>,
    /// Bytes written.
    pub output: Option<u64>,
}

/// What one command did since the previous poll, by the server's own count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandStat {
    /// Calls.
    pub calls: u64,
    /// Microseconds spent in them.
    pub usec: u64,
    /// Calls that failed while they ran; `None` before Redis 6.2.
    pub failed: Option<u64>,
    /// Calls refused before they ran (wrong arguments, OOM, ACL); `None` likewise.
    pub rejected: Option<u64>,
}

impl CommandStat {
    /// Mean execution time in microseconds; `None` without a call.
    pub fn mean_us(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.usec as f64 / self.calls as f64)
    }
}

/// What the latency monitor last saw of one kind of event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
