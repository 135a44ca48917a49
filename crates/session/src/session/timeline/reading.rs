//! All values that a screen shows for one moment: the present, or a moment in the past.

use std::{borrow::Cow, cell::OnceCell};

use super::{
    CommandCell, ErrorLog, IntrinsicRun, Measure, PingCell, PingWindow, SegmentTotal, Segments, ServerCell,
    Timeline, Window, history::Merge,
};
use crate::{
    clock::{TICK_NS, seconds},
    events::EventKind,
    host::HostSample,
    probe::{TcpRtt, Timing},
    protocol::DialectWords,
    server::Status,
    session::{Event, Mark, Moment, SessionStart, WatchedFigure},
    stats::{Blend, Latency, baseline::UsualLevel},
};

/// The length of the longer window, in seconds.
const MINUTE_S: f64 = 60.0;
/// The length of the window "now", in seconds.
const NOW_S: f64 = 1.0;

/// All values of the timeline at one moment.
///
/// At the latest moment, the values of the windows are exact. At earlier moments, the values come from the history, or
/// from the part of the recording that was read again. Latencies from the history are at most 3.2 % too long. If the
/// time slots at a moment are longer than a second, the windows are whole time slots.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    /// The timeline of the node.
    pub timeline: &'a Timeline,
    /// The timeline with the most detail in the last minute. Either the session's timeline, or the timeline of the part
    /// that was read again, has the most detail.
    pub(super) cells: &'a Timeline,
    t_s: f64,
    /// Whether `t_s` is the latest moment.
    is_latest: bool,
    /// The values of the session's first node, because its timeline has the measurements of this machine. `None` if
    /// this is the first node.
    first: Option<Box<Self>>,
    /// The latencies of each measurement. The latencies are computed on demand, because a screen with many nodes shows
    /// only some of the latencies.
    windows: [OnceCell<Recent<'a>>; Measure::ALL.len()],
}

/// The latencies of one measurement shortly before a moment. Latencies from earlier segments are
/// excluded.
#[derive(Debug, Clone)]
pub struct Recent<'a> {
    /// The latencies of the second before the moment.
    pub now: Cow<'a, Latency>,
    /// The latencies of the 60 s before the moment.
    pub minute: Cow<'a, Latency>,
}

impl Timeline {
    /// Returns the values at the latest moment.
    pub fn latest(&self) -> Reading<'_> {
        let windows = Default::default();
        Reading { timeline: self, cells: self, t_s: self.now_s, is_latest: true, first: None, windows }
    }

    /// Returns the values at `t_s`. If `t_s` is after the latest record, returns the [`latest`](Self::latest) values.
    pub fn at(&self, t_s: f64) -> Reading<'_> {
        if t_s >= self.now_s {
            return self.latest();
        }
        let cells = self.finest(t_s - MINUTE_S, t_s);
        Reading { cells, t_s, is_latest: false, ..self.latest() }
    }
}

impl<'a> Reading<'a> {
    /// Sets the source for the measurements of this machine. This source is the first node's values at the same moment.
    #[must_use]
    pub fn beside(self, first: Self) -> Self {
        Self { first: Some(Box::new(first)), ..self }
    }

    /// Returns the values that contain `measure`. Measurements of this machine are in the first node's values.
    pub fn with(&self, measure: Measure) -> &Self {
        self.first.as_deref().filter(|_| measure.is_of_machine()).unwrap_or(self)
    }

    /// Returns the moment, in seconds of the session.
    pub fn now_s(&self) -> f64 {
        self.t_s
    }

    /// Returns the latest moment that can be shown.
    pub fn known_s(&self) -> f64 {
        self.timeline.now_s
    }

