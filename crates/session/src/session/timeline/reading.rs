//! All values at one moment for tables and figures: now, or at a cursor in the past.

use std::borrow::Cow;

use super::{
    CommandCell, ErrorLog, IntrinsicRun, Latest, Measure, PingCell, PingWindow, SegmentTotal, Segments,
    Timeline, by_segment::BySegment, history::Merge,
};
use crate::{
    clock::{TICK_NS, seconds},
    events::EventKind,
    probe::{TcpRtt, Timing},
    protocol::Words,
    server::Status,
    session::{Event, Mark, Moment, SessionStart},
    stats::{Blend, Latency},
};

/// The length of the second window, next to "now", in seconds.
const MINUTE_S: f64 = 60.0;
/// The length of the window "now", in seconds.
const NOW_S: f64 = 1.0;

/// The values at one moment.
///
/// At the latest moment the windows are exact. In the past they are read from the cells of the history, or of the part
/// that was read again: latencies are at most 3.2 % too long, and the window is the cell of the moment if that is
/// longer than a second.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    timeline: &'a Timeline,
    /// The timeline with the finest cells of the last minute: the session's, or the part that was read again.
    pub(super) cells: &'a Timeline,
    t_s: f64,
    /// Whether `t_s` is the latest moment.
    is_latest: bool,
    /// The copy of the latest sums of a frozen view, if there is one.
    held: Option<&'a Latest>,
    windows: [Recent<'a>; Measure::ALL.len()],
}

/// The windows of one measurement before a moment, of the segment in force then.
#[derive(Debug, Clone)]
pub struct Recent<'a> {
    now: Cow<'a, Latency>,
    minute: Cow<'a, Latency>,
}

impl Recent<'_> {
    /// Returns the measurements of the second before the moment.
    pub fn now(&self) -> &Latency {
        &self.now
    }

    /// Returns the measurements of the 60 s before the moment.
    pub fn minute(&self) -> &Latency {
        &self.minute
    }
}

impl Timeline {
    /// Returns the values after the latest record.
    pub fn latest(&self) -> Reading<'_> {
        let windows = Measure::ALL.map(|measure| {
            let lane = self.lane(measure);
            Recent { now: Cow::Borrowed(lane.now()), minute: Cow::Borrowed(lane.minute()) }
        });
        Reading { timeline: self, cells: self, t_s: self.now_s, is_latest: true, held: None, windows }
    }

    /// Returns the values at `t_s`; at or after the latest record, the [`latest`](Self::latest).
    pub fn at(&self, t_s: f64) -> Reading<'_> {
        if t_s >= self.now_s {
            return self.latest();
        }
        let segment = self.segments.holding_at(t_s).map_or(1, |segment| segment.start.segment);
        let mut blend = Blend::default();
        let finest = self.finest(t_s - MINUTE_S, t_s);
        let windows = Measure::ALL.map(|measure| {
            let mut over = |length_s: f64| {
                let cells = finest.lane(measure).cells().between(t_s - length_s, t_s);
                cells.for_each(|cell| BySegment::blend(cell.value, segment, &mut blend));
                Cow::Owned(blend.take())
            };
            Recent { now: over(NOW_S), minute: over(MINUTE_S) }
        });
        Reading { timeline: self, cells: finest, t_s, is_latest: false, held: None, windows }
    }

    /// Returns the values at `t_s` for a view that is frozen at the moment of `held`; no later records count. A `t_s`
    /// after that moment gives the values of that moment.
    pub fn held_at<'a>(&'a self, held: &'a Latest, t_s: f64) -> Reading<'a> {
        if t_s < held.t_s {
            return Reading { held: Some(held), is_latest: false, ..self.at(t_s) };
        }
        let windows = Measure::ALL.map(|measure| {
            let (now, minute) = &held.windows[measure as usize];
            Recent { now: Cow::Borrowed(now), minute: Cow::Borrowed(minute) }
        });
        Reading { timeline: self, cells: self, t_s: held.t_s, is_latest: true, held: Some(held), windows }
    }
}

