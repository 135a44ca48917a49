//! The methods with which screens and reports query the timeline.

use super::{IntrinsicRun, Lane, Measure, Timeline};
use crate::{
    events::EventKind,
    protocol::{Dialect, DialectWords},
    server::Status,
    session::{Event, Mark, Moment, SessionStart, Summary},
};

impl Timeline {
    /// Returns the start of the timeline, in seconds of the session. The start is above 0 for the second and
    /// later files of a recording.
    pub fn begins_s(&self) -> f64 {
        self.session().map_or(0.0, |session| session.from_s).clamp(0.0, self.now_s)
    }

    /// Returns the measured length of the session so far, in seconds. Times between the files of a recording are left
    /// out.
    pub fn measured_s(&self) -> f64 {
        (self.now_s - self.begins_s() - self.unrecorded_s).max(0.0)
    }

    /// Returns the first record of the session; `None` until this record has arrived.
    pub fn session(&self) -> Option<&SessionStart> {
        self.session.as_ref()
    }

    /// Returns the names that the server itself uses for its figures.
    pub fn words(&self) -> &'static DialectWords {
        Dialect::of_server(self.session.as_ref().map_or("", |session| &session.target.server)).words()
    }

    /// Returns the good replies per second in the last second of the current segment; `None` without measurements.
    pub fn ops_per_s(&self) -> Option<f64> {
        let (length_s, ops) =
            self.recent_ops.iter().fold((0.0, 0), |(length, ops), (_, l, o)| (length + l, ops + o));
        (length_s > 0.0).then(|| ops as f64 / length_s)
    }

    /// Returns the good replies per second in the last 60 s of the current segment.
    pub fn ops_per_s_minute(&self) -> Option<f64> {
        const MINUTE_S: f64 = 60.0;
        let segment = self.segments.current()?;
        // A short segment has an exact sum. The time slots of its first and last ticks also contain results of other
        // segments.
        if self.now_s - segment.start.t_s <= MINUTE_S {
            return (segment.total.length_s > 0.0).then_some(segment.total.ops_per_s);
        }
        let cells = self.load.between(self.now_s - MINUTE_S, self.now_s);
        let (ops, length_s) = cells
            .fold((0, 0.0), |(ops, length_s), cell| (ops + cell.value.ops, length_s + cell.value.length_s));
        (length_s > 0.0).then(|| ops as f64 / length_s)
    }

    /// Returns one latency measurement over time.
    pub fn lane(&self, measure: Measure) -> &Lane {
        &self.lanes[measure as usize]
    }

    /// Returns the last run of the intrinsic probe.
    pub fn intrinsic_run(&self) -> Option<&IntrinsicRun> {
        self.intrinsic_run.as_ref()
    }

    /// Returns the last status of the server, and the time of this status.
    pub fn status(&self) -> Option<&Moment<Status>> {
        self.status.as_ref()
    }

    /// Returns the latest events, at most ten thousand, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    /// Returns the failovers among the latest events, of all nodes, oldest first.
    pub fn failovers(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| matches!(event.what, EventKind::Failover { .. }))
    }

    /// Returns the user's latest notes, at most ten thousand, oldest first.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &Mark> {
        self.marks.iter()
    }

    /// Returns the summary without the warm-up. The summary comes from the end record. Without an end record,
    /// the summary is the sum of the segments.
    pub fn summary(&self) -> Summary {
        if let Some(end) = &self.end {
            return end.summary.clone();
        }
        let mut summary = self.segments.summary();
        for (kind, error) in self.errors.by_count() {
            if let Some(first) = error.first.as_ref().filter(|_| summary.errors.contains_key(kind)) {
                summary.first_errors.insert(kind.to_owned(), first.clone());
            }
        }
        summary
    }
}