    /// Returns all listed segments, including segments that began after this moment.
    pub fn known_segments(&self) -> &'a Segments {
        &self.timeline.segments
    }

    /// Returns the first record of the session; `None` until this record has arrived.
    pub fn session(&self) -> Option<&'a SessionStart> {
        self.timeline.session.as_ref()
    }

    /// Returns the names that the server itself uses for its figures.
    pub fn words(&self) -> &'static DialectWords {
        self.timeline.words()
    }

    /// Returns the latencies of `measure` in the last second and the last 60 s.
    pub fn recent(&self, measure: Measure) -> &Recent<'a> {
        let values = self.with(measure);
        values.windows[measure as usize].get_or_init(|| {
            if !values.is_latest {
                return values.past(measure);
            }
            let lane = values.timeline.lane(measure);
            Recent { now: Cow::Borrowed(lane.now()), minute: Cow::Borrowed(lane.minute()) }
        })
    }

    /// Returns the latencies of `measure` before a moment in the past, from the history.
    fn past(&self, measure: Measure) -> Recent<'a> {
        let (segment, _) = self.probed_segment();
        let mut blend = Blend::default();
        let cells = &self.cells.lane(measure).cells;
        let mut over = |length_s: f64| {
            let window = Window::single(self.cells, self.t_s - length_s, self.t_s);
            window.placed(cells).for_each(|(_, cell)| cell.value.blend(segment, &mut blend));
            Cow::Owned(blend.take())
        };
        Recent { now: over(NOW_S), minute: over(MINUTE_S) }
    }

    /// Returns the service times in the last second and the last 60 s.
    pub fn service(&self) -> &Recent<'a> {
        self.recent(Measure::Service)
    }

    /// Returns the round trips of PING in the last second and the last 60 s.
    pub fn ping(&self) -> &Recent<'a> {
        self.recent(Measure::Ping)
    }

    /// Returns the counts of the pings in the second before the moment.
    pub fn pings_now(&self) -> PingCell {
        self.pings_over(NOW_S)
    }

    /// Returns the counts of the pings in the 60 s before the moment.
    pub fn pings_minute(&self) -> PingCell {
        self.pings_over(MINUTE_S)
    }

    fn pings_over(&self, length_s: f64) -> PingCell {
        // The counts are limited to the segment, like the latencies of the pings.
        let (_, began_s) = self.probed_segment();
        let mut all = PingCell::default();
        let window = Window::single(self.cells, (self.t_s - length_s).max(began_s), self.t_s);
        window.placed(&self.cells.ping_cells).for_each(|(_, cell)| all.merge(*cell.value));
        all
    }

    /// Returns whether the kernel gives timestamps for the pings, or the reason why not. Returns `None` if this is
    /// unknown. The result is the same for the whole session.
    pub fn ping_timing(&self) -> Option<Timing> {
        self.timeline.ping_timing
    }

    /// Returns the kernel's figures about the ping connection. Returns `None` at every moment before the latest.
    pub fn ping_tcp(&self) -> Option<TcpRtt> {
        self.timeline.ping_tcp.filter(|_| self.is_latest)
    }

    /// Returns the delays of the wake probe in the last second and the last 60 s.
    pub fn wake(&self) -> &Recent<'a> {
        self.recent(Measure::Wake)
    }

    /// Returns the good replies per second in the last second of the segment; `None` without measurements.
    pub fn ops_per_s(&self) -> Option<f64> {
        if self.is_latest { self.timeline.ops_per_s() } else { self.rate(NOW_S) }
    }

    /// Returns the good replies per second in the last 60 s of the segment.
    pub fn ops_per_s_minute(&self) -> Option<f64> {
        if self.is_latest { self.timeline.ops_per_s_minute() } else { self.rate(MINUTE_S) }
    }

    pub(super) fn rate(&self, length_s: f64) -> Option<f64> {
        // A time slot that two segments share mixes two settings, so it is used only if there is no other time slot.
        let began_s = self.segment().map_or(0.0, |segment| segment.start.t_s);
        let from_s = (self.t_s - length_s).max(began_s);
        let window = Window::single(self.cells, from_s, self.t_s);
        let cells = || window.placed(&self.cells.load).map(|(_, cell)| cell);
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
            return self.timeline.status.as_ref();
        }
        self.last_cell(|cell| cell.last.as_deref())
    }

    /// Returns the last sample of redyno's machine before the moment.
    pub fn host(&self) -> Option<&'a Moment<HostSample>> {
        if self.is_latest {
            return self.timeline.host.as_deref();
        }
        self.last_cell(|cell| cell.host.as_deref())
    }

    /// Returns the last value before this moment that `of` finds in a time slot of the server.
    fn last_cell<T>(&self, of: impl Fn(&'a ServerCell) -> Option<&'a T>) -> Option<&'a T> {
        let cells = |timeline: &'a Timeline| timeline.server.between(0.0, self.t_s);
        let last = |timeline| cells(timeline).rev().find_map(|cell| of(cell.value));
        last(self.cells).or_else(|| last(self.timeline))
    }

    /// Returns the last value of a watched figure, and its usual level. The usual level is the median of the
    /// last 10 minutes, without the values during level shifts. The value of a gauge that counts events is a
    /// rate per second. Returns `None` in the first 10 s of a segment, and at every moment before the latest.
    pub fn standing(&self, figure: &WatchedFigure) -> Option<(f64, UsualLevel)> {
        self.timeline.watches.usual_level(figure).filter(|_| self.is_latest)
    }

    /// Returns the ratio of a figure to its usual level. Returns `None` if the figure or the usual level is
    /// unknown, or if the usual level is 0.
    pub fn ratio_to_usual(&self, figure: &WatchedFigure) -> Option<f64> {
        let (value, usual) = self.standing(figure)?;
        (usual.level > 0.0).then(|| value / usual.level)
    }

    /// Returns the latencies of a probe in the current segment up to this moment, from the history.
    pub fn of_segment(&self, probe: Measure) -> Latency {
        let values = self.with(probe);
        let (segment, began_s) = values.probed_segment();
        values.timeline.lane(probe).cells.of_segment(segment, began_s, values.t_s, &mut Blend::default())
    }

    /// Returns the commands that the server ran in the 60 s before this moment, or since the start of a shorter
    /// session.
    pub fn commands_minute(&self) -> CommandCell {
        let mut all = CommandCell::default();
        let cells = self.cells.server.between((self.t_s - MINUTE_S).max(0.0), self.t_s);
        // A later poll also covers this moment, but was not known then.
        let known = cells.filter(|cell| cell.start_s < self.t_s - seconds(TICK_NS) / 2.0);
        known.for_each(|cell| all.merge(cell.value.commands.clone()));
        all
    }

    /// Returns the segment of this moment. The figures cover the whole segment, including the time after this moment.
    /// The history is too coarse for a part of a segment.
    pub fn segment(&self) -> Option<&'a SegmentTotal> {
        let segments = self.known_segments();
        if self.is_latest { segments.current() } else { segments.holding_at(self.t_s) }
    }

    /// Returns the segments that began up to this moment, oldest first. Their figures are those of the whole segments.
    /// If there are too many segments, the oldest segments are not listed, but counted in
    /// [`Segments::forgotten`](super::Segments::forgotten).
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &'a SegmentTotal> + use<'a> {
        let t_s = if self.is_latest { f64::INFINITY } else { self.t_s };
        self.known_segments()
            .iter()
            .filter(move |segment| segment.start.t_s < t_s || segment.start.t_s <= 0.0)
    }

    /// Returns the service times of the segment of this moment.
    pub fn segment_service(&self) -> Option<&'a Latency> {
        self.segment().map(|segment| &segment.total.service)
    }

    /// Returns the length of a ping window, in seconds.
    pub fn ping_window_s(&self) -> f64 {
        self.timeline.pings.length_s
    }

    /// Returns the ping windows that began up to this moment, newest first.
    pub fn ping_windows(&self) -> impl Iterator<Item = &'a PingWindow> + use<'a> {
        let t_s = if self.is_latest { f64::INFINITY } else { self.t_s };
        self.timeline.pings.newest_first().filter(move |window| window.start_s < t_s)
    }

    /// Returns the number of failed requests in the last second and in the last 60 s.
    pub fn errors_recent(&self) -> [u64; 2] {
        [NOW_S, MINUTE_S].map(|length_s| {
            let window = Window::single(self.cells, self.t_s - length_s, self.t_s);
            window.placed(&self.cells.error_cells).map(|(_, cell)| cell.value.of_requests()).sum()
        })
    }

    /// Returns the errors up to this moment, by kind.
    pub fn errors(&self) -> Cow<'a, ErrorLog> {
        let all = &self.timeline.errors;
        if self.is_latest {
            return Cow::Borrowed(all);
        }
        let mut log = ErrorLog::default();
        for cell in self.timeline.error_cells.between(0.0, self.t_s) {
            cell.value.0.iter().for_each(|(source, errors)| log.count(cell.to_s, errors, *source));
        }
        Cow::Owned(log.with_first_messages_of(all))
    }

    /// Returns the events up to this moment, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &'a Event> + use<'a> {
        let t_s = self.t_s;
        self.timeline.events.iter().filter(move |event| event.t_s <= t_s)
    }

    /// Returns the user's notes up to this moment, oldest first.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &'a Mark> + use<'a> {
        let t_s = self.t_s;
        self.timeline.marks.iter().filter(move |mark| mark.t_s <= t_s)
    }

    /// Returns the last run of the intrinsic probe, if this run began before this moment.
    pub fn intrinsic_run(&self) -> Option<&'a IntrinsicRun> {
        let values = self.with(Measure::Intrinsic);
        values.timeline.intrinsic_run().filter(|run| values.is_latest || run.began_s <= values.t_s)
    }

    /// Returns the start and the cause of an outage of the target at this moment, from the events. Returns `None` if
    /// the target could be reached.
    pub fn outage(&self) -> Option<(f64, &'a str)> {
        self.events().rev().find_map(|event| match &event.what {
            EventKind::Unreachable { cause } => Some(Some((event.t_s, cause.as_str()))),
            EventKind::Reachable => Some(None),
            _ => None,
        })?
    }
}
