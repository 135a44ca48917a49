//! The collector is the thread that makes the records of a session.
//!
//! ```text
//! each target's load, ping, control plane ─► its records ─┐
//! wake and intrinsic probe, samples of the host ──────────┼─► collector ─► record, to every listener
//! messages of the session ────────────────────────────────┘
//! ```
//! The collector never waits for a listener. Each listener has a [queue](super::queue), and a full queue drops
//! measurements. Threads that send to the collector wait if its input is full.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use super::{
    Event, Moment, Record, Segment, SessionStart,
    pauses::{PauseWatch, Pauses},
    queue::Feed,
    recorder::going_on,
    target_records::{TargetInputs, TargetRecords},
    watched::is_of_machine,
};
use crate::{
    clock::{Clock, TICK_NS, seconds},
    events::EventKind,
    probe, server,
};

/// The longest time between two reads of the collector's inputs under load. The limit is a fifth of the delay that a
/// person notices.
const ROUND: Duration = Duration::from_millis(20);
/// The time between two reads without load, in ns. The time is half a tick. A wake-up costs more than the processing of
/// the records.
const IDLE_ROUND_NS: u64 = TICK_NS / 2;
/// The longest time from the end of a tick until the probes have sent their reports: 12 ms, in ns. The wake probe
/// notices the end of the tick only after its sleep of 10 ms.
const REPORTED_NS: u64 = 12_000_000;

/// The messages that the session sends to the collector.
pub(super) enum CollectorMessage {
    /// The load settings of a target have changed. The number of the target counts from 0.
    Segment(usize, Segment),
    /// A server with this address has joined the session as the next target.
    Join { address: String, inputs: Box<TargetInputs>, first: Box<Segment> },
    /// A user's note, or an event of the session itself.
    Record(Record),
    /// A new listener. The listener first receives the session's first record with the present time as its start. The
    /// next records are those of the current segments, and all later records.
    Listen(Feed<Arc<Record>>),
    /// The workers are about to stop. The collector reads the remaining reports of the workers, and ends.
    Finish,
}

/// The inputs of the collector.
pub(super) struct Inputs {
    pub(super) targets: Vec<TargetInputs>,
    /// The reports of the probes that measure this machine.
    pub(super) machine: Receiver<probe::ProbeMessage>,
    pub(super) session: Receiver<CollectorMessage>,
}

/// The state of the collector's thread.
pub(super) struct Collector {
    clock: Clock,
    targets: Vec<TargetRecords>,
    pauses: Pauses,
    machine: Receiver<probe::ProbeMessage>,
    session: Receiver<CollectorMessage>,
    listeners: Vec<Feed<Arc<Record>>>,
    /// The session's first record, for a listener that is added later.
    start: Option<SessionStart>,
    segments: Vec<Option<Arc<Record>>>,
    /// Whether private texts of servers are removed from records (`--redact`).
    pub(super) redacts: bool,
}

impl Collector {
    /// Returns a collector that reads `inputs` and sends records to `listeners`.
    pub(super) fn new(clock: Clock, inputs: Inputs, listeners: Vec<Feed<Arc<Record>>>) -> Self {
        let targets: Vec<_> =
            inputs.targets.into_iter().map(|inputs| TargetRecords::new(clock, inputs)).collect();
        Self {
            clock,
            pauses: Pauses::default(),
            segments: vec![None; targets.len()],
            targets,
            machine: inputs.machine,
            session: inputs.session,
            listeners,
            start: None,
            redacts: false,
        }
    }

    /// Sends the first record of the session.
    pub(super) fn begin(&mut self, session: SessionStart) {
        self.emit(Record::Session(session.clone()));
        self.start = Some(session);
    }

    /// Sends the record of a target's first segment, and records of the report that the target's control
    /// plane made before the session began.
    pub(super) fn begin_target(
        &mut self,
        target: usize,
        first: Segment,
        heard: Option<server::ControlMessage>,
    ) {
        self.targets[target].begin_segment(first);
        if let Some(message) = heard {
            self.targets[target].on_server(message);
        }
        self.take(target);
    }

