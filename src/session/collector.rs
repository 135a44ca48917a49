//! The collector: the one thread that makes records.
//!
//! ```text
//! each target's load, ping, control plane ─► its records ─┐
//! wake and intrinsic probe ───────────────────────────────┼─► collector ─► record, to every listener
//! orders of the session ──────────────────────────────────┘
//! ```
//! It waits for nobody: listeners have queues without an end, and what feeds it waits for room.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};

use super::{
    End, Event, Mark, Record, Segment, SessionStart,
    target_records::{TargetInputs, TargetRecords, span},
};
use crate::{
    clock::{Clock, seconds},
    happening::Happening,
    load::Knobs,
    probe,
    server::{self, ConfigChange},
};

/// How long records may wait in the collector's inputs: a fifth of what a person notices.
const ROUND: Duration = Duration::from_millis(20);

/// What the session tells the collector.
#[derive(Debug, Clone)]
pub(super) enum Order {
    /// New knobs hold.
    Segment(Turn),
    /// A person's note.
    Mark { t_s: f64, text: String },
    /// Something happened that the session itself knows of.
    Event { at_ns: u64, what: Happening },
    /// Another listener: it gets the first record, those of the current segments, and all from now on.
    Listen(Sender<Arc<Record>>),
    /// The workers were told to stop: take what is left, then end.
    Finish,
}

/// New knobs hold for one target.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// Which, from 0.
    pub(super) target: u16,
    pub(super) at_ns: u64,
    pub(super) segment: u32,
    pub(super) knobs: Knobs,
    pub(super) warmup: bool,
    pub(super) config: Option<ConfigChange>,
}

/// What the collector listens to.
pub(super) struct Inputs {
    pub(super) targets: Vec<TargetInputs>,
    /// The probes of this machine.
    pub(super) machine: Receiver<probe::Message>,
    pub(super) orders: Receiver<Order>,
}

/// The state of the collector's thread.
pub(super) struct Collector {
    targets: Vec<TargetRecords>,
    machine: Receiver<probe::Message>,
    orders: Receiver<Order>,
    listeners: Vec<Sender<Arc<Record>>>,
    /// What a listener that comes later must know: the first record, and that of each target's current segment.
    start: Option<Arc<Record>>,
    segments: Vec<Option<Arc<Record>>>,
}

impl Collector {
    /// A collector for `inputs` that tells `listeners`.
    pub(super) fn new(clock: Clock, inputs: Inputs, listeners: Vec<Sender<Arc<Record>>>) -> Self {
        let targets: Vec<_> =
            inputs.targets.into_iter().map(|inputs| TargetRecords::new(clock, inputs)).collect();
        Self {
            segments: vec![None; targets.len()],
            targets,
            machine: inputs.machine,
            orders: inputs.orders,
            listeners,
            start: None,
        }
    }

    /// Emits the first record: the session begins.
    pub(super) fn begin(&mut self, session: SessionStart) {
        self.start = Some(self.emit(Record::Session(session)));
    }

    /// Emits the first segment of a target, and what its control plane told before it.
    pub(super) fn begin_target(&mut self, first: Turn, heard: Option<server::Message>) {
        let target = usize::from(first.target);
        self.turn(first);
        if let Some(message) = heard {
            self.targets[target].on_server(message);
        }
        self.take(target);
    }

    /// Makes records until the session is finished, and returns the last one, that of the first target.
    pub(super) fn run(mut self) -> End {
        let mut finishing = false;
        while !(finishing && self.targets.iter().all(TargetRecords::has_ended)) {
            match self.orders.recv_timeout(ROUND) {
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => finishing = true,
                Ok(order) => self.on_order(order),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.take_all();
        }
        self.take_all();
        let ends: Vec<_> = std::mem::take(&mut self.targets).into_iter().map(TargetRecords::end).collect();
        let mut last = None;
        // That of the first target is the session's, and ends it.
        for (target, (made, end)) in ends.into_iter().enumerate().rev() {
            made.into_iter().for_each(|record| self.emit_of(target, record));
            self.emit_of(target, Record::End(Box::new(end.clone())));
            last = Some(end);
        }
        last.expect("a session has a target")
    }

    fn take_all(&mut self) {
        while let Ok(message) = self.machine.try_recv() {
            match message {
                probe::Message::Wake(report) => drop(self.emit(Record::Wake(span(report)))),
                probe::Message::Intrinsic(report) => drop(self.emit(Record::Intrinsic(span(report)))),
                // A ping has a target.
                _ => {}
            }
        }
        (0..self.targets.len()).for_each(|target| self.take(target));
    }

    fn take(&mut self, target: usize) {
        for record in self.targets[target].take() {
            self.emit_of(target, record);
        }
    }

    fn on_order(&mut self, order: Order) {
        match order {
            Order::Segment(turn) => {
                let target = usize::from(turn.target);
                self.turn(turn);
                self.take(target);
            }
            Order::Mark { t_s, text } => drop(self.emit(Record::Mark(Mark { t_s, text }))),
            Order::Listen(listener) => self.welcome(listener),
            Order::Event { at_ns, what } => {
                drop(self.emit(Record::Event(Event::new(seconds(at_ns), what))));
            }
            Order::Finish => {}
        }
    }

    fn turn(&mut self, turn: Turn) {
        let Turn { target, at_ns, segment, knobs, warmup, config } = turn;
        let segment = Segment { t_s: seconds(at_ns), segment, knobs, warmup, config };
        self.targets[usize::from(target)].turn(at_ns, segment);
    }

    fn welcome(&mut self, listener: Sender<Arc<Record>>) {
        let mut beginning = self.start.iter().chain(self.segments.iter().flatten());
        if beginning.all(|record| listener.send(Arc::clone(record)).is_ok()) {
            self.listeners.push(listener);
        }
    }

    fn emit_of(&mut self, target: usize, record: Record) {
        let is_segment = matches!(record, Record::Segment(_));
        let told = self.emit(record.told_by(target as u16)); // as many as Live::start takes
        if is_segment {
            self.segments[target] = Some(told);
        }
    }

    fn emit(&mut self, record: Record) -> Arc<Record> {
        let record = Arc::new(record);
        self.listeners.retain(|listener| listener.send(Arc::clone(&record)).is_ok());
        record
    }
}
