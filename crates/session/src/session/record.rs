//! The records of a session: a session file and `--json` hold one JSON object a line.
//!
//! ```text
//! session   first line: tool, target and further nodes, host
//! segment   the knobs that hold from here on
//! interval  what the load did in a stretch of one segment
//! ping wake intrinsic   what a probe saw in a stretch
//! server    what INFO said
//! event     something that happened;  mark: a person's note
//! end       last line: the summary of the load without its warm-up
//! ```
//! Times are seconds since the session began (`t_s`); a stretch ends at its `t_s` and lasts `length_s`.
//! Durations carry their unit in the name. Distributions are written as
//! [`Latency`](crate::stats::Latency) documents. What is of one server carries the number of its `node`; without one it is of the
//! first, which mostly is the only one. So the records of each node are a session, and sums over nodes are merges.

use serde::{Deserialize, Serialize};

use super::{Event, Interval, Summary, interval::whole, part::is_nothing};
use crate::{
    clock::{SECOND_NS, seconds, tick_of},
    events::{Best, Found},
    knobs::Knobs,
    load::{Prefilling, Turned},
    probe, server,
};

/// The version of this schema. A reader refuses every other one.
pub const SCHEMA: u32 = 4;

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The session begins.
    Session(SessionStart),
    /// New knobs hold from here on.
    Segment(Segment),
    /// What the load did.
    Interval(#[serde(deserialize_with = "whole")] Box<Interval>),
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
        }
    }

    /// The number of the node that it is of, from 0; `None` where it is of the session.
    pub fn node(&self) -> Option<u16> {
        match self {
            Self::Session(_) | Self::Wake(_) | Self::Intrinsic(_) | Self::Mark(_) => None,
            Self::Segment(segment) => Some(segment.node),
            Self::Interval(interval) => Some(interval.node),
            Self::Ping(span) => Some(span.node),
            Self::Server(moment) => Some(moment.node),
            Self::Event(event) => Some(event.node),
            Self::End(end) => Some(end.node),
        }
    }

    /// Whether it is of this node, or of the session and so of all nodes.
    pub fn is_of(&self, node: u16) -> bool {
        self.node().is_none_or(|own| own == node)
    }

    /// The same of this node, unless it is of the session.
    #[must_use]
    pub fn at_node(mut self, node: u16) -> Self {
        match &mut self {
            Self::Session(_) | Self::Wake(_) | Self::Intrinsic(_) | Self::Mark(_) => {}
            Self::Segment(segment) => segment.node = node,
            Self::Interval(interval) => interval.node = node,
            Self::Ping(span) => span.node = node,
            Self::Server(moment) => moment.node = node,
            Self::Event(event) => event.node = node,
            Self::End(end) => end.node = node,
        }
        self
    }
}

/// A record as its line of JSON, with the line's end.
///
/// # Errors
/// When a distribution cannot be encoded, for lack of memory.
pub fn line(record: &Record) -> serde_json::Result<String> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    Ok(line)
}

/// A body that describes a stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span<T> {
    /// When the stretch ended.
    pub t_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// Of which node, from 0.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub node: u16,
    /// The tick that it ended in, counted from the session's beginning: records of one tick belong together, whoever
    /// made them.
    pub tick: u64,
    /// What happened in it.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Span<T> {
    /// A stretch of `length_s` seconds up to `t_s`.
    pub fn new(t_s: f64, length_s: f64, body: T) -> Self {
        let tick = tick_of((t_s * SECOND_NS as f64).round() as u64);
        Self { t_s, length_s, node: 0, tick, body }
    }
}

/// A body that describes one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment<T> {
    /// The moment.
    pub t_s: f64,
    /// Of which node, from 0.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub node: u16,
    /// What held then.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Moment<T> {
    /// What held at `t_s`.
    pub fn new(t_s: f64, body: T) -> Self {
        Self { t_s, node: 0, body }
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
    /// Since when this file holds it, in seconds of the session: not 0 in the later ones of several files.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub from_s: f64,
    /// The server: node 0.
    pub target: ServerIdentity,
    /// Further ones, in the order of their numbers, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<ServerIdentity>,
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
    #[serde(default, skip_serializing_if = "is_nothing")]
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
    /// Of which node, from 0.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub node: u16,
    /// Its number, from 1.
    pub segment: u32,
    /// The settings.
    pub knobs: Knobs,
    /// Whether this is the warm-up, which the summary leaves out.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub warmup: bool,
    /// What makes the keys that the load of these knobs reads, if this is that; the summary leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Prefilling>,
    /// The parameter of the server that was set, if it was that and no knob that was turned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<server::ConfigChange>,
}

impl Segment {
    /// That of knobs that were turned: no warm-up, no prefill, no parameter that was set.
    pub fn new(t_s: f64, segment: u32, knobs: Knobs) -> Self {
        Self { t_s, node: 0, segment, knobs, warmup: false, prefill: None, config: None }
    }

    /// That which the load's engine began with these knobs, because of this parameter of the server if it was that.
    pub(super) fn begun(turned: Turned, knobs: Knobs, config: Option<server::ConfigChange>) -> Self {
        let Turned { segment, since_ns, is_warmup: warmup, prefill } = turned;
        Self { warmup, prefill, config, ..Self::new(seconds(since_ns), segment, knobs) }
    }

    /// What it is, if it counts for nothing but itself: `prefill`, `warm-up`.
    pub fn aside(&self) -> Option<&'static str> {
        let prefill = self.prefill.map(|_| "prefill");
        prefill.or(self.warmup.then_some("warm-up"))
    }
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When.
    pub t_s: f64,
    /// Of which node, from 0; that of the first is the very last.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub node: u16,
    /// What the load did while it was on.
    pub summary: Summary,
    /// Good replies per second of the segment that had most of them; `None` where none lasted a second under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_ops_per_s: Option<f64>,
    /// What an experiment found, if one looked for something and there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// The best step of a sweep, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
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
    fn each_node_has_its_own_records_and_all_have_those_of_the_session() {
        let records = [interval(1), interval(2).at_node(1), mark().at_node(1), interval(3).at_node(0)];
        let of = |node| records.iter().filter(|record| record.is_of(node)).cloned().collect::<Vec<_>>();
        assert_eq!(of(0), [interval(1), mark(), interval(3)]);
        assert_eq!(of(1), [interval(2).at_node(1), mark()]);
        assert_eq!(of(2), [mark()]);
    }

    #[test]
    fn the_number_of_the_node_stands_in_its_line_and_that_of_the_first_does_not() {
        let event = |node| Record::Event(Event::new(1.0, crate::events::EventKind::Reachable)).at_node(node);
        let line = serde_json::to_string(&event(2)).unwrap();
        assert!(line.starts_with(r#"{"kind":"event","t_s":1.0,"node":2,"#), "{line}");
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), event(2));
        assert!(!serde_json::to_string(&event(0)).unwrap().contains("node"));
    }
}