    /// Makes records until the session ends.
    pub(super) fn run(mut self) {
        let mut finishing = false;
        let mut watch = PauseWatch::begin(self.clock.now_ns());
        while !(finishing && self.targets.iter().all(TargetRecords::has_ended)) {
            let is_quick = finishing || self.segments.iter().flatten().any(|segment| is_loaded(segment));
            let round = if is_quick { ROUND } else { self.clock.until(IDLE_ROUND_NS, REPORTED_NS) };
            match self.session.recv_timeout(round) {
                Ok(CollectorMessage::Finish) | Err(RecvTimeoutError::Disconnected) => finishing = true,
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(pause) = watch.look(self.clock.now_ns()) {
                self.pause(pause);
            }
            self.take_all();
        }
        self.take_all();
        // The end record of the first target is the end record of the session, and comes last.
        for (n, target) in std::mem::take(&mut self.targets).into_iter().enumerate().rev() {
            target.end().into_iter().for_each(|record| self.emit_of(n, record));
        }
    }

    /// Excludes a pause of the process from the measurements.
    fn pause(&mut self, pause: (u64, u64)) {
        self.pauses.push(pause);
        self.targets.iter_mut().for_each(|target| target.pause(pause));
        self.targets[0].report_pause(pause);
        self.take(0);
    }

    fn take_all(&mut self) {
        while let Ok(message) = self.machine.try_recv() {
            match message {
                probe::ProbeMessage::Wake(report) => {
                    let record = self.emit(Record::Wake(self.pauses.span(report)));
                    self.targets.iter_mut().for_each(|target| target.hear_wake(&record));
                }
                probe::ProbeMessage::Intrinsic(report) => {
                    drop(self.emit(Record::Intrinsic(self.pauses.span(report))));
                }
                probe::ProbeMessage::Host { at_ns, server, sample } if server < self.targets.len() => {
                    self.targets[server].make(Record::Host(Box::new(Moment::new(seconds(at_ns), *sample))));
                }
                probe::ProbeMessage::Lag { node, lag_ns } if node < self.targets.len() => {
                    self.targets[node].replica.hear_lag(lag_ns);
                }
                probe::ProbeMessage::Recall { recall, of } => self.targets[0].hear_recall(recall, &of),
                probe::ProbeMessage::Event { at_ns, node, what } => {
                    self.emit_of(node, Record::Event(Event::new(seconds(at_ns), what)));
                }
                // Every ping belongs to a target.
                _ => {}
            }
        }
        (0..self.targets.len()).for_each(|target| self.take(target));
    }

    fn take(&mut self, target: usize) {
        // The targets on this machine share the machine's figures, so only the first target reports shifts of these
        // figures.
        let is_repeated = |record: &Record| match record {
            Record::Event(Event { what: EventKind::Shifted { shift }, .. }) => {
                target > 0 && is_of_machine(&shift.figure)
            }
            _ => false,
        };
        for record in self.targets[target].take().into_iter().filter(|record| !is_repeated(record)) {
            if let Record::Server(moment) = &record {
                self.hear_replicas(moment);
            }
            self.emit_of(target, record);
        }
    }

    /// Passes a primary's reports about its replicas to the replicas that are targets of the session. A replica must
    /// have the same address in the report and in the session.
    fn hear_replicas(&mut self, report: &Moment<server::Status>) {
        for replica in &report.body.replicas {
            let address = |node: usize| self.start.as_ref()?.address_of(node as u16);
            let node = (0..self.targets.len()).find(|node| address(*node) == Some(&*replica.address));
            node.into_iter().for_each(|node| self.targets[node].replica.hear_progress(report.t_s, replica));
        }
    }

    fn hear(&mut self, message: CollectorMessage) {
        match message {
            CollectorMessage::Segment(target, segment) => {
                self.targets.iter_mut().for_each(|target| target.hear_segment(segment.t_s));
                self.targets[target].begin_segment(segment);
                self.take(target);
            }
            CollectorMessage::Join { address, inputs, first } => self.join(address, *inputs, *first),
            CollectorMessage::Record(record) => {
                self.targets[usize::from(record.node().unwrap_or_default())].add_session_record(&record);
                self.emit(record);
            }
            CollectorMessage::Listen(listener) => self.welcome(listener),
            CollectorMessage::Finish => {}
        }
    }

    fn join(&mut self, address: String, inputs: TargetInputs, first: Segment) {
        let target = self.targets.len();
        self.targets.push(TargetRecords::new(self.clock, inputs));
        self.segments.push(None);
        let joined = Event::new(first.t_s, EventKind::NodeJoined { address });
        self.emit_of(target, Record::Event(joined));
        self.begin_target(target, first, None);
    }

    fn welcome(&mut self, mut listener: Feed<Arc<Record>>) {
        let from_s = seconds(self.clock.now_ns());
        let start = self.start.iter().map(|start| Record::Session(SessionStart { from_s, ..start.clone() }));
        let segments = self.segments.iter().flatten().map(|segment| going_on(segment, from_s));
        let mut beginning = start.chain(segments).map(Arc::new);
        if beginning.all(|record| listener.record(&record)) {
            self.listeners.push(listener);
        }
    }

    fn emit_of(&mut self, target: usize, record: Record) {
        let is_segment = matches!(record, Record::Segment(_));
        let emitted = self.emit(record.at_node(target as u16)); // as many as Live::start takes
        if is_segment {
            self.segments[target] = Some(emitted);
        }
    }

    fn emit(&mut self, record: Record) -> Arc<Record> {
        let record = Arc::new(if self.redacts { record.redacted() } else { record });
        self.start.as_mut().map(|start| start.follow(&record));
        self.listeners.retain_mut(|listener| listener.record(&record));
        record
    }
}

fn is_loaded(record: &Record) -> bool {
    matches!(record, Record::Segment(segment) if segment.knobs.load)
}

#[cfg(test)]
mod tests {
    use std::{
        path::{Path, PathBuf},
        sync::mpsc::{Sender, channel},
    };

