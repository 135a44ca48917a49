//! The fold itself: one record after another into lanes, windows and totals.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use super::{ErrorLog, FIRST_ERROR, IntrinsicRun, Lane, PingWindows, Segments, Series};
use crate::{
    clock::{TICK_NS, seconds},
    server::Status,
    session::{End, Event, Interval, Mark, Moment, Record, Segment, SessionStart},
};

/// An hour of seconds is kept on the time axis.
const KEPT_S: usize = 3600;
/// How many events and marks are kept.
const KEPT_EVENTS: usize = 1000;
/// A server figure "since the previous poll" also stands for seconds without a poll, up to this many.
const POLL_REACH_S: u64 = 5;

/// What a timeline is told at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineOptions {
    /// The length of a ping window (`-i`).
    pub ping_window: Duration,
}

impl Default for TimelineOptions {
    /// 15 s, as `redis-cli --latency-history`.
    fn default() -> Self {
        Self { ping_window: Duration::from_secs(15) }
    }
}

/// What the load did in one tick, over all segments that have a part in it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Throughput {
    /// Good replies in the tick; a longer interval is shared out among its ticks.
    pub ops: f64,
}

/// What the server said of itself in one second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServerCell {
    /// Share of one core.
    pub cpu: Option<f64>,
    /// Commands per second as the server counts them.
    pub ops_per_s: Option<f64>,
}

/// The fold over a session's records.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub(super) now_s: f64,
    pub(super) session: Option<SessionStart>,
    pub(super) throughput: Series<Throughput>,
    pub(super) recent_ops: VecDeque<(f64, f64, u64)>,
    pub(super) service: Lane,
    pub(super) ping: Lane,
    pub(super) wake: Lane,
    pub(super) intrinsic: Lane,
    pub(super) intrinsic_run: Option<IntrinsicRun>,
    pub(super) server: Series<ServerCell>,
    pub(super) status: Option<Moment<Status>>,
    pub(super) segments: Segments,
    pub(super) pings: PingWindows,
    pub(super) errors: ErrorLog,
    pub(super) error_counts: Series<u64>,
    pub(super) last_reply_s: Option<f64>,
    pub(super) last_pong_s: Option<f64>,
    pub(super) events: VecDeque<Event>,
    pub(super) marks: VecDeque<Mark>,
    pub(super) end: Option<End>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new(TimelineOptions::default())
    }
}

