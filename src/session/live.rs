//! A live session: the engine, the probes, the control plane and the collector, running together.
//!
//! It owns their threads. What a person asks for goes in by its methods; what is measured comes out as records.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use thiserror::Error;

use super::{
    End, Record, SessionStart,
    collector::{Collector, Inputs, Order},
    measured::Measured,
};
use crate::{
    clock::{Clock, TICK_NS},
    happening::Happening,
    load::{Knobs, LoadError, Plan},
    probe::{IntrinsicProbe, WakeProbe},
    server::{self, ConfigChange},
};

/// Why a session cannot start.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The engine cannot.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A thread cannot be had.
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] io::Error),
}

/// A running session. Dropped without [`finish`](Self::finish), it ends without an end record.
pub struct Live {
    clock: Clock,
    /// The targets, at least one.
    targets: Vec<Measured>,
    wake: WakeProbe,
    intrinsic: IntrinsicProbe,
    orders: Sender<Order>,
    collector: JoinHandle<End>,
}

/// What a session begins with.
pub struct Beginning {
    /// The first record.
    pub start: SessionStart,
    /// How long the first segment is a warm-up, which counts for nothing else.
    pub warmup: Option<Duration>,
    /// What is measured, side by side: at least one target.
    pub targets: Vec<TargetBeginning>,
}

/// What is measured of one target from the beginning on.
pub struct TargetBeginning {
    /// The target, and the load's plan for it.
    pub plan: Plan,
    /// The settings of the first segment.
    pub knobs: Knobs,
    /// What its control plane told before the session began.
    pub heard: Option<server::Message>,
    /// What it tells.
    pub server: Receiver<server::Message>,
}

impl Live {
    /// Starts everything; `listeners` get every record from the first on.
    ///
    /// # Errors
    /// When a target's host does not resolve, or threads cannot be had.
    pub fn start(
        beginning: Beginning,
        clock: Clock,
        listeners: Vec<Sender<Arc<Record>>>,
    ) -> Result<Self, LiveError> {
        let tick = Duration::from_nanos(TICK_NS);
        let (orders_up, orders) = channel();
        let (machine_up, machine) = channel();
        let Beginning { start, warmup, targets: beginnings } = beginning;
        let (mut targets, mut inputs, mut heard) = (Vec::new(), Vec::new(), Vec::new());
        for (n, mut beginning) in (0..).zip(beginnings) {
            heard.push(beginning.heard.take());
            let (target, tells) = Measured::start(n, beginning, warmup, clock, orders_up.clone())?;
            targets.push(target);
            inputs.push(tells);
        }
        let mut collector = Collector::new(clock, Inputs { targets: inputs, machine, orders }, listeners);
        collector.begin(start);
        for (target, heard) in targets.iter().zip(heard) {
            collector.begin_target(target.first_segment(), heard);
        }
        let collector = std::thread::Builder::new().name("collector".to_owned()).spawn(|| collector.run())?;
        let wake = WakeProbe::start(tick, clock, machine_up.clone())?;
        let intrinsic = IntrinsicProbe::start(tick, clock, machine_up)?;
        Ok(Self { clock, targets, wake, intrinsic, orders: orders_up, collector })
    }

    /// The knobs that hold now, those of the first target.
    pub fn knobs(&self) -> Knobs {
        self.targets[0].knobs().clone()
    }

    /// Asks for other knobs for every target. They hold at once, or, when the last change is younger than a tenth of a
    /// second, at a later [`settle`](Self::settle).
    pub fn turn(&mut self, knobs: Knobs) {
        for target in &mut self.targets[1..] {
            target.turn(knobs.clone());
        }
        self.targets[0].turn(knobs);
    }

    /// Asks for other knobs for target number `target`, from 0.
    pub fn turn_one(&mut self, target: usize, knobs: Knobs) {
        self.targets[target].turn(knobs);
    }

    /// Turns the load off, and leaves all else as it is wanted.
    pub fn stop_load(&mut self) {
        for target in &mut self.targets {
            target.turn(Knobs { load: false, ..target.wanted().clone() });
        }
    }

    /// Brings the last changes into force when their time has come, and ends the warm-up when it is over. To be called
    /// ten times a second or more.
    pub fn settle(&mut self) {
        self.targets.iter_mut().for_each(Measured::settle);
    }

    /// Begins a segment with the same knobs: a parameter of the first target's server was set.
    pub fn retuned(&mut self, change: ConfigChange) {
        self.targets[0].retuned(change);
    }

    /// Whether the time is over that was asked for, or all requests that were asked for are sent, and answered or lost, at
    /// every target.
    pub fn is_over(&self) -> bool {
        self.targets.iter().all(|target| target.load().is_over())
    }

    /// Puts a note on the time axis, at `t_s` seconds of the session.
    pub fn mark(&self, t_s: f64, text: String) {
        self.order(Order::Mark { t_s, text });
    }

    /// Lets `listener` have the first record, those of the current segments, and all from now on.
    pub fn listen(&self, listener: Sender<Arc<Record>>) {
        self.order(Order::Listen(listener));
    }

    /// Puts an event on the time axis.
    pub fn event(&self, what: Happening) {
        self.order(Order::Event { at_ns: self.clock.now_ns(), what });
    }

    /// The intrinsic probe, which is run on demand.
    pub fn intrinsic(&self) -> &IntrinsicProbe {
        &self.intrinsic
    }

    fn order(&self, order: Order) {
        // The collector ends only after it was told to.
        drop(self.orders.send(order));
    }

    /// Ends the load everywhere at once, and waits for the last replies. Probes and records go on.
    pub fn end_load(&mut self) {
        self.targets.iter().for_each(|target| target.load().stop());
        self.targets.iter_mut().for_each(Measured::await_last_replies);
    }

    /// Ends the load, waits for its last replies, ends the probes, and returns the last record: that of the first target.
    pub fn finish(mut self) -> End {
        self.end_load();
        let Self { targets, wake, intrinsic, orders, collector, .. } = self;
        drop((targets, wake, intrinsic));
        drop(orders.send(Order::Finish));
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