    use super::*;
    use crate::{
        gauge::Gauge,
        host::HostSample,
        knobs::Knobs,
        load::LoadOutput,
        probe::{Ping, ServerPid},
        session::{
            Interval, JoinedReader, Recording, RecordingSummary, ServerIdentity, SessionEnd, SessionWriter,
            Span, queue::queue,
        },
        stats::fixture::repeated,
    };

    /// Returns a collector of two targets without workers, and the sender of the probes' reports.
    fn collector(clock: Clock) -> (Collector, Sender<probe::ProbeMessage>) {
        let target = || {
            let load = LoadOutput { rings: Vec::new(), joined: channel().1, events: channel().1 };
            let (ping, server, pid) = (channel().1, channel().1, ServerPid::default());
            TargetInputs { load, ping, server, fleet: None, pid, numbers: None }
        };
        let (reports, machine) = channel();
        let inputs = Inputs { targets: vec![target(), target()], machine, session: channel().1 };
        let mut collector = Collector::new(clock, inputs, Vec::new());
        collector.begin(SessionStart::now(ServerIdentity::default()));
        (0..2).for_each(|n| collector.begin_target(n, Segment::new(0.0, 1, Knobs::default()), None));
        (collector, reports)
    }

    #[test]
    fn a_shift_of_a_gauge_of_the_host_is_an_event_and_the_machines_are_reported_once() {
        let (mut collector, reports) = collector(Clock::start());
        let (feed, records) = queue::<Arc<Record>>();
        collector.welcome(feed);
        for s in 1..=40_u64 {
            let share = if s > 30 { 0.9 } else { 0.1 };
            let sample = Box::new(HostSample {
                gauges: [(Gauge::HostCpu, share), (Gauge::ServerCpu, share)].into(),
                ..HostSample::default()
            });
            for server in 0..2 {
                let (at_ns, sample) = (s * 1_000_000_000, sample.clone());
                reports.send(probe::ProbeMessage::Host { at_ns, server, sample }).unwrap();
            }
        }
        collector.take_all();
        drop(collector);
        let shift = |record: Arc<Record>| match &*record {
            Record::Event(Event { node, what: EventKind::Shifted { shift }, .. }) => {
                Some((*node, shift.figure.clone()))
            }
            _ => None,
        };
        let mut shifts: Vec<_> = records.rest().filter_map(shift).collect();
        shifts.sort();
        let expected = [(0, "host_cpu"), (0, "server_cpu"), (1, "server_cpu")];
        assert_eq!(shifts, expected.map(|(node, figure)| (node, figure.to_owned())));
    }

