//! The collector: the one thread that makes records.
//!
//! ```text
//! load workers ──► lanes ─┐
//! probes ─────────────────┤
//! control plane ──────────┼─► collector ─► record, to every listener
//! orders of the session ──┘
//! ```
//! It waits for nobody: listeners have queues without an end, and what feeds it waits for room.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};

use super::{
    End, Event, Interval, Mark, Moment, Record, Segment, SessionStart, Span, Tally, assembly::Assembly,
    outages::Outages,
};
use crate::{
    clock::{Clock, SECOND_NS, seconds},
    happening::Happening,
    load::{Knobs, LaneEnd, LoadEvent, Output},
    probe,
    protocol::Kinds,
    server::{self, ConfigChange},
};

/// How long records may wait in the collector's inputs: a fifth of what a person notices.
const ROUND: Duration = Duration::from_millis(20);

/// What the session tells the collector.
#[derive(Debug, Clone)]
pub(super) enum Order {
    /// New knobs hold.
    Segment { at_ns: u64, segment: u32, knobs: Knobs, warmup: bool, config: Option<ConfigChange> },
    /// A person's note.
    Mark { t_s: f64, text: String },
    /// Something happened that the session itself knows of.
    Event { at_ns: u64, what: Happening },
    /// Another listener: it gets the first record, that of the current segment, and all from now on.
    Listen(Sender<Arc<Record>>),
    /// The workers were told to stop: take what is left, then end.
    Finish,
}

/// What the collector listens to.
pub(super) struct Inputs {
    pub(super) load: Output,
    pub(super) probes: Receiver<probe::Message>,
    pub(super) server: Receiver<server::Message>,
    pub(super) orders: Receiver<Order>,
}

/// The state of the collector's thread.
pub(super) struct Collector {
    clock: Clock,
    lanes: Vec<LaneEnd>,
    assembly: Assembly,
    load_events: Receiver<LoadEvent>,
    probes: Receiver<probe::Message>,
    server: Receiver<server::Message>,
    orders: Receiver<Order>,
    /// The knobs by segment.
    knobs: BTreeMap<u32, Knobs>,
    outages: Outages,
    kinds: Kinds,
    /// Whether it was told that the ping has no connection.
    ping_is_lost: bool,
    tally: Tally,
    listeners: Vec<Sender<Arc<Record>>>,
    /// What a listener that comes later must know: the first record, and that of the current segment.
    beginning: [Option<Arc<Record>>; 2],
}

impl Collector {
    /// A collector for `inputs` that tells `listeners`.
    pub(super) fn new(clock: Clock, inputs: Inputs, listeners: Vec<Sender<Arc<Record>>>) -> Self {
        let lanes = inputs.load.lanes;
        Self {
            clock,
            assembly: Assembly::new(lanes.len()),
            outages: Outages::new(lanes.len()),
            kinds: Kinds::default(),
            ping_is_lost: false,
            lanes,
            load_events: inputs.load.events,
            probes: inputs.probes,
            server: inputs.server,
            orders: inputs.orders,
            knobs: BTreeMap::new(),
            tally: Tally::new(),
            listeners,
            beginning: [None, None],
        }
    }

    /// Emits the first records: the session begins, with its first segment.
    pub(super) fn begin(&mut self, session: SessionStart, first: Order, heard: Option<server::Message>) {
        self.emit(Record::Session(session));
        self.on_order(first);
        if let Some(message) = heard {
            self.on_server(message);
        }
    }

