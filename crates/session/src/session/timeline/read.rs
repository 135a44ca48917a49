//! What a timeline offers those who draw and write.

use super::{ErrorLog, IntrinsicRun, Lane, Measure, Outages, Segments, Timeline};
use crate::{
    protocol::{Dialect, Words},
    server::Status,
    session::{Event, Mark, Moment, SessionStart, Summary},
};

impl Timeline {
    /// The moment of the latest record, in seconds since the session began.
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// When it begins, in seconds since the session began: later than 0 in a later file of a recording that is in several.
    pub fn begins_s(&self) -> f64 {
        self.session().map_or(0.0, |session| session.from_s).clamp(0.0, self.now_s)
    }

    /// The first record, when it came.
    pub fn session(&self) -> Option<&SessionStart> {
        self.session.as_ref()
    }

    /// The server's own names for its figures.
    pub fn words(&self) -> &'static Words {
        Dialect::of_server(self.session.as_ref().map_or("", |session| &session.target.server)).words()
    }

    /// Good replies per second over the last second of this segment; `None` when nothing was measured in it.
    pub fn ops_per_s(&self) -> Option<f64> {
        let (length_s, ops) =
            self.recent_ops.iter().fold((0.0, 0), |(length, ops), (_, l, o)| (length + l, ops + o));
        (length_s > 0.0).then(|| ops as f64 / length_s)
    }

    /// Good replies per second over the last 60 s of this segment.
    pub fn ops_per_s_minute(&self) -> Option<f64> {
        const MINUTE_S: f64 = 60.0;
        let segment = self.segments.current()?;
        // A young segment is known as a whole; its first and last ticks are not all its own.
        if self.now_s - segment.start.t_s <= MINUTE_S {
            return (segment.total.length_s > 0.0).then_some(segment.total.ops_per_s);
        }
        let cells = self.load.between(self.now_s - MINUTE_S, self.now_s);
        let (ops, length_s) = cells
            .fold((0, 0.0), |(ops, length_s), cell| (ops + cell.value.ops, length_s + cell.value.length_s));
        (length_s > 0.0).then(|| ops as f64 / length_s)
    }

    /// When the load had no connection.
    pub fn outages(&self) -> &Outages {
        &self.outages
    }

    /// A measurement of latencies over time.
    pub fn lane(&self, measure: Measure) -> &Lane {
        &self.lanes[measure as usize]
    }

    /// The last run of the intrinsic probe.
    pub fn intrinsic_run(&self) -> Option<&IntrinsicRun> {
        self.intrinsic_run.as_ref()
    }

    /// What the server last said, and when.
    pub fn status(&self) -> Option<&Moment<Status>> {
        self.status.as_ref()
    }

    /// The segments.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Errors by kind, of load and ping.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// What happened, oldest first; the last ten thousand.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    /// A person's notes, oldest first; the last ten thousand.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &Mark> {
        self.marks.iter()
    }

    /// How many events and marks are no longer listed.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The session without its warm-up: what the writer summed up, else the sum of the segments.
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
