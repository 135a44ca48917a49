//! One target of a live session: its load, its ping, and the knobs that hold for it.

use std::{
    io,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use thiserror::Error;

use super::{Segment, collector::Message, target_records::TargetInputs};
use crate::{
    clock::Clock,
    knobs::Knobs,
    load::{Load, LoadError, Plan, Turned},
    probe::{PingPlan, PingProbe},
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

/// What is measured of one target from the beginning on.
pub struct TargetBeginning {
    /// The target, and the load's plan for it.
    pub plan: Plan,
    /// The settings of the first segment.
    pub knobs: Knobs,
    /// What its control plane reported before the session began.
    pub heard: Option<server::Message>,
    /// What its control plane reports.
    pub server: Receiver<server::Message>,
    /// Whether it carries the load where its knobs have it on.
    pub carries: bool,
}

/// A target under measurement.
pub struct Measured {
    clock: Clock,
    /// Which of the session's, from 0.
    target: usize,
    /// Its load.
    pub(super) load: Load,
    _ping: PingProbe,
    collector: Sender<Message>,
    in_force: Knobs,
    /// The knobs that are wanted, now or when it carries the load.
    pub(super) wanted: Knobs,
    pub(super) carries: bool,
    changed_ns: u64,
}

impl Measured {
    /// Starts load and ping of target number `target`; also returns the receivers of its figures.
    pub(super) fn start(
        target: usize,
        beginning: TargetBeginning,
        warmup: Option<Duration>,
        clock: Clock,
        collector: Sender<Message>,
    ) -> Result<(Self, TargetInputs), LiveError> {
        let TargetBeginning { plan, knobs: wanted, server, carries, .. } = beginning;
        let in_force = carried(&wanted, carries);
        let (load, output) = Load::start(&plan, in_force.clone(), warmup, clock)?;
        let (ping_up, pings) = channel();
        let ping = PingProbe::start(PingPlan::new(plan.target), clock, ping_up)?;
        let changed_ns = load.turned().since_ns;
        let measured =
            Self { clock, target, load, _ping: ping, collector, in_force, wanted, carries, changed_ns };
        Ok((measured, TargetInputs { load: output, ping: pings, server }))
    }

    /// The knobs that hold now.
    pub fn knobs(&self) -> &Knobs {
        &self.in_force
    }

    /// The knobs that hold now or soon.
    fn next(&self) -> Knobs {
        carried(&self.wanted, self.carries)
    }

    /// Whether the load is on, and ends soon.
    pub(super) fn ends_soon(&self) -> bool {
        self.in_force.load && !self.next().load
    }

    /// Brings the last change into force when its time has come, and ends the warm-up when it is over.
    pub(super) fn settle(&mut self) {
        let now_ns = self.clock.now_ns();
        let is_turned = self.next() != self.in_force && now_ns - self.changed_ns >= SETTLE_NS;
        if self.load.is_warm() || is_turned {
            self.go_on();
        }
    }

    /// Whether the keys that the load reads are made, and it waits to go on.
    pub(super) fn is_filled(&self) -> bool {
        self.load.is_filled()
    }

    /// Lets the load go on whose keys are made.
    pub(super) fn go_on(&mut self) {
        self.in_force = self.next();
        let turned = self.load.set(&self.in_force);
        self.changed_ns = self.begin_segment(turned, None);
    }

    /// Turns to these knobs at once, and makes the keys anew that their load reads, before it goes on.
    pub(super) fn fill(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.in_force = self.next();
        let turned = self.load.fill(&self.in_force);
        self.changed_ns = self.begin_segment(turned, None);
    }

    /// Begins a segment with the same knobs: a parameter of the server was set.
    pub fn retuned(&mut self, change: ConfigChange) {
        let turned = self.load.set(&self.in_force);
        self.begin_segment(turned, Some(change));
    }

    /// When it begins, in nanoseconds of the session.
    fn begin_segment(&self, turned: Turned, config: Option<ConfigChange>) -> u64 {
        let since_ns = turned.since_ns;
        // The collector ends only after it was asked to.
        drop(self.collector.send(Message::Segment(self.target, self.segment(turned, config))));
        since_ns
    }

    /// The first segment.
    pub(super) fn first_segment(&self) -> Segment {
        self.segment(self.load.turned(), None)
    }

    fn segment(&self, turned: Turned, config: Option<ConfigChange>) -> Segment {
        Segment::begun(turned, self.in_force.clone(), config)
    }
}

/// What holds of these knobs where the load is carried or is not.
fn carried(knobs: &Knobs, carries: bool) -> Knobs {
    Knobs { load: knobs.load && carries, ..knobs.clone() }
}
