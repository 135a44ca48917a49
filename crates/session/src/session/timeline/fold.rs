//! Adds records to the timeline: to its histories, windows and totals.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    ErrorCell, ErrorLog, ErrorSource, History, IntrinsicRun, Lane, LoadCell, Measure, Outages, PingCell,
    PingWindows, Segments, ServerCell,
    history::Merge,
    lane::forget_earlier,
    memo::Memos,
    nodes::{self, AgentStates},
    operations::PartLanes,
    stretch::Refined,
};
use crate::{
    clock::{TICK_NS, seconds},
    events::EventKind,
    gauge::Gauge,
    host::HostSample,
    probe::{Ping, TcpRtt, Timing},
    server::Status,
    session::{
        Event, Interval, Mark, Moment, Record, Segment, SessionEnd, SessionStart, Span, add_counts,
        watches::FigureWatches,
    },
    stats::Latency,
};

/// The number of ticks (quarter seconds) in the history with full detail: 100 s. With this number, a history of eight
/// hours needs less than 60 MB (see [`History`]).
const KEPT: usize = 400;
/// The largest number of nodes with full detail. With more nodes, each node keeps fewer detailed ticks (quarter
/// seconds). The memory for all nodes together then does not grow.
const MOST_AT_FULL: usize = 4;
/// With more nodes, the detailed ticks of all nodes together are half as many. Their memory would be too large otherwise,
/// because each node also needs memory for the connections and for the last minute.
const MANY: usize = 16;
/// The largest number of listed events, and of listed notes.
const KEPT_EVENTS: usize = 10_000;
/// The longest period of the figures of one poll, in seconds. The period of a poll begins at the previous poll.
const POLL_REACH_S: f64 = 5.0;

/// The settings of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineOptions {
    /// The length of a ping window (`-i`).
    pub ping_window: Duration,
    /// The number of nodes of the session. With many nodes each history becomes coarser sooner.
    pub nodes: usize,
}

impl Default for TimelineOptions {
    /// Returns the default settings: a ping window of 15 s, as in `redis-cli --latency-history`.
    fn default() -> Self {
        Self { ping_window: Duration::from_secs(15), nodes: 1 }
    }
}

/// The timeline of a session contains everything that screens and reports show. The timeline is computed from the
/// session's records.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The time of the latest record, in seconds of the session.
    pub now_s: f64,
    /// The time without a recording, between the files of the recording, in seconds.
    pub(super) unrecorded_s: f64,
    pub(super) session: Option<SessionStart>,
    pub(super) load: History<LoadCell>,
    pub(super) recent_ops: VecDeque<(f64, f64, u64)>,
    /// The times when the load had no connection.
    pub outages: Outages,
    pub(super) lanes: [Lane; Measure::ALL.len()],
    pub(super) operations: PartLanes<String>,
    pub(super) openings: PartLanes<String>,
    pub(super) nodes: PartLanes<u16>,
    pub(super) agents: PartLanes<u16>,
    pub(super) agent_states: History<AgentStates>,
    /// The machine of each agent of a fleet.
    pub(super) agent_hosts: BTreeMap<u16, String>,
    pub(super) ping_timing: Option<Timing>,
    pub(super) ping_tcp: Option<TcpRtt>,
    pub(super) intrinsic_run: Option<IntrinsicRun>,
    pub(super) server: History<ServerCell>,
    pub(super) status: Option<Moment<Status>>,
    pub(super) host: Option<Arc<Moment<HostSample>>>,
    /// The usual levels of the figures. The timeline drops the level shifts (lasting changes) that it finds, because
    /// the records already contain level shifts as events.
    pub(super) watches: FigureWatches,
    /// The segments.
    pub segments: Segments,
    /// The starts and numbers of the segments that another node has begun. Used for a node that is only watched.
    pub(super) followed: VecDeque<(f64, u32)>,
    pub(super) pings: PingWindows,
    pub(super) ping_cells: History<PingCell>,
    /// The errors of the load and of PING, by kind.
    pub errors: ErrorLog,
    pub(super) error_cells: History<ErrorCell>,
    pub(super) events: VecDeque<Event>,
    pub(super) marks: VecDeque<Mark>,
    /// The number of events and notes that are no longer listed.
    pub forgotten: u64,
    pub(super) end: Option<SessionEnd>,
    pub(super) memos: Memos,
    /// A part of the recording that was read again with more detail, if there is one.
    pub(super) refined: Option<Refined>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new(TimelineOptions::default())
    }
}

impl Timeline {
    /// Returns an empty timeline.
    pub fn new(options: TimelineOptions) -> Self {
        Self::no_coarser(options, f64::INFINITY)
    }