    /// Makes records until the session is finished, and returns the last one.
    pub(super) fn run(mut self) -> End {
        let mut finishing = false;
        while !(finishing && self.lanes.iter().all(|lane| lane.intervals.is_abandoned())) {
            match self.orders.recv_timeout(ROUND) {
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => finishing = true,
                Ok(order) => self.on_order(order),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.take_all();
        }
        self.take_all();
        if let Some((at_ns, what)) = self.outages.rest(self.clock.now_ns()) {
            self.event(at_ns, what);
        }
        let end = End { t_s: seconds(self.clock.now_ns()), summary: self.tally.summary() };
        self.emit(Record::End(Box::new(end.clone())));
        end
    }

    fn take_load_events(&mut self) {
        while let Ok(event) = self.load_events.try_recv() {
            self.on_load_event(event);
        }
    }

    fn take_all(&mut self) {
        self.take_load_events();
        while let Ok(message) = self.probes.try_recv() {
            self.on_probe(message);
        }
        while let Ok(message) = self.server.try_recv() {
            self.on_server(message);
        }
        self.take_intervals();
    }

    fn take_intervals(&mut self) {
        for (worker, lane) in self.lanes.iter_mut().enumerate() {
            // Asked first: what it sent before its end is there by then.
            let has_ended = lane.intervals.is_abandoned();
            while let Ok(buffer) = lane.intervals.pop() {
                self.assembly.add(worker, &buffer);
                lane.recycle(buffer);
            }
            if has_ended {
                self.assembly.end(worker);
            }
        }
        while let Some(intervals) = self.assembly.take() {
            self.emit_intervals(intervals);
        }
    }

    fn emit_intervals(&mut self, intervals: Vec<Interval>) {
        // What a worker told before it closed the tick comes before the tick: the first message of a kind, a loss.
        self.take_load_events();
        for (at_ns, what) in self.outages.tell(self.clock.now_ns()) {
            self.event(at_ns, what);
        }
        if let Some(earliest_s) = intervals.iter().map(|i| i.t_s - i.length_s).reduce(f64::min) {
            self.outages.forget(nanoseconds(earliest_s));
        }
        for mut interval in intervals {
            let knobs = self.knobs.get(&interval.segment);
            let loaded = knobs.is_some_and(|knobs| knobs.load);
            if knobs.is_some_and(|knobs| knobs.rate.is_some()) {
                interval.response.get_or_insert_default();
            }
            let (from_s, to_s) = (interval.t_s - interval.length_s, interval.t_s);
            if loaded {
                interval.outage_s = self.outages.outage_s(nanoseconds(from_s), nanoseconds(to_s));
            }
            for counts in
                [&mut interval.errors, &mut interval.connections_lost, &mut interval.connects_failed]
            {
                self.kinds.limit(counts);
            }
            interval.commands.values_mut().for_each(|part| self.kinds.limit(&mut part.errors));
            // Without load there is nothing to tell but the last replies of the segment before.
            if (loaded && interval.length_s > 0.0) || !interval.is_blank() {
                self.emit(Record::Interval(Box::new(interval)));
            }
        }
    }

    fn on_order(&mut self, order: Order) {
        match order {
            Order::Segment { at_ns, segment, knobs, warmup, config } => {
                self.knobs.insert(segment, knobs.clone());
                self.outages.want(knobs.clients, at_ns);
                self.emit(Record::Segment(Segment { t_s: seconds(at_ns), segment, knobs, warmup, config }));
            }
            Order::Mark { t_s, text } => self.emit(Record::Mark(Mark { t_s, text })),
            Order::Listen(listener) => self.welcome(listener),
            Order::Event { at_ns, what } => self.event(at_ns, what),
            Order::Finish => {}
        }
    }

    fn on_load_event(&mut self, event: LoadEvent) {
        match event {
            LoadEvent::Losses { worker, report } => self.outages.take(worker, &report),
            LoadEvent::Down { at_ns, worker } => self.outages.turn(worker, true, at_ns),
            LoadEvent::Up { at_ns, worker } => self.outages.turn(worker, false, at_ns),
            LoadEvent::Died { at_ns, cause } => self.event(at_ns, Happening::WorkerDied { cause }),
            LoadEvent::FirstError { kind, message } => {
                let at_ns = self.clock.now_ns();
                let error = self.kinds.name(&kind).to_owned();
                if self.tally.first_error(&error, &message) {
                    self.event(at_ns, Happening::FirstError { error, message });
                }
            }
        }
    }

    fn on_probe(&mut self, message: probe::Message) {
        match message {
            probe::Message::Ping(mut report) => {
                self.kinds.limit(&mut report.body.errors);
                self.emit(Record::Ping(Box::new(span(*report))));
            }
            probe::Message::Wake(report) => self.emit(Record::Wake(span(report))),
            probe::Message::Intrinsic(report) => self.emit(Record::Intrinsic(span(report))),
            probe::Message::ErrorReply { at_ns, kind: _, text: message } => {
                self.event(at_ns, Happening::PingError { message });
            }
            probe::Message::Lost { at_ns, kind, cause } => {
                // One outage is told once, whatever the attempts in it meet, unless a server answers: WRONGPASS.
                let was_answered = kind.starts_with(|first: char| first.is_uppercase());
                if !std::mem::replace(&mut self.ping_is_lost, true) || was_answered {
                    self.event(at_ns, Happening::PingLost { cause });
                }
            }
            probe::Message::Back { at_ns } => {
                self.ping_is_lost = false;
                self.event(at_ns, Happening::PingBack);
            }
        }
    }

    fn on_server(&mut self, message: server::Message) {
        match message {
            server::Message::Status { at_ns, status } => {
                self.emit(Record::Server(Box::new(Moment { t_s: seconds(at_ns), body: *status })));
            }
            server::Message::Event { at_ns, what } => self.event(at_ns, what),
        }
    }

    fn event(&mut self, at_ns: u64, what: Happening) {
        self.emit(Record::Event(Event { t_s: seconds(at_ns), what }));
    }

    fn welcome(&mut self, listener: Sender<Arc<Record>>) {
        if self.beginning.iter().flatten().all(|record| listener.send(Arc::clone(record)).is_ok()) {
            self.listeners.push(listener);
        }
    }

    fn emit(&mut self, record: Record) {
        self.tally.push(&record);
        let record = Arc::new(record);
        match &*record {
            Record::Session(_) => self.beginning[0] = Some(Arc::clone(&record)),
            Record::Segment(_) => self.beginning[1] = Some(Arc::clone(&record)),
            _ => {}
        }
        self.listeners.retain(|listener| listener.send(Arc::clone(&record)).is_ok());
    }
}

fn span<T>(report: probe::Report<T>) -> Span<T> {
    let length_ns = report.end_ns - report.start_ns;
    Span { t_s: seconds(report.end_ns), length_s: seconds(length_ns), body: report.body }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64).max(0.0) as u64
}
