//! A live session: the engine, the probes, the control plane and the collector, running together.
//!
//! It owns their threads. What a person asks for goes in by its methods; what is measured comes out as records.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
    thread::JoinHandle,
    time::Duration,
};

use thiserror::Error;

use super::{
    End, Record, SessionStart,
    collector::{Collector, Inputs, Order},
};
use crate::{
    clock::{Clock, TICK_NS},
    happening::Happening,
    load::{Knobs, Load, LoadError, Plan},
    probe::{IntrinsicProbe, PingPlan, PingProbe, WakeProbe},
    server::{self, ConfigChange},
};

/// Changes of the knobs that follow each other faster than this become one segment: a held key is one turn.
const SETTLE_NS: u64 = 100_000_000;

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
    load: Load,
    ping: PingProbe,
    wake: WakeProbe,
    intrinsic: IntrinsicProbe,
    orders: Sender<Order>,
    collector: JoinHandle<End>,
    in_force: Knobs,
    wanted: Knobs,
    changed_ns: u64,
    /// When the warm-up ends, while it lasts.
    warmup_until_ns: Option<u64>,
}

/// What a session begins with.
pub struct Beginning {
    /// The first record.
    pub start: SessionStart,
    /// The settings of the first segment.
    pub knobs: Knobs,
    /// How long the first segment is a warm-up, which counts for nothing else.
    pub warmup: Option<Duration>,
    /// What the control plane told before the session began.
    pub heard: Option<server::Message>,
    /// What it tells.
    pub server: Receiver<server::Message>,
}

impl Live {
    /// Starts everything; `listeners` get every record from the first on.
    ///
    /// # Errors
    /// When the target's host does not resolve, or threads cannot be had.
    pub fn start(
        plan: &Plan,
        beginning: Beginning,
        clock: Clock,
        listeners: Vec<Sender<Arc<Record>>>,
    ) -> Result<Self, LiveError> {
        let tick = Duration::from_nanos(TICK_NS);
        let (orders_up, orders) = std::sync::mpsc::channel();
        let (probes_up, probes) = std::sync::mpsc::channel();
        let Beginning { start, knobs, warmup, heard, server } = beginning;
        let (load, output) = Load::start(plan, knobs.clone(), warmup.is_none(), clock)?;
        let inputs = Inputs { load: output, probes, server, orders };
        let mut collector = Collector::new(clock, inputs, listeners);
        let changed_ns = load.since_ns();
        let first = Order::Segment {
            at_ns: changed_ns,
            segment: 1,
            knobs: knobs.clone(),
            warmup: warmup.is_some(),
            config: None,
        };
        collector.begin(start, first, heard);
        let collector = std::thread::Builder::new().name("collector".to_owned()).spawn(|| collector.run())?;
        let ping = PingProbe::start(PingPlan::new(plan.target.clone()), clock, probes_up.clone())?;
        let wake = WakeProbe::start(tick, clock, probes_up.clone())?;
        let intrinsic = IntrinsicProbe::start(tick, clock, probes_up)?;
        Ok(Self {
            clock,
            load,
            ping,
            wake,
            intrinsic,
            orders: orders_up,
            collector,
            in_force: knobs.clone(),
            wanted: knobs,
            changed_ns,
            warmup_until_ns: warmup.map(|length| changed_ns + length.as_nanos() as u64),
        })
    }

    /// The knobs that hold now.
    pub fn knobs(&self) -> Knobs {
        self.in_force.clone()
    }

    /// Asks for other knobs. They hold at once, or, when the last change is younger than a tenth of a second,
    /// at a later [`settle`](Self::settle).
    pub fn turn(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.settle();
    }

    /// Turns the load off, and leaves all else as it is wanted.
    pub fn stop_load(&mut self) {
        self.turn(Knobs { load: false, ..self.wanted.clone() });
    }

    /// Brings the last change into force when its time has come, and ends the warm-up when it is over. To be called
    /// ten times a second or more.
    pub fn settle(&mut self) {
        let now_ns = self.clock.now_ns();
        let warm = self.warmup_until_ns.is_some_and(|until_ns| now_ns >= until_ns);
        let turned = self.wanted != self.in_force && now_ns - self.changed_ns >= SETTLE_NS;
        if !warm && !turned {
            return;
        }
        if warm {
            self.warmup_until_ns = None;
        }
        self.in_force = self.wanted.clone();
        let warmup = self.warmup_until_ns.is_some();
        let (segment, at_ns) = self.load.set(self.in_force.clone(), !warmup);
        self.changed_ns = at_ns;
        self.order(Order::Segment { at_ns, segment, knobs: self.in_force.clone(), warmup, config: None });
    }

    /// Begins a segment with the same knobs: a parameter of the server was set.
    pub fn retuned(&mut self, change: ConfigChange) {
        let warmup = self.warmup_until_ns.is_some();
        let (segment, at_ns) = self.load.set(self.in_force.clone(), !warmup);
        self.order(Order::Segment {
            at_ns,
            segment,
            knobs: self.in_force.clone(),
            warmup,
            config: Some(change),
        });
    }

    /// Whether the time is over that was asked for, or all requests that were asked for are sent, and answered or lost.
    pub fn is_over(&self) -> bool {
        self.load.is_over()
    }

    /// Puts a note on the time axis, at `t_s` seconds of the session.
    pub fn mark(&self, t_s: f64, text: String) {
        self.order(Order::Mark { t_s, text });
    }

    /// Lets `listener` have the first record, that of the current segment, and all from now on.
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

    /// Ends the load, and waits for its last replies. Probes and records go on.
    pub fn end_load(&mut self) {
        self.load.end();
    }

    /// Ends the load, waits for its last replies, ends the probes, and returns the last record.
    pub fn finish(mut self) -> End {
        self.end_load();
        let Self { load, ping, wake, intrinsic, orders, collector, .. } = self;
        drop((ping, wake, intrinsic));
        drop(load);
        drop(orders.send(Order::Finish));
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