impl Timeline {
    /// An empty timeline.
    pub fn new(options: TimelineOptions) -> Self {
        let ticks_a_second = (1.0 / seconds(TICK_NS)) as usize;
        Self {
            now_s: 0.0,
            session: None,
            throughput: Series::new(seconds(TICK_NS), KEPT_S * ticks_a_second),
            recent_ops: VecDeque::new(),
            service: Lane::new(KEPT_S),
            ping: Lane::new(KEPT_S),
            wake: Lane::new(KEPT_S),
            intrinsic: Lane::new(KEPT_S),
            intrinsic_run: None,
            server: Series::new(1.0, KEPT_S),
            status: None,
            segments: Segments::default(),
            pings: PingWindows::new(options.ping_window.as_secs_f64()),
            errors: ErrorLog::default(),
            error_counts: Series::new(1.0, KEPT_S),
            last_reply_s: None,
            last_pong_s: None,
            events: VecDeque::new(),
            marks: VecDeque::new(),
            end: None,
        }
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Session(start) => self.session = Some(start.clone()),
            Record::Segment(segment) => self.begin_segment(segment),
            Record::Interval(interval) => self.push_interval(interval),
            Record::Ping(span) => {
                self.ping.push(span.t_s, span.length_s, &span.body.rtt);
                self.pings.push(span.t_s, span.length_s, &span.body);
                if !span.body.rtt.is_empty() {
                    self.last_pong_s = Some(span.t_s);
                }
                self.count_errors(span.t_s, &span.body.errors);
                self.advance(span.t_s);
            }
            Record::Wake(span) => {
                self.wake.push(span.t_s, span.length_s, &span.body.late);
                self.advance(span.t_s);
            }
            Record::Intrinsic(span) => {
                self.intrinsic.push(span.t_s, span.length_s, &span.body.gaps);
                match &mut self.intrinsic_run {
                    Some(run) if run.goes_on_with(&span.body) => run.push(span.t_s, &span.body),
                    run => *run = Some(IntrinsicRun::begin(span.t_s, &span.body)),
                }
                self.advance(span.t_s);
            }
            Record::Server(moment) => self.push_status(moment),
            Record::Event(event) => {
                if event.name == FIRST_ERROR {
                    self.errors.first_message(&event.detail);
                }
                push_bounded(&mut self.events, event.clone());
                self.advance(event.t_s);
            }
            Record::Mark(mark) => {
                push_bounded(&mut self.marks, mark.clone());
                self.advance(mark.t_s);
            }
            Record::End(end) => {
                for (kind, message) in &end.summary.first_errors {
                    self.errors.first(kind, message);
                }
                self.end = Some((**end).clone());
                self.advance(end.t_s);
            }
        }
    }

    fn begin_segment(&mut self, segment: &Segment) {
        self.segments.begin(segment);
        self.recent_ops.clear();
        [&mut self.service, &mut self.ping, &mut self.wake].into_iter().for_each(Lane::cut);
        self.pings.cut();
        self.advance(segment.t_s);
    }

    fn push_interval(&mut self, interval: &Interval) {
        let Interval { t_s, length_s, .. } = *interval;
        for (tick, share) in self.throughput.shares(t_s, length_s) {
            if let Some(cell) = self.throughput.entry(tick) {
                cell.ops += interval.ops as f64 * share;
            }
        }
        let current = self.segments.current().map(|segment| segment.start.segment);
        if current.is_none_or(|current| current == interval.segment) && length_s > 0.0 {
            self.service.push(t_s, length_s, &interval.service);
            self.recent_ops.push_back((t_s, length_s, interval.ops));
        } else {
            self.service.note_late(t_s, &interval.service);
        }
        if interval.ops > 0 {
            self.last_reply_s = Some(t_s);
        }
        self.segments.push(interval);
        self.count_errors(t_s, &interval.errors);
        self.advance(t_s);
    }

    fn count_errors(&mut self, t_s: f64, errors: &BTreeMap<String, u64>) {
        self.errors.count(t_s, errors);
        let all = errors.values().sum::<u64>();
        if all > 0
            && let Some(count) = self.error_counts.entry(self.error_counts.step_ending(t_s))
        {
            *count += all;
        }
    }

    fn push_status(&mut self, moment: &Moment<Status>) {
        let cell = ServerCell { cpu: moment.body.cpu, ops_per_s: moment.body.ops_per_s };
        let second = self.server.step_ending(moment.t_s);
        let previous = self.status.as_ref().map(|before| self.server.step_ending(before.t_s));
        let first = previous.filter(|p| p + POLL_REACH_S >= second).map_or(second, |p| p + 1).min(second);
        for step in first..=second {
            if let Some(entry) = self.server.entry(step) {
                *entry = cell;
            }
        }
        self.status = Some(moment.clone());
        self.advance(moment.t_s);
    }

    fn advance(&mut self, t_s: f64) {
        if t_s <= self.now_s {
            return;
        }
        self.now_s = t_s;
        while self.recent_ops.front().is_some_and(|(ended, ..)| *ended <= t_s - 0.875) {
            self.recent_ops.pop_front();
        }
        for lane in [&mut self.service, &mut self.ping, &mut self.wake, &mut self.intrinsic] {
            lane.age(t_s);
        }
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    while list.len() > KEPT_EVENTS {
        list.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::Knobs,
        probe::Ping,
        session::{Span, Summary, timeline::Level},
        stats::{Latency, Recorder},
    };

    fn of(ns: u64, n: u64) -> Latency {
        let mut recorder = Recorder::new();
        (0..n).for_each(|_| recorder.record(ns));
        recorder.latency()
    }

    fn segment(t_s: f64, number: u32) -> Record {
        Record::Segment(Segment { t_s, segment: number, knobs: Knobs::default(), warmup: false })
    }

    fn interval(segment: u32, t_s: f64, length_s: f64, latency: Latency) -> Record {
        let ops = latency.count();
        let service = latency;
        Record::Interval(Box::new(Interval { t_s, length_s, segment, ops, service, ..Interval::default() }))
    }

    fn fold(records: impl IntoIterator<Item = Record>) -> Timeline {
        let mut timeline = Timeline::default();
        records.into_iter().for_each(|record| timeline.push(&record));
        timeline
    }

    #[test]
    fn a_tick_sums_the_throughput_of_all_its_segments_and_mixes_no_percentile() {
        let timeline = fold([
            segment(0.0, 1),
            interval(1, 0.1, 0.1, of(1_000, 100)),
            segment(0.1, 2),
            interval(2, 0.25, 0.15, of(500_000, 50)),
            interval(1, 0.25, 0.0, of(90_000_000, 1)),
        ]);
        assert_eq!(timeline.throughput().get(0).unwrap().ops, 151.0);
        let cell = timeline.service().seconds().get(0).unwrap();
        assert!(cell.get(Level::P50).is_some_and(|ns| ns.abs_diff(500_000) < 1_000));
        assert_eq!(cell.get(Level::Max), Some(90_000_000));
        assert_eq!(timeline.service().minute().count(), 50);
        let totals: Vec<_> = timeline.segments().iter().map(|s| s.total.ops).collect();
        assert_eq!(totals, [101, 50]);
    }

    #[test]
    fn rates_are_of_the_current_segment_and_none_without_measurement() {
        let mut timeline = fold([segment(0.0, 1), interval(1, 0.25, 0.25, of(1_000, 100))]);
        assert_eq!((timeline.ops_per_s(), timeline.ops_per_s_minute()), (Some(400.0), Some(400.0)));
        timeline.push(&segment(0.25, 2));
        assert_eq!(timeline.ops_per_s(), None);
        timeline.push(&interval(2, 0.5, 0.25, of(1_000, 10)));
        assert_eq!((timeline.ops_per_s(), timeline.ops_per_s_minute()), (Some(40.0), Some(40.0)));
    }

    #[test]
    fn a_tick_that_closes_late_does_not_drag_the_minute_down() {
        let mut timeline = fold([segment(0.2, 1), interval(1, 0.252, 0.052, of(1_000, 52))]);
        assert!(timeline.ops_per_s_minute().is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
        for tick in 2..=400 {
            timeline.push(&interval(1, f64::from(tick) * 0.25 + 0.002, 0.25, of(1_000, 250)));
        }
        assert!(timeline.ops_per_s_minute().is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
    }

    #[test]
    fn what_was_not_measured_is_a_gap() {
        let timeline = fold([
            segment(0.0, 1),
            interval(1, 1.0, 0.25, of(1_000, 100)),
            interval(1, 4.0, 0.25, of(1_000, 100)),
        ]);
        let lane = timeline.service().level(Level::P50, 4, 5);
        let known: Vec<_> = lane.map(|cell| cell.is_some()).collect();
        assert_eq!(known, [false, true, false, false, true]);
        assert_eq!(timeline.throughput().get(7), None);
    }

    #[test]
    fn a_status_stands_for_the_seconds_since_the_previous_one() {
        let status =
            |t_s, cpu| Record::Server(Moment { t_s, body: Status { cpu: Some(cpu), ..Status::default() } });
        let timeline = fold([status(0.99, 0.1), status(2.01, 0.2), status(60.0, 0.3)]);
        let cpu: Vec<_> = [0, 1, 2, 3, 58, 59].map(|s| timeline.server().get(s).and_then(|c| c.cpu)).into();
        assert_eq!(cpu, [Some(0.1), Some(0.2), Some(0.2), None, None, Some(0.3)]);
    }

    #[test]
    fn errors_come_from_load_and_ping_with_their_first_message() {
        let errors = [("OOM".to_owned(), 3)].into();
        let lost = [("timeout".to_owned(), 25)].into();
        let first = Event { t_s: 1.0, name: FIRST_ERROR.to_owned(), detail: "OOM: OOM no memory".to_owned() };
        let timeline = fold([
            Record::Interval(Box::new(Interval { t_s: 1.0, length_s: 0.25, errors, ..Interval::default() })),
            Record::Ping(Span { t_s: 1.0, length_s: 0.25, body: Ping { errors: lost, ..Ping::default() } }),
            Record::Event(first),
        ]);
        assert_eq!(timeline.error_counts().get(0), Some(&28), "those of load and ping");
        let kinds: Vec<_> = timeline.errors().by_count().into_iter().map(|(k, e)| (k, e.count)).collect();
        assert_eq!(kinds, [("timeout", 25), ("OOM", 3)]);
        let summary = timeline.summary();
        assert_eq!(summary.first_errors.get("OOM").map(String::as_str), Some("OOM no memory"));
    }

    #[test]
    fn the_writers_own_summary_wins_over_the_sum() {
        let summary = Summary { ops: 7, ..Summary::default() };
        let timeline = fold([
            segment(0.0, 1),
            interval(1, 0.25, 0.25, of(1_000, 100)),
            Record::End(Box::new(End { t_s: 1.0, summary: summary.clone() })),
        ]);
        assert_eq!(timeline.summary(), summary);
    }
}
