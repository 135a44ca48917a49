//! The columns of the table of nodes, the lines of the log, its filter and its selected line.

use std::borrow::Cow;

use crate::session::timeline::Level;

/// A column of the table of nodes. Columns are ordered from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeColumn {
    /// The address. Sorting by this column sorts by the number of the node.
    Node,
    /// The role.
    Role,
    /// The slots of a cluster that the node owns.
    Slots,
    /// The node's share of the load. Without load, this is a primary's share of the commands of all
    /// primaries.
    Share,
    /// The load's requests per second or, without load, the node's commands per second.
    Ops,
    /// A percentile of the load's service times.
    Load(Level),
    /// A percentile of the round trips of PING.
    Ping(Level),
    /// The gauge at this position in [`NODE_GAUGES`](super::NODE_GAUGES).
    Gauge(usize),
    /// The last event.
    Event,
}

/// The subject of a line in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// An event.
    Event,
    /// The first error of its kind, with the number of errors of that kind.
    Error,
    /// A mark: a note by the user.
    Mark,
    /// The beginning of a segment, with the changed knobs.
    Segment,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine<'a> {
    /// The time of the line, in seconds of the session.
    pub t_s: f64,
    /// The subject of the line.
    pub kind: LogKind,
    /// A short name: the name of the event, or the kind of the error.
    pub name: Cow<'a, str>,
    /// The text after the name.
    pub text: Cow<'a, str>,
    /// Whether the line reports a recovery.
    pub is_recovery: bool,
}

impl<'a> LogLine<'a> {
    /// Returns a line that does not report a recovery.
    pub(super) fn new(
        t_s: f64,
        kind: LogKind,
        name: impl Into<Cow<'a, str>>,
        text: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self { t_s, kind, name: name.into(), text: text.into(), is_recovery: false }
    }

    /// Returns the places of `needle` in the words of this line (`name text`), as ranges of characters. `needle` is a
    /// text in lower case. An empty needle has no places.
    pub fn hits(&self, needle: &str) -> Vec<std::ops::Range<usize>> {
        let needle: Vec<char> = needle.chars().collect();
        // Each character becomes exactly one lower-case character, so that positions match the screen.
        let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
        let words: Vec<char> = self.words().chars().map(lower).collect();
        let mut hits: Vec<std::ops::Range<usize>> = Vec::new();
        for at in 0..words.len() {
            let is_free = hits.last().is_none_or(|last| last.end <= at);
            if is_free && !needle.is_empty() && words[at..].starts_with(&needle) {
                hits.push(at..at + needle.len());
            }
        }
        hits
    }

    /// Returns the text of the line, as on screen.
    pub fn words(&self) -> String {
        format!("{} {}", self.name, self.text)
    }
}

/// The filters of the log. The first filter, `None`, shows everything.
pub(super) const FILTERS: [Option<LogKind>; 5] =
    [None, Some(LogKind::Event), Some(LogKind::Error), Some(LogKind::Mark), Some(LogKind::Segment)];

/// The state of the log.
#[derive(Debug, Clone, Default)]
pub struct LogView {
    pub(super) filter: usize,
    /// The position of the selected line. `None` if the selection follows the newest line.
    pub(super) selected: Option<usize>,
    pub(super) needle: String,
}

impl LogView {
    /// Returns the log's filter.
    pub fn filter(&self) -> Option<LogKind> {
        FILTERS[self.filter]
    }

    /// Returns whether the newest line stays selected.
    pub fn follows(&self) -> bool {
        self.selected.is_none()
    }
}
