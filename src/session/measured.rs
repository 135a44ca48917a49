//! One target of a live session: its load, its ping, and the knobs that hold for it.

use std::{
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use super::{
    LiveError, TargetBeginning,
    collector::{Order, Turn},
    target_records::TargetInputs,
};
use crate::{
    clock::Clock,
    load::{Knobs, Load, Turned},
    probe::{PingPlan, PingProbe},
    server::ConfigChange,
};

/// Changes of the knobs that follow each other faster than this become one segment: a held key is one turn.
const SETTLE_NS: u64 = 100_000_000;

/// A target under measurement.
pub(super) struct Measured {
    clock: Clock,
    /// Which of the session's, from 0.
    target: u16,
    load: Load,
    _ping: PingProbe,
    orders: Sender<Order>,
    in_force: Knobs,
    wanted: Knobs,
    changed_ns: u64,
}

impl Measured {
    /// Starts load and ping of target number `target`; what tells of it beside.
    pub(super) fn start(
        target: u16,
        beginning: TargetBeginning,
        warmup: Option<Duration>,
        clock: Clock,
        orders: Sender<Order>,
    ) -> Result<(Self, TargetInputs), LiveError> {
        let TargetBeginning { plan, knobs, server, .. } = beginning;
        let (load, output) = Load::start(&plan, knobs.clone(), warmup, clock)?;
        let (ping_up, pings) = channel();
        let ping = PingProbe::start(PingPlan::new(plan.target), clock, ping_up)?;
        let changed_ns = load.turned().since_ns;
        let measured = Self {
            clock,
            target,
            load,
            _ping: ping,
            orders,
            in_force: knobs.clone(),
            wanted: knobs,
            changed_ns,
        };
        Ok((measured, TargetInputs { load: output, ping: pings, server }))
    }

    /// The knobs that hold now.
    pub(super) fn knobs(&self) -> &Knobs {
        &self.in_force
    }

    /// The knobs that hold now or soon.
    pub(super) fn wanted(&self) -> &Knobs {
        &self.wanted
    }

    /// Asks for other knobs.
    pub(super) fn turn(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.settle();
    }

    /// Brings the last change into force when its time has come, and ends the warm-up when it is over.
    pub(super) fn settle(&mut self) {
        let now_ns = self.clock.now_ns();
        let is_turned = self.wanted != self.in_force && now_ns - self.changed_ns >= SETTLE_NS;
        if !self.load.is_warm() && !is_turned {
            return;
        }
        self.in_force = self.wanted.clone();
        let turned = self.load.set(self.in_force.clone());
        self.changed_ns = turned.since_ns;
        self.tell(self.segment(turned, None));
    }

    /// Begins a segment with the same knobs: a parameter of the server was set.
    pub(super) fn retuned(&mut self, change: ConfigChange) {
        let turned = self.load.set(self.in_force.clone());
        self.tell(self.segment(turned, Some(change)));
    }

    /// The first segment.
    pub(super) fn first_segment(&self) -> Turn {
        self.segment(self.load.turned(), None)
    }

    fn segment(&self, turned: Turned, config: Option<ConfigChange>) -> Turn {
        let Turned { segment, since_ns: at_ns, is_warmup: warmup } = turned;
        Turn { target: self.target, at_ns, segment, knobs: self.in_force.clone(), warmup, config }
    }

    fn tell(&self, turn: Turn) {
        // The collector ends only after it was told to.
        drop(self.orders.send(Order::Segment(turn)));
    }

    /// The load.
    pub(super) fn load(&self) -> &Load {
        &self.load
    }

    /// After the load was stopped: waits until it has ended.
    pub(super) fn await_last_replies(&mut self) {
        self.load.end();
    }
}
