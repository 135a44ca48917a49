//! What a timeline tells those who draw and write.

use super::{
    ErrorLog, IntrinsicRun, Lane, PingWindows, SegmentTotal, Segments, Series, ServerCell, Throughput,
    Timeline,
};
use crate::{
    server::Status,
    session::{Event, Mark, Moment, SessionStart, Summary},
    stats::Latency,
};

impl Timeline {
    /// The moment of the latest record, in seconds since the session began.
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// The first record, when it came.
    pub fn session(&self) -> Option<&SessionStart> {
        self.session.as_ref()
    }

    /// The load's ticks.
    pub fn throughput(&self) -> &Series<Throughput> {
        &self.throughput
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
        // A tick that still runs would count as a dip.
        let step_s = self.throughput.step_s();
        let end = (self.now_s / step_s + 1e-6) as u64;
        let first = end.saturating_sub((MINUTE_S / step_s) as u64);
        let measured = (first..end).filter_map(|tick| self.throughput.get(tick));
        let (n, ops) = measured.fold((0, 0.0), |(n, ops), cell| (n + 1, ops + cell.ops));
        (n > 0).then(|| ops / (f64::from(n) * step_s))
    }

    /// Time from the write of a request to its own reply.
    pub fn service(&self) -> &Lane {
        &self.service
    }

    /// The ping probe.
    pub fn ping(&self) -> &Lane {
        &self.ping
    }

    /// The wake probe.
    pub fn wake(&self) -> &Lane {
        &self.wake
    }

    /// The intrinsic probe over time.
    pub fn intrinsic(&self) -> &Lane {
        &self.intrinsic
    }

    /// The last run of the intrinsic probe.
    pub fn intrinsic_run(&self) -> Option<&IntrinsicRun> {
        self.intrinsic_run.as_ref()
    }

    /// The server's figures for each second.
    pub fn server(&self) -> &Series<ServerCell> {
        &self.server
    }

    /// What the server last said, and when.
    pub fn status(&self) -> Option<&Moment<Status>> {
        self.status.as_ref()
    }

    /// The segments.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// What the current segment measured so far.
    pub fn segment_service(&self) -> Option<&Latency> {
        self.segments.current().map(|segment: &SegmentTotal| &segment.total.service)
    }

    /// The ping windows.
    pub fn pings(&self) -> &PingWindows {
        &self.pings
    }

    /// Errors by kind, of load and ping.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// When the load last had a good reply, by the tick.
    pub fn last_reply_s(&self) -> Option<f64> {
        self.last_reply_s
    }

    /// When a PING was last answered, by the tick.
    pub fn last_pong_s(&self) -> Option<f64> {
        self.last_pong_s
    }

    /// Errors in each second, of load and ping; a second without one is a gap.
    pub fn error_counts(&self) -> &Series<u64> {
        &self.error_counts
    }

    /// What happened, oldest first; the last thousand.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    /// A person's notes, oldest first; the last thousand.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &Mark> {
        self.marks.iter()
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