    /// Returns an empty timeline without a limit on the number of listed segments.
    pub fn with_all_segments() -> Self {
        Self { segments: Segments::all(), ..Self::default() }
    }

    /// Returns an empty timeline whose time slots are at most `longest_s` seconds long, for a part of a recording.
    pub(super) fn no_coarser(options: TimelineOptions, longest_s: f64) -> Self {
        let full = if options.nodes > MANY { MOST_AT_FULL / 2 } else { MOST_AT_FULL };
        let kept = KEPT * full / options.nodes.max(MOST_AT_FULL);
        let tick_s = seconds(TICK_NS);
        Self {
            now_s: 0.0,
            unrecorded_s: 0.0,
            session: None,
            load: History::new(tick_s, kept, longest_s),
            recent_ops: VecDeque::new(),
            outages: Outages::default(),
            lanes: Measure::ALL.map(|_| Lane::new(kept, longest_s)),
            operations: PartLanes::by_name(longest_s),
            openings: PartLanes::by_name(longest_s),
            nodes: PartLanes::by_number(longest_s),
            agents: PartLanes::by_number(longest_s),
            agent_states: History::new(tick_s, nodes::KEPT, longest_s),
            agent_hosts: BTreeMap::new(),
            ping_timing: None,
            ping_tcp: None,
            intrinsic_run: None,
            server: History::new(tick_s, kept, longest_s),
            status: None,
            host: None,
            watches: FigureWatches::default(),
            segments: Segments::default(),
            followed: VecDeque::new(),
            pings: PingWindows::new(options.ping_window.as_secs_f64()),
            ping_cells: History::new(tick_s, kept, longest_s),
            errors: ErrorLog::default(),
            error_cells: History::new(tick_s, kept, longest_s),
            events: VecDeque::new(),
            marks: VecDeque::new(),
            forgotten: 0,
            end: None,
            memos: Memos::default(),
            refined: None,
        }
    }

    /// Adds the next record.
    pub fn push(&mut self, record: &Record) {
        self.push_whole(record);
        if let Record::Interval(interval) = record {
            self.push_by_node(interval);
        }
    }

