//! One target of a live session: its load, its ping, and its knobs.

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

/// Changes of the knobs in faster succession become one segment, since a key that is held down repeats.
const SETTLE_NS: u64 = 100_000_000;

/// The reasons why a session cannot start.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The load engine cannot start.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] io::Error),
}

/// The measurement of one target.
pub struct TargetBeginning {
    /// The target, and the load's plan for it.
    pub plan: Plan,
    /// The knobs of the first segment.
    pub knobs: Knobs,
    /// The reports of the target's control plane before the session began.
    pub heard: Option<server::Message>,
    /// The channel of the target's control plane.
    pub server: Receiver<server::Message>,
    /// Whether the target carries the load when its knobs switch it on.
    pub carries: bool,
}

/// A target under measurement.
pub struct Measured {
    clock: Clock,
    /// The number of the target in the session, from 0.
    target: usize,
    /// The load of the target.
    pub(super) load: Load,
    _ping: PingProbe,
    collector: Sender<Message>,
    in_force: Knobs,
    /// The requested knobs, which take effect now, or when the target carries the load.
    pub(super) wanted: Knobs,
    pub(super) carries: bool,
    changed_ns: u64,
}

impl Measured {
    /// Starts load and ping of target number `target`; also returns the receivers of its reports.
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

    /// Returns the knobs in force.
    pub fn knobs(&self) -> &Knobs {
        &self.in_force
    }

    /// Returns the knobs in force now, or after the pending change.
    fn next(&self) -> Knobs {
        carried(&self.wanted, self.carries)
    }

    /// Returns whether the load is on, and ends with the pending change.
    pub(super) fn ends_soon(&self) -> bool {
        self.in_force.load && !self.next().load
    }

    /// Makes the last change take effect when its time has come, and ends the warm-up when it is over.
    pub(super) fn settle(&mut self) {
        let now_ns = self.clock.now_ns();
        let is_turned = self.next() != self.in_force && now_ns - self.changed_ns >= SETTLE_NS;
        if self.load.is_warm() || is_turned {
            self.go_on();
        }
    }

    /// Returns whether the prefill is complete, and the load waits to continue.
    pub(super) fn is_filled(&self) -> bool {
        self.load.is_filled()
    }

    /// Continues with the load after its prefill.
    pub(super) fn go_on(&mut self) {
        self.in_force = self.next();
        let turned = self.load.set(&self.in_force);
        self.changed_ns = self.begin_segment(turned, None);
    }

    /// Sets these knobs at once, with a new prefill before the load.
    pub(super) fn fill(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.in_force = self.next();
        let turned = self.load.fill(&self.in_force);
        self.changed_ns = self.begin_segment(turned, None);
    }

    /// Begins a segment with the same knobs, because a parameter of the server was set.
    pub fn retuned(&mut self, change: ConfigChange) {
        let turned = self.load.set(&self.in_force);
        self.begin_segment(turned, Some(change));
    }

    /// Sends the record of a segment to the collector; returns the start of the segment in nanoseconds of the session.
    fn begin_segment(&self, turned: Turned, config: Option<ConfigChange>) -> u64 {
        let since_ns = turned.since_ns;
        // The collector only ends after `finish`.
        drop(self.collector.send(Message::Segment(self.target, self.segment(turned, config))));
        since_ns
    }

    /// Returns the first segment.
    pub(super) fn first_segment(&self) -> Segment {
        self.segment(self.load.turned(), None)
    }

    fn segment(&self, turned: Turned, config: Option<ConfigChange>) -> Segment {
        Segment::begun(turned, self.in_force.clone(), config)
    }
}

/// Returns these knobs, with the load off if another target carries it.
fn carried(knobs: &Knobs, carries: bool) -> Knobs {
    Knobs { load: knobs.load && carries, ..knobs.clone() }
}