impl<'a> Reading<'a> {
    /// Returns the timeline of the session.
    pub fn timeline(&self) -> &'a Timeline {
        self.timeline
    }

    /// Returns the moment, in seconds of the session.
    pub fn now_s(&self) -> f64 {
        self.t_s
    }

    /// Returns the latest moment with known values: that of the timeline, or of the frozen view.
    pub fn known_s(&self) -> f64 {
        self.held.map_or(self.timeline.now_s, |held| held.t_s)
    }

    /// Returns all known segments, including those that began after this moment.
    pub fn known_segments(&self) -> &'a Segments {
        self.held.map_or(&self.timeline.segments, |held| &held.segments)
    }

    /// Returns the first record, once it has arrived.
    pub fn session(&self) -> Option<&'a SessionStart> {
        self.timeline.session.as_ref()
    }

    /// Returns the server's own names for its figures.
    pub fn words(&self) -> &'static Words {
        self.timeline.words()
    }

    /// Returns the windows of `measure`.
    pub fn recent(&self, measure: Measure) -> &Recent<'a> {
        &self.windows[measure as usize]
    }

    /// Returns the windows of the time from the write of a request to its reply.
    pub fn service(&self) -> &Recent<'a> {
        self.recent(Measure::Service)
    }

    /// Returns the windows of the ping probe.
    pub fn ping(&self) -> &Recent<'a> {
        self.recent(Measure::Ping)
    }

    /// Returns the counts of the pings in the second before the moment.
    pub fn pings_now(&self) -> PingCell {
        self.held
            .filter(|_| self.is_latest)
            .map_or_else(|| self.pings_over(NOW_S), |held| held.recent_pings.0)
    }

    /// Returns the counts of the pings in the 60 s before the moment.
    pub fn pings_minute(&self) -> PingCell {
        self.held
            .filter(|_| self.is_latest)
            .map_or_else(|| self.pings_over(MINUTE_S), |held| held.recent_pings.1)
    }

    fn pings_over(&self, length_s: f64) -> PingCell {
        // Like the times of the pings, the counts are those of the segment.
        let began_s = self.segment().map_or(0.0, |segment| segment.start.t_s);
        let mut all = PingCell::default();
        let cells = self.cells.ping_cells.between((self.t_s - length_s).max(began_s), self.t_s);
        cells.for_each(|cell| all.merge(*cell.value));
        all
    }

    /// Returns whether the kernel timestamps the pings, or why not; `None` before that is known, and in recordings
    /// without this information. It is the same for the whole session.
    pub fn ping_timing(&self) -> Option<Timing> {
        self.timeline.ping_timing
    }

    /// Returns the kernel's figures of the ping connection, at the latest moment only.
    pub fn ping_tcp(&self) -> Option<TcpRtt> {
        self.held.map_or(self.timeline.ping_tcp, |held| held.ping_tcp).filter(|_| self.is_latest)
    }

    /// Returns the windows of the wake probe.
    pub fn wake(&self) -> &Recent<'a> {
        self.recent(Measure::Wake)
    }

    /// Returns the good replies per second over the last second of the segment; `None` without measurements.
    pub fn ops_per_s(&self) -> Option<f64> {
        match self.held {
            _ if !self.is_latest => self.rate(NOW_S),
            Some(held) => held.ops_per_s,
            None => self.timeline.ops_per_s(),
        }
    }

    /// Returns the good replies per second over the last 60 s of the segment.
    pub fn ops_per_s_minute(&self) -> Option<f64> {
        match self.held {
            _ if !self.is_latest => self.rate(MINUTE_S),
            Some(held) => held.ops_per_s_minute,
            None => self.timeline.ops_per_s_minute(),
        }
    }

    fn rate(&self, length_s: f64) -> Option<f64> {
        // A cell that two segments share would mix two settings, so it is used only if there is no other.
        let began_s = self.segment().map_or(0.0, |segment| segment.start.t_s);
        let from_s = (self.t_s - length_s).max(began_s);
        let cells = || self.cells.load.between(from_s, self.t_s);
        let sum = |cells: &mut dyn Iterator<Item = (u64, f64)>| {
            let (ops, length_s) = cells.fold((0, 0.0), |(ops, length_s), (o, l)| (ops + o, length_s + l));
            (length_s > 0.0).then(|| ops as f64 / length_s)
        };
        let mut own = cells().filter(|c| c.from_s >= began_s - 1e-6).map(|c| (c.value.ops, c.value.length_s));
        sum(&mut own).or_else(|| sum(&mut cells().map(|c| (c.value.ops, c.value.length_s))))
    }

    /// Returns the last status of the server before the moment.
    pub fn status(&self) -> Option<&'a Moment<Status>> {
        if self.is_latest {
            return self.held.map_or(&self.timeline.status, |held| &held.status).as_ref();
        }
        let last = |timeline: &'a Timeline| {
            let cells = timeline.server.between(0.0, self.t_s);
            cells.rev().find_map(|cell| cell.value.last.as_deref())
        };
        last(self.cells).or_else(|| last(self.timeline))
    }

    /// Returns all measurements of a probe in the segment in force up to this moment, as fine as the history.
    pub fn of_segment(&self, probe: Measure) -> Latency {
        let (segment, began_s) =
            self.segment().map_or((1, 0.0), |segment| (segment.start.segment, segment.start.t_s));
        let mut blend = Blend::default();
        let cells = self.timeline.lane(probe).cells().between(began_s, self.t_s);
        cells.for_each(|cell| cell.value.blend(segment, &mut blend));
        blend.take()
    }

    /// Returns the commands that the server ran in the 60 s before this moment, or since the session began.
    pub fn commands_minute(&self) -> CommandCell {
        if let Some(held) = self.held.filter(|_| self.is_latest) {
            return held.commands_minute.clone();
        }
        let mut all = CommandCell::default();
        let cells = self.cells.server.between((self.t_s - MINUTE_S).max(0.0), self.t_s);
        // A later poll also covers this moment, but was not known then.
        let known = cells.filter(|cell| cell.start_s < self.t_s - seconds(TICK_NS) / 2.0);
        known.for_each(|cell| all.merge(cell.value.commands.clone()));
        all
    }

    /// Returns the segment in force with all its figures, including those after this moment: the history is too coarse
    /// for an exact part of a segment. So a recording, or a frozen view that is moved into a segment, shows the whole
    /// segment.
    pub fn segment(&self) -> Option<&'a SegmentTotal> {
        let segments = self.known_segments();
        if self.is_latest { segments.current() } else { segments.holding_at(self.t_s) }
    }

    /// Returns the segments that had begun, oldest first, with all their figures. If there are too many, the oldest
    /// are not listed; [`Segments::forgotten`](super::Segments::forgotten) counts them.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &'a SegmentTotal> + use<'a> {
        let t_s = if self.is_latest { f64::INFINITY } else { self.t_s };
        self.known_segments()
            .iter()
            .filter(move |segment| segment.start.t_s < t_s || segment.start.t_s <= 0.0)
    }

    /// Returns the service time of the segment in force.
    pub fn segment_service(&self) -> Option<&'a Latency> {
        self.segment().map(|segment| &segment.total.service)
    }

    /// Returns the length of a ping window, in seconds.
    pub fn ping_window_s(&self) -> f64 {
        self.timeline.pings.length_s()
    }

    /// Returns the ping windows that had begun, the newest first.
    pub fn ping_windows(&self) -> impl Iterator<Item = &'a PingWindow> + use<'a> {
        let t_s = if self.is_latest { f64::INFINITY } else { self.t_s };
        let pings = self.held.map_or(&self.timeline.pings, |held| &held.pings);
        pings.newest_first().filter(move |window| window.start_s < t_s)
    }

    /// Returns the errors up to the moment, by kind.
    pub fn errors(&self) -> Cow<'a, ErrorLog> {
        let all = self.held.map_or(&self.timeline.errors, |held| &held.errors);
        if self.is_latest {
            return Cow::Borrowed(all);
        }
        let mut log = ErrorLog::default();
        for cell in self.timeline.error_cells.between(0.0, self.t_s) {
            log.count(cell.to_s, &cell.value.0, None);
        }
        Cow::Owned(log.with_first_messages_of(all))
    }

    /// Returns the end of the known events and marks: some are later than the latest record.
    fn known_until_s(&self) -> f64 {
        if self.is_latest && self.held.is_none() { f64::INFINITY } else { self.t_s }
    }

    /// Returns the events up to the moment, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &'a Event> + use<'a> {
        let t_s = self.known_until_s();
        self.timeline.events.iter().filter(move |event| event.t_s <= t_s)
    }

    /// Returns the user's notes up to the moment, oldest first.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &'a Mark> + use<'a> {
        let t_s = self.known_until_s();
        self.timeline.marks.iter().filter(move |mark| mark.t_s <= t_s)
    }

    /// Returns the last run of the intrinsic probe, if it had begun.
    pub fn intrinsic_run(&self) -> Option<&'a IntrinsicRun> {
        let run = self.held.map_or(&self.timeline.intrinsic_run, |held| &held.intrinsic_run);
        run.as_ref().filter(|run| self.is_latest || run.began_s <= self.t_s)
    }

    /// Returns since when and why the target could not be reached at this moment, according to the events.
    pub fn outage(&self) -> Option<(f64, &'a str)> {
        self.events().rev().find_map(|event| match &event.what {
            EventKind::Unreachable { cause } => Some(Some((event.t_s, cause.as_str()))),
            EventKind::Reachable => Some(None),
            _ => None,
        })?
    }
}