    /// Adds the next record, but not the results of the load by node and by agent.
    pub fn push_whole(&mut self, record: &Record) {
        if let Some(since_s) = changes_since(record) {
            self.memos.touch(record, since_s, self.now_s);
        }
        self.watches.push(record);
        match record {
            Record::Session(start) => self.session = Some(start.clone()),
            Record::Segment(segment) => self.begin_segment(segment),
            Record::Interval(interval) => self.push_interval(interval),
            Record::Ping(span) => {
                self.measured(Measure::Ping, span.t_s, span.length_s, &span.body.rtt);
                self.push_ping_parts(span);
                self.segments.push_pings(span);
                self.pings.push(span.t_s, span.length_s, &span.body);
                self.ping_cells.entry(span.t_s, span.length_s).merge(PingCell::of(&span.body));
                self.count_errors(span.t_s, &span.body.errors, ErrorSource::Ping(self.words().ping));
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
            Record::Host(moment) => {
                let mut host = (**moment).clone();
                if let Some(last) = self.host.as_ref().filter(|last| last.body.missing == host.body.missing) {
                    host.body.missing = Arc::clone(&last.body.missing);
                }
                let host = Arc::new(host);
                let length_s = moment.body.sample_s.unwrap_or_default();
                self.server.entry(moment.t_s, length_s).add_host(Arc::clone(&host));
                self.segments.push_gauges(|means| means.push_host(&moment.body));
                self.host = Some(host);
                self.advance(moment.t_s);
            }
            Record::Event(event) => {
                self.session.as_mut().map(|session| session.follow(record));
                self.push_event(event);
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

    fn push_event(&mut self, event: &Event) {
        match &event.what {
            EventKind::AgentJoined { agent, host, .. } | EventKind::AgentBack { agent, host } => {
                self.agent_hosts.insert(*agent as u16, host.clone());
            }
            EventKind::FirstError { error, message } => self.errors.first(error, message),
            EventKind::NotRecorded { length_s } => {
                self.unrecorded_s += length_s;
                self.segments.push_gap(*length_s);
                // The next poll measures nothing of this time.
                self.status = None;
            }
            EventKind::Tried { rate, is_held, disturbed, .. } => {
                self.segments.push_trial(*rate, *is_held, disturbed.is_some());
            }
            _ => {}
        }
        self.forgotten += push_bounded(&mut self.events, event.clone());
        self.advance(event.t_s);
    }

    /// Adds the parts of the pings' round trips. The parts are measured with the kernel's timestamps.
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
        if segment.knobs.load && !segment.is_part {
            self.followed.clear();
        }
        self.recent_ops.clear();
        self.cut_windows(segment.t_s);
        self.advance(segment.t_s);
    }

    pub(super) fn current_segment(&self) -> Option<u32> {
        self.segments.current().map(|segment| segment.start.segment)
    }

    /// Adds a probe's measurement to its segment.
    fn measured(&mut self, measure: Measure, t_s: f64, length_s: f64, latency: &Latency) {
        let segment = self.probed_segment_at(t_s);
        let is_current = segment == self.probed_segment();
        let lane = &mut self.lanes[measure as usize];
        if is_current {
            lane.push(segment, t_s, length_s, latency);
        } else {
            lane.push_late(segment, t_s, length_s, latency);
        }
    }

    fn push_interval(&mut self, interval: &Interval) {
        let Interval { t_s, segment, .. } = *interval;
        let length_s = interval.timed_s();
        self.load.entry(t_s, length_s).add(interval);
        let is_current = self.current_segment().is_none_or(|current| current == segment) && length_s > 0.0;
        if is_current {
            self.recent_ops.push_back((t_s, length_s, interval.ops));
        }
        let response = interval.response.as_ref().map(|latency| (Measure::Response, latency));
        let received = interval.arrivals.iter().map(|(_, received)| (Measure::Received, &received.times));
        let service = (Measure::Service, &interval.service);
        for (measure, latency) in [service].into_iter().chain(response).chain(received) {
            let lane = &mut self.lanes[measure as usize];
            if is_current {
                lane.push(segment, t_s, length_s, latency);
            } else {
                lane.push_late(segment, t_s, length_s.max(0.0), latency);
            }
        }
        self.operations.push(interval, &interval.commands);
        for (stage, took) in interval.opening.stages() {
            self.openings.add(interval, &stage.to_owned(), took);
        }
        self.outages.push(t_s, length_s, interval.outage_s);
        self.segments.push(interval);
        let aside = self.segments.numbered(segment).and_then(|segment| segment.start.aside());
        let source = aside.map_or(ErrorSource::Load, ErrorSource::Aside);
        self.count_errors(t_s, &interval.errors, source);
        self.advance(t_s);
    }

    fn count_errors(&mut self, t_s: f64, errors: &BTreeMap<String, u64>, source: ErrorSource) {
        self.errors.count(t_s, errors, source);
        if errors.values().any(|n| *n > 0) {
            add_counts(self.error_cells.entry(t_s, 0.0).0.entry(source).or_default(), errors);
        }
    }

    fn push_status(&mut self, moment: &Moment<Status>) {
        let since_s =
            self.status.as_ref().map_or(moment.t_s, |before| before.t_s).max(moment.t_s - POLL_REACH_S);
        let length_s = (moment.t_s - since_s).max(0.0);
        self.server.entry(moment.t_s, length_s).add(moment);
        self.segments.push_gauges(|means| means.push_status(&moment.body));
        if let Some(cpu) = moment.body.gauges.get(Gauge::Cpu) {
            self.segments.push_cpu(since_s, length_s, cpu);
        }
        // Only some polls query the clients and the slots.
        let (clients, slots) =
            self.status.take().map_or((None, None), |before| (before.body.clients, before.body.slots));
        let mut latest = moment.clone();
        latest.body.clients = latest.body.clients.or(clients);
        latest.body.slots = latest.body.slots.or(slots);
        self.status = Some(latest);
        self.advance(moment.t_s);
    }

    fn advance(&mut self, t_s: f64) {
        if t_s <= self.now_s {
            return;
        }
        self.now_s = t_s;
        forget_earlier(&mut self.recent_ops, t_s, |(t_s, length_s, _)| (*t_s, *length_s));
        self.lanes.iter_mut().for_each(|lane| lane.age(t_s));
    }
}

/// Returns the start of the period that `record` changes, in seconds. Returns `None` if `record` adds no measurement.
fn changes_since(record: &Record) -> Option<f64> {
    match record {
        Record::Server(_) | Record::Host(_) => Some(record.t_s()? - POLL_REACH_S),
        record => Some(record.t_s()? - record.length_s()?),
    }
}

/// Adds `item` to the list, and removes the oldest items beyond the limit. Returns the number of removed
/// items.
pub(super) fn push_bounded<T>(list: &mut VecDeque<T>, item: T) -> u64 {
    list.push_back(item);
    let too_many = list.len().saturating_sub(KEPT_EVENTS);
    list.drain(..too_many);
    too_many as u64
}

#[cfg(test)]
mod tests;
