//! The fold itself: one record after another into lanes, windows and totals.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use super::{
    ErrorCell, ErrorLog, FIRST_ERROR, History, IntrinsicRun, Lane, LoadCell, Measure, Outages, PingWindows,
    Segments, ServerCell, commands::CommandLanes, memo::Memos,
};
use crate::{
    clock::{TICK_NS, seconds},
    probe::{Ping, TcpRtt, Timing},
    server::Status,
    session::{End, Event, Interval, Mark, Moment, Record, Segment, SessionStart, Span, add_counts},
    stats::Latency,
};

/// So many ticks are kept as fine as they came, 100 s, so that eight hours take less than 60 MB; see [`History`].
const KEPT: usize = 400;
/// How many events and marks are kept.
const KEPT_EVENTS: usize = 10_000;
/// A server figure "since the previous poll" also stands for seconds without a poll, up to this many.
const POLL_REACH_S: f64 = 5.0;

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

/// The fold over a session's records.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub(super) now_s: f64,
    pub(super) session: Option<SessionStart>,
    pub(super) load: History<LoadCell>,
    pub(super) recent_ops: VecDeque<(f64, f64, u64)>,
    pub(super) outages: Outages,
    pub(super) lanes: [Lane; Measure::ALL.len()],
    pub(super) commands: CommandLanes,
    pub(super) ping_timing: Option<Timing>,
    pub(super) ping_tcp: Option<TcpRtt>,
    pub(super) intrinsic_run: Option<IntrinsicRun>,
    pub(super) server: History<ServerCell>,
    pub(super) status: Option<Moment<Status>>,
    pub(super) segments: Segments,
    pub(super) pings: PingWindows,
    pub(super) errors: ErrorLog,
    pub(super) error_cells: History<ErrorCell>,
    pub(super) last_reply_s: Option<f64>,
    pub(super) last_pong_s: Option<f64>,
    pub(super) events: VecDeque<Event>,
    pub(super) marks: VecDeque<Mark>,
    /// Events and marks that are no longer listed.
    pub(super) forgotten: u64,
    pub(super) end: Option<End>,
    pub(super) memos: Memos,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new(TimelineOptions::default())
    }
}

