//! The records of a session: a session file and `--json` hold one JSON object a line.
//!
//! ```text
//! session   first line: tool, target, host
//! segment   the knobs that hold from here on
//! interval  what the load did in a stretch of one segment
//! ping wake intrinsic   what a probe saw in a stretch
//! server    what INFO said
//! event     something that happened;  mark: a person's note
//! beside    what another target of the session told: its number, and a record of these
//! end       last line: the summary of the load without its warm-up
//! ```
//! Times are seconds since the session began (`t_s`); a stretch ends at its `t_s` and lasts `length_s`.
//! Durations carry their unit in the name. Distributions are written as
//! [`Latency`] documents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Beside, Client, Event, Interval, Opening, add_counts, interval::merge_some};
use crate::{
    clock::{SECOND_NS, tick_of},
    load::Knobs,
    probe, server,
    stats::Latency,
};

/// The version of this schema. A reader refuses a higher one.
pub const SCHEMA: u32 = 1;

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The session begins.
    Session(SessionStart),
    /// New knobs hold from here on.
    Segment(Segment),
    /// What the load did.
    Interval(Box<Interval>),
    /// What the ping probe saw.
    Ping(Box<Span<probe::Ping>>),
    /// What the wake probe saw.
    Wake(Span<probe::Wake>),
    /// What the intrinsic probe saw.
    Intrinsic(Span<probe::Intrinsic>),
    /// What the server said of itself.
    Server(Box<Moment<server::Status>>),
    /// Something happened.
    Event(Event),
    /// A person's note.
    Mark(Mark),
    /// The session ends.
    End(Box<End>),
    /// What another target than the first told.
    Beside(Box<Beside>),
}

impl Record {
    /// When it was, in seconds of the session: a stretch's end. The first record has no such time.
    pub fn t_s(&self) -> Option<f64> {
        match self {
            Self::Session(_) => None,
            Self::Segment(segment) => Some(segment.t_s),
            Self::Interval(interval) => Some(interval.t_s),
            Self::Ping(span) => Some(span.t_s),
            Self::Wake(span) => Some(span.t_s),
            Self::Intrinsic(span) => Some(span.t_s),
            Self::Server(moment) => Some(moment.t_s),
            Self::Event(event) => Some(event.t_s),
            Self::Mark(mark) => Some(mark.t_s),
            Self::End(end) => Some(end.t_s),
            Self::Beside(beside) => beside.record.t_s(),
        }
    }
}

/// A body that describes a stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span<T> {
    /// When the stretch ended.
    pub t_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// The tick that it ended in, counted from the session's beginning: records of one tick belong together, whoever
    /// made them. 0 in files that do not tell.
    #[serde(default)]
    pub tick: u64,
    /// What happened in it.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Span<T> {
    /// A stretch of `length_s` seconds up to `t_s`.
    pub fn new(t_s: f64, length_s: f64, body: T) -> Self {
        Self { t_s, length_s, tick: tick_of((t_s * SECOND_NS as f64).round() as u64), body }
    }
}

/// A body that describes one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment<T> {
    /// The moment.
    pub t_s: f64,
    /// What held then.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Moment<T> {
    /// What held at `t_s`.
    pub fn new(t_s: f64, body: T) -> Self {
        Self { t_s, body }
    }
}

/// The first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Program and version, `redyno 0.1.0`.
    pub tool: String,
    /// When the session began, RFC 3339 in UTC.
    pub started: String,
    /// The server.
    pub target: ServerIdentity,
    /// Further servers that are measured beside it, in the order of their numbers, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ServerIdentity>,
    /// The machine that redyno runs on: its name, system and cores.
    pub host: Host,
}

