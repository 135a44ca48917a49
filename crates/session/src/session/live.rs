//! A live session runs the load engine, the probes, the control plane and the collector.
//!
//! The session owns the threads of all these parts. Callers control the session with the methods of [`Live`]. Listeners
//! receive the session's measurements as records.

use std::{
    num::NonZeroU32,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use super::{
    Event, LiveError, Mark, Numbering, Record, SessionStart, TargetSettings,
    collector::{Collector, CollectorMessage, Inputs},
    measured::{MeasuredTarget, TargetChannels},
    queue::Feed,
};
use crate::{
    clock::{Clock, TICK_NS, seconds},
    endpoint::{Cluster, NodeOutages, Target},
    events::EventKind,
    knobs::Knobs,
    load::Load,
    probe::{
        self, FailoverPlan, FailoverProbe, HostPlan, HostProbe, IntrinsicProbe, LagPlan, LagProbe,
        RecallProbe, WakeProbe, WatchedServer,
    },
    untrusted,
    workload::KeyNames,
};

/// A running session. Call [`finish`](Self::finish) to end the session. A session that is dropped has no end record.
pub struct Live {
    channels: TargetChannels,
    /// The targets, at least one.
    targets: Vec<MeasuredTarget>,
    wake: WakeProbe,
    host: HostProbe,
    /// The probes that notice failovers. There is one probe for the cluster of the targets, or one probe for each
    /// loaded target with a host name.
    failovers: Vec<FailoverProbe>,
    /// The load settings of the last call of `look_at_recall`, and the recall probe. The probe is absent if the
    /// workload of these settings has no vector searches.
    recall: Option<(Knobs, Option<RecallProbe>)>,
    /// The probe of the replicas' lag, if it was started.
    lag: Option<LagProbe>,
    machine: Sender<probe::ProbeMessage>,
    /// The probe of this machine's own latency, without any server. The probe runs only when requested.
    pub intrinsic: IntrinsicProbe,
    collector: JoinHandle<()>,
}

/// The settings of a new session.
pub struct LiveSettings {
    /// The first record of the session.
    pub start: SessionStart,
    /// The length of the warm-up in the first segment. No result includes the warm-up.
    pub warmup: Option<Duration>,
    /// Whether private texts of servers are removed from all records (`--redact`).
    pub redacts: bool,
    /// The folder that contains the host's `proc` and `sys`, usually `/`.
    pub host_root: PathBuf,
    /// The cluster of the targets; `None` if the targets do not belong to a cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// The targets that are measured at the same time, at least one.
    pub targets: Vec<TargetSettings>,
}

impl Live {
    /// Starts the session. `listeners` receive every record from the first on.
    ///
    /// # Errors
    /// Fails if a target's host name does not resolve, or a thread cannot be started.
    pub fn start(
        beginning: LiveSettings,
        clock: Clock,
        listeners: Vec<Feed<Arc<Record>>>,
    ) -> Result<Self, LiveError> {
        let tick = Duration::from_nanos(TICK_NS);
        let (collector, session) = channel();
        let outages = NodeOutages::default();
        let channels = TargetChannels { clock, collector, outages, settings_changed_ns: Arc::default() };
        let (machine_up, machine) = channel();
        let LiveSettings { start, warmup, redacts, host_root, cluster, targets: beginnings } = beginning;
        let (mut targets, mut inputs, mut heard) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = HostPlan { root: host_root, servers: Vec::new() };
        let loaded = beginnings.iter().filter(|beginning| !beginning.is_watched).count() as u16; // two at most
        for (n, mut beginning) in beginnings.into_iter().enumerate() {
            let numbering = Numbering { first: n as u16, step: loaded };
            let numbers = beginning.plan.cluster.as_ref().map(|plan| (numbering, Arc::clone(&plan.cluster)));
            heard.push(beginning.heard.take());
            let server = beginning.plan.target.clone();
            let (target, mut input) = MeasuredTarget::start(n, beginning, warmup, channels.clone())?;
            input.numbers = numbers;
            plan.servers.push(WatchedServer { target: server, pid: input.pid.clone() });
            targets.push(target);
            inputs.push(input);
        }
        let inputs = Inputs { targets: inputs, machine, session };
        let mut collector = Collector::new(clock, inputs, listeners);
        collector.redacts = redacts;
        collector.begin(start);
        for (n, heard) in heard.into_iter().enumerate() {
            collector.begin_target(n, targets[n].first_segment(), heard);
        }
        let collector = std::thread::Builder::new().name("collector".to_owned()).spawn(|| collector.run())?;
        let wake = WakeProbe::start(tick, clock, machine_up.clone())?;
        let cluster = cluster.filter(|cluster| !cluster.is_ring());
        let watched = targets.iter().enumerate().filter(|(node, of)| *node == 0 || of.load.is_some());
        let mut failovers = Vec::new();
        for (node, of) in watched {
            let target = plan.servers[node].target.clone();
            let cluster = cluster.clone().filter(|_| node == 0);
            let load_outages = of.load.as_ref().map(|load| load.outages().clone()).unwrap_or_default();
            let has_agents = of.load.as_ref().is_some_and(Load::is_led);
            let outages = channels.outages.clone();
            let watched = FailoverPlan { node, target, cluster, outages, load_outages, has_agents };
            if watched.cluster.is_some() || watched.target.address.is_name() {
                failovers.push(FailoverProbe::start(watched, clock, machine_up.clone())?);
            }
        }
        let host = HostProbe::start(plan, clock, machine_up.clone())?;
        let intrinsic = IntrinsicProbe::start(tick, clock, machine_up.clone())?;
        let (lag, recall, machine) = (None, None, machine_up);
        Ok(Self { channels, targets, wake, host, failovers, lag, recall, machine, intrinsic, collector })
    }

    /// Adds a target with the next target number to the running session.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn join(&mut self, beginning: TargetSettings) -> Result<(), LiveError> {
        let (n, server) = (self.targets.len(), beginning.plan.target.clone());
        let (target, inputs) = MeasuredTarget::start(n, beginning, None, self.channels.clone())?;
        let (address, pid) = (server.address.to_string(), inputs.pid.clone());
        let first = Box::new(target.first_segment());
        self.targets.push(target);
        self.send(CollectorMessage::Join { address, inputs: Box::new(inputs), first });
        self.lag.iter().for_each(|lag| lag.add(server.clone()));
        self.host.add(WatchedServer { target: server, pid });
        Ok(())
    }

    /// Begins to measure the replication lag. The lag probe writes keys to the primaries.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn probe_lag(&mut self, plan: LagPlan) -> Result<(), LiveError> {
        self.lag = Some(LagProbe::start(plan, self.channels.clock, self.machine.clone())?);
        Ok(())
    }

    /// If the load of target 0 is on, starts to measure the recall of its vector searches. If the load is off, ends
    /// this measurement. A prefill does not count as load. Call this function as often as [`settle`](Self::settle).
    /// `is_spread` is true if the keys are spread over several servers.
    ///
    /// # Errors
    /// The error is the reason why the recall is not measured. The reason is returned only once for each workload.
    pub fn look_at_recall(
        &mut self,
        target: &Target,
        names: &KeyNames,
        is_spread: bool,
    ) -> Result<(), String> {
        let Some(knobs) = self.targets[0].under_load() else {
            self.recall = None;
            return Ok(());
        };
        let is_same = |(before, _): &(Knobs, _)| {
            Arc::ptr_eq(&before.workload, &knobs.workload) && before.keyspace == knobs.keyspace
        };
        if self.recall.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let search = knobs.workload.vector_search(target.dialect, knobs.keyspace, names);
        let (_, probe) = self.recall.insert((knobs.clone(), None));
        let Some(search) = search? else { return Ok(()) };
        if is_spread {
            return Err("the vectors are spread over several servers".to_owned());
        }
        let of = (Arc::clone(&knobs.workload), knobs.keyspace);
        let started =
            RecallProbe::start(target.clone(), (search, of), self.channels.clock, self.machine.clone());
        *probe = Some(started.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Sets the number of PINGs per second to each target.
    pub fn pace_pings(&self, per_second: NonZeroU32) {
        self.targets.iter().for_each(|target| target.ping.pace(per_second));
    }

    /// Returns target number `n`, from 0.
    pub fn target(&mut self, n: u16) -> &mut MeasuredTarget {
        &mut self.targets[usize::from(n)]
    }

    /// Requests other load settings for target number `n`. The settings usually take effect at once. If the last change
    /// was less than a tenth of a second ago, the settings take effect in a later call of [`settle`](Self::settle).
    pub fn set_knobs(&mut self, n: u16, knobs: Knobs) {
        self.target(n).wanted = knobs;
        self.settle();
    }

    /// Moves the whole load to target number `n`. The load begins at this target only after the load has
    /// ended at all other targets.
    pub fn carry(&mut self, n: u16) {
        self.targets.iter_mut().for_each(|target| target.carries = false);
        self.target(n).carries = true;
        self.settle();
    }

    /// Switches the load off at all targets. All other settings stay unchanged.
    pub fn stop_load(&mut self) {
        self.targets.iter_mut().for_each(|target| target.wanted.load = false);
        self.settle();
    }

    /// Applies requested settings that are due, and ends a warm-up after its time. Call this ten times a second or more
    /// often.
    pub fn settle(&mut self) {
        self.targets.iter_mut().filter(|target| target.ends_soon()).for_each(MeasuredTarget::settle);
        if !self.targets.iter().any(MeasuredTarget::ends_soon) {
            self.targets.iter_mut().for_each(MeasuredTarget::settle);
        }
    }

    /// Returns whether the load is over at every target. A load is over when its time has passed, or when all its
    /// requests were answered or lost.
    pub fn is_over(&self) -> bool {
        self.loads().all(Load::is_over)
    }

    /// Returns whether any target has load.
    pub(super) fn is_loaded(&self) -> bool {
        self.targets.iter().any(|target| target.knobs().load)
    }

    fn loads(&self) -> impl Iterator<Item = &Load> {
        self.targets.iter().filter_map(|target| target.load.as_ref())
    }

    /// Adds a listener. The listener first receives the session's first record, with the present time as its start. The
    /// next records are those of the current segments, and all later records.
    pub fn listen(&self, listener: Feed<Arc<Record>>) {
        self.send(CollectorMessage::Listen(listener));
    }

    /// Records a user's note.
    pub fn mark(&self, mark: &Mark) {
        // The text may come from a file, or may have been pasted.
        let text = untrusted::text(&mark.text);
        self.send(CollectorMessage::Record(Record::Mark(Mark { text, t_s: mark.t_s })));
    }

    /// Records an event of target number `n`.
    pub fn event(&self, n: u16, what: EventKind) {
        let event = Record::Event(Event::new(seconds(self.channels.clock.now_ns()), what));
        self.send(CollectorMessage::Record(event.at_node(n)));
    }

    fn send(&self, message: CollectorMessage) {
        // The collector ends only after `finish`.
        drop(self.channels.collector.send(message));
    }

    /// Ends the load of all targets at once, and waits for the last replies. Probes and records continue.
    pub fn end_load(&mut self) {
        self.loads().for_each(Load::stop);
        self.targets.iter_mut().filter_map(|target| target.load.as_mut()).for_each(Load::end);
    }

    /// Ends the session: ends the load, waits for the last replies, and ends the probes and the collector.
    pub fn finish(mut self) {
        self.end_load();
        let Self { channels, targets, wake, host, failovers, lag, recall, intrinsic, collector, .. } = self;
        targets.iter().for_each(|target| target.ping.stop());
        drop((targets, wake, host, failovers, lag, recall, intrinsic));
        drop(channels.collector.send(CollectorMessage::Finish));
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}
