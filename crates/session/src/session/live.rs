//! A live session: the engine, the probes, the control plane and the collector, running together.
//!
//! It owns their threads. What a person asks for goes in by its methods; what is measured comes out as records.

use std::{
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use super::{
    Event, LiveError, Mark, Record, SessionStart, TargetBeginning,
    collector::{Collector, Inputs, Message},
    measured::Measured,
    queue::Feed,
};
use crate::{
    clock::{Clock, TICK_NS, seconds},
    events::EventKind,
    knobs::Knobs,
    probe::{IntrinsicProbe, WakeProbe},
    untrusted,
};

/// A running session. Dropped without [`finish`](Self::finish), it ends without an end record.
pub struct Live {
    clock: Clock,
    /// The targets, at least one.
    targets: Vec<Measured>,
    wake: WakeProbe,
    intrinsic: IntrinsicProbe,
    to_collector: Sender<Message>,
    collector: JoinHandle<()>,
}

/// What a session begins with.
pub struct Beginning {
    /// The first record.
    pub start: SessionStart,
    /// How long the first segment is a warm-up, which counts for nothing else.
    pub warmup: Option<Duration>,
    /// Whether what is private in the text of servers is left out of all records.
    pub redacts: bool,
    /// What is measured, side by side: at least one target.
    pub targets: Vec<TargetBeginning>,
}

impl Live {
    /// Starts everything; `listeners` get every record from the first on.
    ///
    /// # Errors
    /// When a target's host does not resolve, or threads cannot be had.
    pub fn start(
        beginning: Beginning,
        clock: Clock,
        listeners: Vec<Feed<Arc<Record>>>,
    ) -> Result<Self, LiveError> {
        let tick = Duration::from_nanos(TICK_NS);
        let (to_collector, session) = channel();
        let (machine_up, machine) = channel();
        let Beginning { start, warmup, redacts, targets: beginnings } = beginning;
        let (mut targets, mut inputs, mut heard) = (Vec::new(), Vec::new(), Vec::new());
        for (n, mut beginning) in beginnings.into_iter().enumerate() {
            heard.push(beginning.heard.take());
            let (target, input) = Measured::start(n, beginning, warmup, clock, to_collector.clone())?;
            targets.push(target);
            inputs.push(input);
        }
        let inputs = Inputs { targets: inputs, machine, session };
        let mut collector = Collector::new(clock, inputs, listeners).redacting(redacts);
        collector.begin(start);
        for (n, heard) in heard.into_iter().enumerate() {
            collector.begin_target(n, targets[n].first_segment(), heard);
        }
        let collector = std::thread::Builder::new().name("collector".to_owned()).spawn(|| collector.run())?;
        let wake = WakeProbe::start(tick, clock, machine_up.clone())?;
        let intrinsic = IntrinsicProbe::start(tick, clock, machine_up)?;
        Ok(Self { clock, targets, wake, intrinsic, to_collector, collector })
    }

    /// Target number `n`, from 0.
    pub fn target(&mut self, n: u16) -> &mut Measured {
        &mut self.targets[usize::from(n)]
    }

    /// Asks for other knobs for target number `n`. They hold at once, or, when its last change is younger than a tenth of a
    /// second, at a later [`settle`](Self::settle).
    pub fn turn(&mut self, n: u16, knobs: Knobs) {
        self.target(n).wanted = knobs;
        self.settle();
    }

    /// Lets target number `n` alone carry the load from now on. It begins there when it has ended elsewhere.
    pub fn carry(&mut self, n: u16) {
        self.targets.iter_mut().for_each(|target| target.carries = false);
        self.target(n).carries = true;
        self.settle();
    }

    /// Turns all loads off, and leaves all else as it is wanted.
    pub fn stop_load(&mut self) {
        self.targets.iter_mut().for_each(|target| target.wanted.load = false);
        self.settle();
    }

    /// Brings the last changes into force when their time has come, and ends the warm-up when it is over. To be called
    /// ten times a second or more.
    pub fn settle(&mut self) {
        self.targets.iter_mut().filter(|target| target.ends_soon()).for_each(Measured::settle);
        if !self.targets.iter().any(Measured::ends_soon) {
            self.targets.iter_mut().for_each(Measured::settle);
        }
    }

    /// Whether the time is over that was asked for, or all requests that were asked for are sent, and answered or lost, at
    /// every target.
    pub fn is_over(&self) -> bool {
        self.targets.iter().all(|target| target.load.is_over())
    }

    /// Lets `listener` have the first record, those of the current segments, and all from now on.
    pub fn listen(&self, listener: Feed<Arc<Record>>) {
        self.send(Message::Listen(listener));
    }

    /// Puts a note on the time axis.
    pub fn mark(&self, mark: &Mark) {
        // Its text may be a file's, or have been pasted.
        let text = untrusted::text(&mark.text);
        self.send(Message::Record(Record::Mark(Mark { text, t_s: mark.t_s })));
    }

    /// Puts an event of target number `n` on the time axis.
    pub fn event(&self, n: u16, what: EventKind) {
        let event = Record::Event(Event::new(seconds(self.clock.now_ns()), what));
        self.send(Message::Record(event.at_node(n)));
    }

    fn send(&self, message: Message) {
        // The collector ends only after it was asked to.
        drop(self.to_collector.send(message));
    }

    /// The intrinsic probe, which is run on demand.
    pub fn intrinsic(&self) -> &IntrinsicProbe {
        &self.intrinsic
    }

    /// Ends the load everywhere at once, and waits for the last replies. Probes and records go on.
    pub fn end_load(&mut self) {
        self.targets.iter().for_each(|target| target.load.stop());
        self.targets.iter_mut().for_each(|target| target.load.end());
    }

    /// Ends the load, waits for its last replies, ends the probes and the collector.
    pub fn finish(mut self) {
        self.end_load();
        let Self { targets, wake, intrinsic, to_collector, collector, .. } = self;
        drop((targets, wake, intrinsic));
        drop(to_collector.send(Message::Finish));
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}
