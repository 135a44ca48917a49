//! The records of a session. A session file and `--json` contain the records as JSON lines.
//!
//! ```text
//! session   first line: tool, target and further nodes, host
//! segment   the load settings from here on
//! interval  the load in a part of one segment
//! ping wake intrinsic   the measurements of a probe over a period
//! server    the figures of INFO
//! host      the figures of redyno's machine, and of the server's process on it
//! event     an event;                  mark: a person's note
//! end       last line: the summary of the load without its warm-up
//! ```
//! Times (`t_s`) are in seconds since the session began. If a record is about a period, `t_s` is the end of the period,
//! and `length_s` is its length. The names of durations end with their unit. Distributions are
//! [`Latency`](crate::stats::Latency) documents. In a record about one server, `node` is the number of the server. A
//! record without `node` is about the first server. Usually there is only one server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Event, Interval, Summary, whole::whole};
use crate::{
    clock::{SECOND_NS, tick_of},
    events::{SearchResult, SweepBest},
    host,
    knobs::Knobs,
    load::Prefilling,
    probe, server,
};

/// The version of the schema of records. A reader refuses recordings with another version.
pub const SCHEMA: u32 = 4;

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The session begins.
    Session(SessionStart),
    /// The knobs have changed.
    Segment(Segment),
    /// The results of the load in a part of one segment.
    Interval(#[serde(deserialize_with = "whole")] Box<Interval>),
    /// The measurements of the ping probe.
    Ping(Box<Span<probe::Ping>>),
    /// The measurements of the wake probe.
    Wake(Span<probe::Wake>),
    /// The measurements of the intrinsic probe.
    Intrinsic(Span<probe::Intrinsic>),
    /// The server's own figures.
    Server(Box<Moment<server::Status>>),
    /// The figures of redyno's machine, and of the server's process on it.
    Host(Box<Moment<host::HostSample>>),
    /// An event.
    Event(Event),
    /// A person's note.
    Mark(Mark),
    /// The session ends.
    End(Box<SessionEnd>),
}

/// Evaluates `$value` with the body of a record if the record's kind is in the first list. Returns `None` for a kind in
/// the second list.
macro_rules! of_kinds {
    ($record:expr, |$of:ident| $value:expr, $($kind:ident)+, not $($other:ident)+) => {
        match $record {
            $(Self::$kind($of) => Some($value),)+
            $(Self::$other(_))|+ => None,
        }
    };
}

impl Record {
    /// Returns the time of the record, in seconds of the session. For a record about a period, the result is the end of
    /// the period. Returns `None` for the first record.
    pub fn t_s(&self) -> Option<f64> {
        of_kinds!(self, |of| of.t_s, Segment Interval Ping Wake Intrinsic Server Host Event Mark End, not Session)
    }

    /// Returns the length of the record's period in seconds. Returns `None` for a record about a moment.
    pub(super) fn length_s(&self) -> Option<f64> {
        of_kinds!(self, |of| of.length_s, Interval Ping Wake Intrinsic, not Session Segment Server Host Event Mark End)
    }

    /// Adds `by_s` seconds to the time of the record, and to the tick of a record about a period.
    pub(super) fn shift(&mut self, by_s: f64) {
        of_kinds!(self, |of| of.t_s += by_s, Segment Interval Ping Wake Intrinsic Server Host Event Mark End, not Session);
        of_kinds!(self, |of| of.tick = of.tick.saturating_add(tick_at(by_s)), Interval Ping Wake Intrinsic, not Session Segment Server Host Event Mark End);
    }

    /// Returns the number of the record's node, from 0. Returns `None` if the record is about the whole session.
    pub fn node(&self) -> Option<u16> {
        of_kinds!(self, |of| of.node, Segment Interval Ping Server Host Event End, not Session Wake Intrinsic Mark)
    }

    /// Returns whether the record is about this node or about the whole session. For example, the event that a node
    /// joined is about the whole session.
    pub fn is_of(&self, node: u16) -> bool {
        let is_of_all = matches!(self, Self::Event(event) if event.what.is_of_all_nodes());
        is_of_all || self.node().is_none_or(|own| own == node)
    }

    /// Sets the record's node number. A record about the whole session is unchanged.
    #[must_use]
    pub fn at_node(mut self, node: u16) -> Self {
        of_kinds!(&mut self, |of| of.node = node, Segment Interval Ping Server Host Event End, not Session Wake Intrinsic Mark);
        self
    }
}

/// Returns the JSON line of a record, with its line end.
///
/// # Errors
/// Fails if a distribution cannot be encoded because memory is exhausted.
pub fn line(record: &Record) -> serde_json::Result<String> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    Ok(line)
}

/// Returns the number of the tick (quarter second) that ends at this time of the session.
fn tick_at(t_s: f64) -> u64 {
    tick_of((t_s * SECOND_NS as f64).round() as u64)
}

/// A record about a period of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span<T> {
    /// The end of the period, in seconds of the session.
    pub t_s: f64,
    /// The length of the period, in seconds.
    pub length_s: f64,
    /// The node, from 0.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub node: u16,
    /// The number of the tick (quarter second) in which the period ended, from the session's beginning.
    pub tick: u64,
    /// The content.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Span<T> {
    /// Returns a record about the `length_s` seconds that end at `t_s`.
    pub fn new(t_s: f64, length_s: f64, body: T) -> Self {
        Self { t_s, length_s, node: 0, tick: tick_at(t_s), body }
    }
}

/// A record about one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment<T> {
    /// The moment, in seconds of the session.
    pub t_s: f64,
    /// The node, from 0.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub node: u16,
    /// The content.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Moment<T> {
    /// Returns a record of the state at `t_s`.
    pub fn new(t_s: f64, body: T) -> Self {
        Self { t_s, node: 0, body }
    }
}