/// The server of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// Its address, without credentials.
    pub address: String,
    /// Name and version, `redis 7.0.15`; empty while it could not be reached.
    pub server: String,
    /// `standalone`, `cluster` or `sentinel`; empty likewise.
    pub mode: String,
    /// `master` or `slave`; empty likewise.
    pub role: String,
    /// Whether it is redyno's own built-in server.
    pub built_in: bool,
    /// Whether the connections to it are encrypted, and whether its certificate is checked.
    #[serde(default, skip_serializing_if = "Encryption::is_none")]
    pub tls: Encryption,
}

/// What protects the connections to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// Nothing.
    #[default]
    None,
    /// TLS, with a server that has shown who it is.
    Verified,
    /// TLS, with a server that nobody has checked (`--insecure`).
    Unverified,
}

impl Encryption {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The machine that redyno runs on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system and kernel release.
    pub system: String,
    /// Cores that this process may use.
    pub cores: usize,
}

/// New knobs hold from `t_s` on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Since when.
    pub t_s: f64,
    /// Its number, from 1.
    pub segment: u32,
    /// The settings.
    pub knobs: Knobs,
    /// Whether this is the warm-up, which the summary leaves out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warmup: bool,
    /// The parameter of the server that was set, if it was that and no knob that was turned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<server::ConfigChange>,
}

/// A person's note on the time axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// When.
    pub t_s: f64,
    /// The note.
    pub text: String,
}

/// The last record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When.
    pub t_s: f64,
    /// What the load did while it was on.
    pub summary: Summary,
}

/// What the load did while it was on, without its warm-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Seconds under load: from the first connection, or the first failure to have one, to the last moment at which
    /// requests were sent. The wait for the last replies is not in it.
    pub length_s: f64,
    /// Seconds of these without any connection, because all were lost.
    #[serde(default)]
    pub outage_s: f64,
    /// Good replies.
    pub ops: u64,
    /// Good replies, those after the end of the load too, per second of `length_s`.
    pub ops_per_s: f64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Requests that were due: `ops` + `errors` + `shed` + `owed`.
    #[serde(default)]
    pub due: u64,
    /// Requests that were due and given up on purpose.
    #[serde(default)]
    pub shed: u64,
    /// Requests that were due and not sent when the load ended or was turned off.
    #[serde(default)]
    pub owed: u64,
    /// The longest time that a request was due and not sent.
    #[serde(default)]
    pub behind_us: u64,
    /// Requests that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Connections that were lost, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub connections_lost: BTreeMap<String, u64>,
    /// Attempts to connect that failed, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub connects_failed: BTreeMap<String, u64>,
    /// The first message of each kind of error.
    pub first_errors: BTreeMap<String, String>,
    /// From the write of a request to the last byte of its reply.
    pub service: Latency,
    /// From when a request was due; `null` in closed loop.
    pub response: Option<Latency>,
    /// What its connections took to open.
    #[serde(flatten)]
    pub opening: Opening,
    /// What the load generator itself cost under load; `null` where it was not measured.
    #[serde(default)]
    pub client: Option<Client>,
}

impl Summary {
    /// Adds an interval; its length counts only if the load was on.
    pub fn add(&mut self, interval: &Interval, loaded: bool) {
        if loaded {
            Client::merge(&mut self.client, self.length_s, interval.client.as_ref(), interval.length_s);
            self.length_s += interval.length_s;
            self.outage_s += interval.outage_s;
        }
        self.ops += interval.ops;
        self.ops_per_s = if self.length_s > 0.0 { self.ops as f64 / self.length_s } else { 0.0 };
        self.hits += interval.hits;
        self.misses += interval.misses;
        self.due += interval.due;
        self.shed += interval.shed;
        self.owed += interval.owed;
        self.behind_us = self.behind_us.max(interval.behind_us);
        add_counts(&mut self.errors, &interval.errors);
        add_counts(&mut self.connections_lost, &interval.connections_lost);
        add_counts(&mut self.connects_failed, &interval.connects_failed);
        self.service.merge(&interval.service);
        self.opening.merge(&interval.opening);
        merge_some(&mut self.response, interval.response.as_ref());
    }
}