impl Timeline {
    /// An empty timeline.
    pub fn new(options: TimelineOptions) -> Self {
        let tick_s = seconds(TICK_NS);
        Self {
            now_s: 0.0,
            session: None,
            load: History::new(tick_s, KEPT),
            recent_ops: VecDeque::new(),
            outages: Outages::default(),
            lanes: Measure::ALL.map(|_| Lane::new(KEPT)),
            commands: CommandLanes::default(),
            ping_timing: None,
            ping_tcp: None,
            intrinsic_run: None,
            server: History::new(tick_s, KEPT),
            status: None,
            segments: Segments::default(),
            pings: PingWindows::new(options.ping_window.as_secs_f64()),
            errors: ErrorLog::default(),
            error_cells: History::new(tick_s, KEPT),
            last_reply_s: None,
            last_pong_s: None,
            events: VecDeque::new(),
            marks: VecDeque::new(),
            forgotten: 0,
            end: None,
            memos: Memos::default(),
        }
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &Record) {
        if let Some(since_s) = changes_since(record) {
            self.memos.touch(since_s, self.now_s);
        }
        match record {
            Record::Session(start) => self.session = Some(start.clone()),
            Record::Segment(segment) => self.begin_segment(segment),
            Record::Interval(interval) => self.push_interval(interval),
            Record::Ping(span) => {
                self.measured(Measure::Ping, span.t_s, span.length_s, &span.body.rtt);
                self.push_ping_parts(span);
                self.pings.push(span.t_s, span.length_s, &span.body);
                if !span.body.rtt.is_empty() {
                    self.last_pong_s = Some(span.t_s);
                }
                self.count_errors(span.t_s, &span.body.errors);
                self.advance(span.t_s);
            }
            Record::Wake(span) => {
                self.measured(Measure::Wake, span.t_s, span.length_s, &span.body.late);
                self.advance(span.t_s);
            }
            Record::Intrinsic(span) => {
                self.measured(Measure::Intrinsic, span.t_s, span.length_s, &span.body.gaps);
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
                self.forgotten += push_bounded(&mut self.events, event.clone());
                self.advance(event.t_s);
            }
            Record::Mark(mark) => {
                self.forgotten += push_bounded(&mut self.marks, mark.clone());
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

    /// Takes what the kernel's stamps tell of the pings.
    fn push_ping_parts(&mut self, span: &Span<Ping>) {
        let ping = &span.body;
        let parts = [
            (Measure::PingSend, &ping.send),
            (Measure::PingKernel, &ping.kernel),
            (Measure::PingPickup, &ping.pickup),
        ];
        for (measure, part) in parts {
            if let Some(part) = part {
                self.measured(measure, span.t_s, span.length_s, part);
            }
        }
        self.ping_timing = ping.timing.or(self.ping_timing);
        self.ping_tcp = ping.tcp;
    }

    fn begin_segment(&mut self, segment: &Segment) {
        self.segments.begin(segment);
        self.recent_ops.clear();
        let cut = |measure: &Measure| *measure != Measure::Intrinsic;
        for measure in Measure::ALL.into_iter().filter(cut) {
            self.lanes[measure as usize].cut();
        }
        self.pings.cut();
        self.advance(segment.t_s);
    }

    fn current_segment(&self) -> Option<u32> {
        self.segments.current().map(|segment| segment.start.segment)
    }

    /// Adds what a probe saw to the segment that holds.
    fn measured(&mut self, measure: Measure, t_s: f64, length_s: f64, latency: &Latency) {
        let segment = self.current_segment().unwrap_or(1);
        self.lanes[measure as usize].push(segment, t_s, length_s, latency);
    }

    fn push_interval(&mut self, interval: &Interval) {
        let Interval { t_s, length_s, segment, .. } = *interval;
        self.load.entry(t_s, length_s).add(interval);
        let is_current = self.current_segment().is_none_or(|current| current == segment) && length_s > 0.0;
        if is_current {
            self.recent_ops.push_back((t_s, length_s, interval.ops));
        }
        let response = interval.response.as_ref().map(|latency| (Measure::Response, latency));
        for (measure, latency) in [(Measure::Service, &interval.service)].into_iter().chain(response) {
            let lane = &mut self.lanes[measure as usize];
            if is_current {
                lane.push(segment, t_s, length_s, latency);
            } else if length_s > 0.0 {
                lane.push_earlier(segment, t_s, length_s, latency);
            } else {
                lane.push_late(segment, t_s, latency);
            }
        }
        self.commands.push(interval);
        if interval.ops > 0 {
            self.last_reply_s = Some(t_s);
        }
        self.outages.push(t_s, length_s, interval.outage_s);
        self.segments.push(interval);
        self.count_errors(t_s, &interval.errors);
        self.advance(t_s);
    }

    fn count_errors(&mut self, t_s: f64, errors: &BTreeMap<String, u64>) {
        self.errors.count(t_s, errors);
        if errors.values().any(|n| *n > 0) {
            add_counts(&mut self.error_cells.entry(t_s, 0.0).0, errors);
        }
    }

    fn push_status(&mut self, moment: &Moment<Status>) {
        let since_s =
            self.status.as_ref().map_or(moment.t_s, |before| before.t_s).max(moment.t_s - POLL_REACH_S);
        let length_s = (moment.t_s - since_s).max(0.0);
        self.server.entry(moment.t_s, length_s).add(moment);
        if let Some(cpu) = moment.body.cpu {
            self.segments.push_cpu(since_s, length_s, cpu);
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
        self.lanes.iter_mut().for_each(|lane| lane.age(t_s));
    }
}

/// Since when `record` changes what was measured; `None` if it does not.
fn changes_since(record: &Record) -> Option<f64> {
    match record {
        Record::Interval(interval) => Some(interval.t_s - interval.length_s),
        Record::Ping(span) => Some(span.t_s - span.length_s),
        Record::Wake(span) => Some(span.t_s - span.length_s),
        Record::Intrinsic(span) => Some(span.t_s - span.length_s),
        Record::Server(moment) => Some(moment.t_s - POLL_REACH_S),
        Record::Session(_) | Record::Segment(_) | Record::Event(_) | Record::Mark(_) | Record::End(_) => None,
    }
}

/// Adds `item`; how many had to go for it.
fn push_bounded<T>(list: &mut VecDeque<T>, item: T) -> u64 {
    list.push_back(item);
    let too_many = list.len().saturating_sub(KEPT_EVENTS);
    list.drain(..too_many);
    too_many as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::Knobs,
        session::{Summary, timeline::Level},
        stats::{Latency, Recorder},
    };

    fn of(ns: u64, n: u64) -> Latency {
        let mut recorder = Recorder::new();
        (0..n).for_each(|_| recorder.record(ns));
        recorder.latency()
    }

    fn segment(t_s: f64, number: u32) -> Record {
        Record::Segment(Segment {
            t_s,
            segment: number,
            knobs: Knobs::default(),
            warmup: false,
            config: None,
        })
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
        let second = timeline.window(0.0, 1.0, 1);
        assert_eq!(second.load()[0].as_ref().map(|cell| cell.ops), Some(151));
        let cell = second.levels(Measure::Service)[0].unwrap();
        assert!(cell.get(Level::P50).is_some_and(|ns| ns.abs_diff(500_000) < 16_000));
        assert_eq!(cell.get(Level::Max), Some(90_000_000));
        assert_eq!(timeline.lane(Measure::Service).minute().count(), 50);
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
        let window = timeline.window(-1.0, 4.0, 5);
        let known: Vec<_> = window.levels(Measure::Service).iter().map(Option::is_some).collect();
        assert_eq!(known, [false, true, false, false, true]);
        assert_eq!(window.load()[2], None);
    }

    #[test]
    fn a_status_stands_for_the_seconds_since_the_previous_one() {
        let status = |t_s, cpu| {
            Record::Server(Box::new(Moment { t_s, body: Status { cpu: Some(cpu), ..Status::default() } }))
        };
        let timeline = fold([status(0.99, 0.1), status(2.01, 0.2), status(60.0, 0.3)]);
        let server = timeline.window(0.0, 60.0, 60).server();
        let cpu = [0, 1, 3, 53, 55, 59].map(|second: usize| server[second].as_ref().and_then(|c| c.cpu));
        assert_eq!(cpu, [Some(0.1), Some(0.2), None, None, Some(0.3), Some(0.3)]);
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
        let errors = timeline.window(0.0, 1.0, 1).errors();
        assert_eq!(errors[0].as_ref().map(ErrorCell::total), Some(28), "those of load and ping");
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
