//! One target of a live session: its load, its ping probe, and its load settings.

use std::{
    io,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use thiserror::Error;

use super::{Record, Segment, collector::CollectorMessage, target_records::TargetInputs};
use crate::{
    clock::{Clock, SECOND_NS, seconds},
    endpoint::NodeOutages,
    knobs::Knobs,
    load::{Load, LoadError, LoadOutput, LoadPlan, SettingChange},
    probe::{PingPlan, PingProbe, PingedNode, ServerPid},
    server::{self, ConfigChange},
};

/// The shortest time between two changes of the load settings, in nanoseconds. Faster changes become one segment. For
/// example, a user who holds a key down causes fast changes.
const SETTLE_NS: u64 = 100_000_000;

/// Below this number of PINGs per second, each ping record is about a whole second. A record of a quarter second would
/// contain only a few PINGs. A session with many nodes sends so few PINGs to each node.
const FEW_PINGS: NonZeroU32 = NonZeroU32::new(20).expect("20 is not 0");

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

/// The settings for measuring one target.
pub struct TargetSettings {
    /// The target and the load for it.
    pub plan: LoadPlan,
    /// The load settings of the first segment.
    pub knobs: Knobs,
    /// The report of the target's control plane from before the session began.
    pub heard: Option<server::ControlMessage>,
    /// The receiver of the reports of the target's control plane.
    pub server: Receiver<server::ControlMessage>,
    /// The joined records of the agents, if a fleet generates the load.
    pub fleet: Option<Receiver<Record>>,
    /// Whether this target gets the load when the load is switched on. If not, another target gets the load.
    pub carries: bool,
    /// Whether this target is only watched. Such a target never gets load.
    pub is_watched: bool,
    /// PINGs per second. A session with many targets sends fewer PINGs to each target.
    pub pings_per_s: NonZeroU32,
}

/// The clock of a session, and the senders for the reports about a target.
#[derive(Clone)]
pub(super) struct TargetChannels {
    pub(super) clock: Clock,
    pub(super) collector: Sender<CollectorMessage>,
    pub(super) outages: NodeOutages,
    /// The time of the last change of any target's load settings, in ns. The ping probes of all targets end a report at
    /// this time.
    pub(super) settings_changed_ns: Arc<AtomicU64>,
}

/// A target under measurement.
pub struct MeasuredTarget {
    channels: TargetChannels,
    /// The number of the target in the session, from 0.
    target: usize,
    /// The load of the target; `None` if the target is only watched.
    pub(super) load: Option<Load>,
    pub(super) ping: PingProbe,
    in_force: Knobs,
    /// The requested load settings, which will take effect soon. If another target gets the load, this target's load
    /// stays off.
    pub(super) wanted: Knobs,
    pub(super) carries: bool,
    changed_ns: u64,
    /// Whether the requested settings cannot take effect yet because their receivers are not ready.
    awaits_receivers: bool,
}

impl MeasuredTarget {
    /// Starts the load and the ping probe of target number `target`. Also returns the receivers of the
    /// reports of the load and of the probe.
    pub(super) fn start(
        target: usize,
        beginning: TargetSettings,
        warmup: Option<Duration>,
        channels: TargetChannels,
    ) -> Result<(Self, TargetInputs), LiveError> {
        let clock = channels.clock;
        let TargetSettings { plan, knobs: wanted, server, fleet, carries, is_watched, pings_per_s, .. } =
            beginning;
        let mut in_force = carried(&wanted, carries);
        let (load, output) = match is_watched {
            true => (None, LoadOutput { rings: Vec::new(), joined: channel().1, events: channel().1 }),
            false => {
                let (load, output) = Load::start(&plan, in_force.clone(), warmup, clock)?;
                load.is_ready_for(&in_force);
                in_force = load.knobs();
                (Some(load), output)
            }
        };
        let (ping_up, pings) = channel();
        let mut ping_plan = PingPlan {
            per_second: pings_per_s,
            watched: PingedNode { outages: channels.outages.clone(), node: target },
            changed_ns: Arc::clone(&channels.settings_changed_ns),
            ..PingPlan::new(plan.target)
        };
        if pings_per_s < FEW_PINGS {
            ping_plan.tick = Duration::from_nanos(SECOND_NS);
        }
        let ping = PingProbe::start(ping_plan, clock, ping_up)?;
        let changed_ns = load.as_ref().map_or_else(|| clock.now_ns(), |load| load.last_change().since_ns);
        let measured = Self {
            channels,
            target,
            load,
            ping,
            in_force,
            wanted,
            carries,
            changed_ns,
            awaits_receivers: false,
        };
        let pid = ServerPid::default();
        Ok((measured, TargetInputs { load: output, ping: pings, server, fleet, pid, numbers: None }))
    }

    /// Returns the load settings in effect.
    pub fn knobs(&self) -> &Knobs {
        &self.in_force
    }

    /// Returns the load settings in effect. Returns `None` if the load is off or a prefill runs.
    pub(super) fn under_load(&self) -> Option<&Knobs> {
        let is_filling = |load: &Load| load.last_change().prefill.is_some();
        let is_on = self.in_force.load && !self.load.as_ref().is_none_or(is_filling);
        is_on.then_some(&self.in_force)
    }

    /// Returns the load settings after the pending change. Without a pending change, the settings in effect are
    /// returned.
    fn next(&self) -> Knobs {
        carried(&self.wanted, self.carries)
    }

    /// Returns whether the pending change switches the load off.
    pub(super) fn ends_soon(&self) -> bool {
        self.in_force.load && !self.next().load
    }

    /// Applies requested settings that are due, and ends a warm-up after its time.
    pub(super) fn settle(&mut self) {
        let now_ns = self.channels.clock.now_ns();
        let is_turned = (self.next() != self.in_force || self.awaits_receivers)
            && now_ns.saturating_sub(self.changed_ns) >= SETTLE_NS;
        if self.load.as_ref().is_some_and(Load::is_warm) || is_turned {
            let next = self.next();
            self.awaits_receivers = self.load.as_ref().is_some_and(|load| !load.is_ready_for(&next));
            if !self.awaits_receivers {
                self.apply_wanted();
            }
        }
    }

    /// Returns whether the prefill is complete and the load can begin.
    pub(super) fn is_filled(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.is_prefill_done() && load.is_ready_for(&self.next()))
    }

    /// Begins a new segment with the requested settings, for example after a prefill.
    pub(super) fn apply_wanted(&mut self) {
        self.in_force = self.next();
        self.begin_segment(Load::set, None);
    }

    /// Applies these load settings at once, and runs a new prefill before the load.
    pub(super) fn fill(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.in_force = self.next();
        self.begin_segment(Load::fill, None);
    }

    /// Begins a new segment with the same load settings, because a parameter of the server was set.
    pub fn retuned(&mut self, change: ConfigChange) {
        self.begin_segment(Load::set, Some(change));
    }

    /// Begins a new segment with the settings in effect. Calls `turn` on the load, and sends the segment's record to
    /// the collector.
    fn begin_segment(&mut self, turn: fn(&Load, &Knobs) -> SettingChange, config: Option<ConfigChange>) {
        let Some(load) = &self.load else { return };
        let turned = turn(load, &self.in_force);
        self.changed_ns = turned.since_ns;
        self.channels.settings_changed_ns.store(turned.since_ns, Ordering::Relaxed);
        // The collector ends only after `finish`.
        drop(
            self.channels
                .collector
                .send(CollectorMessage::Segment(self.target, self.segment(turned, config))),
        );
    }

    /// Returns the first segment. A target that is only watched has only this segment.
    pub(super) fn first_segment(&self) -> Segment {
        match &self.load {
            Some(load) => self.segment(load.last_change(), None),
            None => Segment::new(seconds(self.changed_ns), 1, self.in_force.clone()),
        }
    }

    fn segment(&self, turned: SettingChange, config: Option<ConfigChange>) -> Segment {
        Segment::begun(turned, self.in_force.clone(), config)
    }
}

/// Returns these load settings. If `carries` is false, the load is off in the returned settings.
fn carried(knobs: &Knobs, carries: bool) -> Knobs {
    Knobs { load: knobs.load && carries, ..knobs.clone() }
}