/// The first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The name and version of the program, such as `redyno 0.1.0`.
    pub tool: String,
    /// The start of the session as RFC 3339 in UTC.
    pub started: String,
    /// The local time of the recording host minus UTC when the session began, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utc_offset_s: Option<i32>,
    /// The start of this file, in seconds of the session. The start is not 0 in later files of a recording, and in a
    /// recording that was started during the session.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub from_s: f64,
    /// The server: node 0.
    pub target: ServerIdentity,
    /// The servers of nodes 1, 2 and so on. Copies of this record share the list.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub nodes: Arc<Vec<ServerIdentity>>,
    /// The servers that get load but are not nodes of the session. In a comparison of two clusters, this list has all
    /// cluster nodes except the two targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<LoadedServer>,
    /// The machine that redyno runs on: its name, system and cores.
    pub host: Host,
}

/// A server that gets load but is not a node of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedServer {
    /// The node number of this server in interval records.
    pub node: u16,
    /// The server's address.
    pub address: String,
}

/// The server of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// The address of the server, without credentials.
    pub address: String,
    /// The name of the target in the config file of the recording host; `None` if the target has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server's name and version, such as `redis 7.0.15`; empty if the server could not be reached yet.
    pub server: String,
    /// The server's mode: `standalone`, `cluster` or `sentinel`; empty if the server could not be reached yet.
    pub mode: String,
    /// The server's role: `master` or `slave`; empty if the server could not be reached yet.
    pub role: String,
    /// Whether the server is redyno's own built-in server.
    pub built_in: bool,
    /// Whether connections to the server are encrypted, and whether its certificate is verified.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub tls: Encryption,
}

/// The encryption of connections to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// The connection is not encrypted.
    #[default]
    None,
    /// The connection uses TLS, and the server's certificate is verified.
    Verified,
    /// The connection uses TLS. A trusted CA has signed the server's certificate, but the name in the certificate is
    /// not checked (`--tls-ca-only`).
    CaOnly,
    /// The connection uses TLS, and the server's certificate is not verified (`--insecure`).
    Unverified,
}

impl Encryption {
    /// Returns whether the connections are not encrypted.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The machine that redyno runs on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// The operating system and its kernel release.
    pub system: String,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The choice of `--io auto`, and the reason. Absent without `--io auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
}

/// A segment: a part of the session in which the load settings do not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The start of the segment, in seconds of the session.
    pub t_s: f64,
    /// The node, from 0.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub node: u16,
    /// The number of the segment, from 1.
    pub segment: u32,
    /// The settings.
    pub knobs: Knobs,
    /// The summary of the trace that the load sends; `None` without a trace. The settings of a recording lack the
    /// trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The summary of the file with the times of the requests; `None` without such a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// Whether the segment is the warm-up, which the summary leaves out.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub warmup: bool,
    /// The details of the prefill, if this segment is the prefill before a load with these settings. The summary leaves
    /// this segment out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Prefilling>,
    /// The server parameter whose change began this segment; `None` if a change of load settings began the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<server::ConfigChange>,
    /// Whether this segment belongs to one node that gets a part of the load. The knobs are those of the whole load.
    #[serde(skip)]
    pub is_part: bool,
}

/// A user's note about a moment of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The time.
    pub t_s: f64,
    /// The note.
    pub text: String,
}

/// The last record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// The time.
    pub t_s: f64,
    /// The node, from 0. The end record of the first node is the last record of the session.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub node: u16,
    /// The results of the load while it was on.
    pub summary: Summary,
    /// The good replies per second of the fastest segment; `None` if no segment was under load for a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_ops_per_s: Option<f64>,
    /// The result of the search for the highest rate, if the session ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<SearchResult>,
    /// The best step of the sweep, if the session ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<SweepBest>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(ops: u64) -> Record {
        Record::Interval(Box::new(Interval { ops, ..Interval::default() }))
    }

    fn mark() -> Record {
        Record::Mark(Mark { t_s: 1.0, text: "now".to_owned() })
    }

    #[test]
    fn each_node_has_its_own_records_and_the_records_of_the_session() {
        let records = [interval(1), interval(2).at_node(1), mark().at_node(1), interval(3).at_node(0)];
        let of = |node| records.iter().filter(|record| record.is_of(node)).cloned().collect::<Vec<_>>();
        assert_eq!(of(0), [interval(1), mark(), interval(3)]);
        assert_eq!(of(1), [interval(2).at_node(1), mark()]);
        assert_eq!(of(2), [mark()]);
    }

    #[test]
    fn the_ticks_of_an_interval_and_of_a_probe_are_shifted_alike() {
        let ticks = |by_s| {
            let interval = Interval { t_s: 1.1, tick: 5, ..Interval::default() };
            let wake = Record::Wake(Span::new(1.25, 0.25, probe::Wake::default()));
            [Record::Interval(Box::new(interval)), wake].map(|mut record| {
                record.shift(by_s);
                match record {
                    Record::Interval(interval) => interval.tick,
                    Record::Wake(span) => span.tick,
                    other => panic!("{other:?}"),
                }
            })
        };
        assert_eq!([0.0, 60.0].map(ticks), [[5; 2], [245; 2]]);
    }

    #[test]
    fn a_line_contains_the_node_number_except_for_the_first_node() {
        let event = |node| Record::Event(Event::new(1.0, crate::events::EventKind::Reachable)).at_node(node);
        let line = serde_json::to_string(&event(2)).unwrap();
        assert!(line.starts_with(r#"{"kind":"event","t_s":1.0,"node":2,"#), "{line}");
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), event(2));
        assert!(!serde_json::to_string(&event(0)).unwrap().contains("node"));
    }
}
