//! The state of the tables on the screen: sort order, selected rows, and the filter of the log.

use std::borrow::Cow;

use super::{
    Direction,
    list::{order, turned},
};
use crate::session::{
    figures::{self, Figure, Row},
    timeline::SegmentTotal,
};

/// The columns of the segments' table, from left to right.
pub const COLUMNS: [Figure; 25] = [
    figures::SEGMENT,
    figures::START,
    figures::LENGTH,
    figures::SHAPE,
    figures::RATE,
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P90,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::RESPONSE_P50,
    figures::RESPONSE_P99,
    figures::RESPONSE_P999,
    figures::DELIVERY_P50,
    figures::DELIVERY_P99,
    figures::HANDOVER_P50,
    figures::HANDOVER_P99,
    figures::INVALIDATION_P50,
    figures::INVALIDATION_P99,
    figures::LOST,
    figures::SEND_LAG,
    figures::SHED,
    figures::ERRORS,
    figures::SERVER_CPU,
];

/// The state of the segments' table.
#[derive(Debug, Clone)]
pub struct SegmentTable {
    sorted_by: usize,
    /// Whether the highest value is in the first row.
    pub descending: bool,
    pub(super) selected: Option<u32>,
    /// The number of the baseline segment. All other segments are compared with it.
    pub baseline: Option<u32>,
}

impl Default for SegmentTable {
    /// Sorts the newest segment first.
    fn default() -> Self {
        Self { sorted_by: 0, descending: true, selected: None, baseline: None }
    }
}

impl SegmentTable {
    /// Returns the column that the table is sorted by.
    pub fn sorted_by(&self) -> Figure {
        COLUMNS[self.sorted_by]
    }

    /// Sorts by the next column to the left or right. The first column follows the last. Columns about
    /// receivers are left out if there are none.
    pub(super) fn sort_by_next(&mut self, direction: Direction, has_receivers: bool) {
        loop {
            self.sorted_by = turned(self.sorted_by, direction, COLUMNS.len());
            if has_receivers || !figures::OF_RECEIVERS.contains(&self.sorted_by()) {
                break;
            }
        }
    }

    pub(super) fn reverse(&mut self) {
        self.descending = !self.descending;
    }

    /// Sorts segments as in the table. Segments without a value are last in both directions; segments with equal
    /// values are in the order of their numbers.
    pub(super) fn sort(&self, segments: &mut [&SegmentTotal], now_s: f64) {
        let value = |segment| self.sorted_by().value(&Row::of_segment(segment, now_s));
        segments.sort_by(|a, b| order(value(a), value(b), self.descending));
    }
}

/// What a line in the log reports.
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
    /// What the line reports.
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

    /// Returns where `needle`, a text in lower case, occurs in the words of this line (`name text`), as ranges of
    /// characters. An empty needle never occurs.
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
    /// The position of the selected line; `None` if the selection follows the newest line.
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