    #[test]
    fn a_change_of_the_load_is_no_shift_of_a_node_that_is_only_watched() {
        let (mut collector, _reports) = collector(Clock::start());
        let (feed, records) = queue::<Arc<Record>>();
        collector.welcome(feed);
        for s in 1..=60_u32 {
            if s == 30 {
                let segment = Segment::new(29.5, 2, Knobs { load: true, ..Knobs::default() });
                collector.hear(CollectorMessage::Segment(0, segment));
            }
            let rtt = repeated(if s < 30 { 400_000 } else { 4_900_000 }, 25);
            let ping = Span::new(f64::from(s), 1.0, Ping { rtt, ..Ping::default() });
            collector.targets[1].make(Record::Ping(Box::new(ping)));
            collector.take_all();
        }
        drop(collector);
        let is_shift = |record: &Arc<Record>| {
            matches!(&**record, Record::Event(Event { what: EventKind::Shifted { .. }, .. }))
        };
        assert_eq!(records.rest().filter(is_shift).count(), 0);
    }

    /// Records `ops` requests into a new file that begins now, and returns its path. If `is_last` is true, the session
    /// ends with the recording.
    fn record(collector: &mut Collector, folder: &Path, ops: u64, is_last: bool) -> PathBuf {
        let path = folder.join(format!("{ops}.jsonl"));
        let (recording, feed) = Recording::start(SessionWriter::create(&path).unwrap()).unwrap();
        collector.welcome(feed);
        let t_s = seconds(collector.clock.now_ns());
        let interval = Interval { t_s, length_s: 0.25, segment: 1, ops, ..Interval::default() };
        collector.emit(Record::Interval(Box::new(interval)));
        if is_last {
            let mut whole = SessionEnd { t_s, ..SessionEnd::default() };
            whole.summary.ops = 1_000_000;
            collector.emit(Record::End(Box::new(whole)));
        }
        collector.listeners.clear();
        recording.finish().unwrap();
        path
    }

    #[test]
    fn a_recording_that_begins_later_is_about_its_own_time_and_is_read_with_another() {
        let folder = tempfile::tempdir().unwrap();
        let (mut collector, _reports) = collector(Clock::start());
        let paths = [(7, false), (11, true)].map(|(ops, is_last)| {
            let before_s = seconds(collector.clock.now_ns());
            let path = record(&mut collector, folder.path(), ops, is_last);
            let summary = RecordingSummary::at(&path).unwrap();
            assert!(summary.session.from_s >= before_s, "{:?}", summary.session);
            assert_eq!((summary.end.summary.ops, summary.has_end), (ops, is_last));
            path
        });
        let mut both = JoinedReader::open(&paths).unwrap();
        let records: Vec<_> = std::iter::from_fn(|| both.next_record().unwrap()).collect();
        let from_s = RecordingSummary::at(&paths[0]).unwrap().session.from_s;
        assert!(records.iter().filter_map(Record::t_s).all(|t_s| t_s >= from_s), "{records:?}");
        let Some(Record::End(end)) = records.last() else { panic!("an end") };
        assert_eq!(end.summary.ops, 7 + 11);
    }
}
