//! What probes report: one of these at the end of every tick.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Latency;

/// The report of one probe over one stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<T> {
    /// When the stretch began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What was measured in it.
    pub body: T,
}

/// What the ping probe saw: PINGs sent on a schedule on a connection of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// From when each PING was due to the last byte of its PONG. Only good replies are in it.
    pub rtt: Latency,
    /// What came instead of a PONG, by kind: a server error's prefix, `timeout`, `refused`, `reset`,
    /// `unreachable`, `protocol`, or `missed` when redyno itself did not run.
    pub errors: BTreeMap<String, u64>,
    /// How long the oldest unanswered PING had been waiting at the end of the stretch, 0 when none was: a stall
    /// shows here while it lasts, and as samples when it is over.
    #[serde(default)]
    pub waiting_us: u64,
}

/// What the wake probe saw: how late a thread that sleeps for 1 ms is woken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// Time between the moment a sleep should have ended and the moment it did.
    pub late: Latency,
}

/// What the intrinsic probe saw: the gaps in the life of a busy loop, which the host and its kernel caused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Intrinsic {
    /// Whether this is the gentle form, which samples a tenth of the time and stays on.
    pub gentle: bool,
    /// Time spent in the loop in this stretch, in nanoseconds.
    pub busy_ns: u64,
    /// Turns of the loop.
    pub runs: u64,
    /// How long each turn took; the longest is the figure that redis-cli prints.
    pub gaps: Latency,
    /// Seconds that a run on demand still has to go; `None` in the gentle form.
    pub remaining_s: Option<f64>,
}
