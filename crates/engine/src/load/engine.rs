//! The handle to a running load engine. The engine passes the knobs (the settings that can change during a run) to
//! the workers. The engine passes the workers' counts to the collector.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use arc_swap::ArcSwap;
use mio::{Poll, Waker};
use parking_lot::Mutex;

use super::{
    AgentSetting, Agents, Fleet, LoadError, LoadEvent, LoadPlan, Prefilling, RingEnd, most_clients,
    phase::{Phase, Stops},
    quota::Quota,
    receive::ReceiverHandle,
    ring,
    setting::{LoadSetting, fill_first, receive_first},
    worker::{WAKE, Worker, WorkerSetup},
};
use crate::{
    clock::Clock,
    endpoint::{Endpoints, NodeOutages},
    knobs::Knobs,
    protocol::Dialect,
    workload::{Program, Values},
};

/// The longest acceptable time for building a setting, in ns. A setting is the data that workers need about the
/// knobs. If the build takes longer, the setting is built again. A build usually takes one or two microseconds.
const AT_ONCE_NS: u64 = 10_000;

/// A change of the knobs that is in effect. The knobs are the settings of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingChange {
    /// The number of the new segment, which lasts until the next change.
    pub segment: u32,
    /// The time when the segment began, in ns.
    pub since_ns: u64,
    /// Whether the new segment belongs to the warm-up.
    pub is_warmup: bool,
    /// The prefill (the writing of the workload's keys) at the beginning of the new segment, if there is one.
    pub prefill: Option<Prefilling>,
}

/// The output of the engine.
pub struct LoadOutput {
    /// For each worker, the collector's end of its ring buffers. The worker passes its counts through its ring buffers.
    pub rings: Vec<RingEnd>,
    /// Delivers the ring ends of threads that start later, such as the receivers' thread.
    pub joined: Receiver<RingEnd>,
    /// Events of the workers.
    pub events: Receiver<LoadEvent>,
}

/// The handle of a running load engine. Dropping the handle stops the load.
pub struct Load {
    clock: Clock,
    plan: Arc<LoadPlan>,
    stops: Stops,
    settings: Arc<ArcSwap<LoadSetting>>,
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<()>>,
    outages: NodeOutages,
    endpoints: Arc<Endpoints>,
    /// The receivers of the workload, or `None` before the first workload with receivers.
    reception: Mutex<Option<ReceiverHandle>>,
    /// The knobs with the receivers that are being connected, and the program that sends messages to these receivers.
    coming: Mutex<Option<(Knobs, Arc<Program>)>>,
    joined: Sender<RingEnd>,
    events: Sender<LoadEvent>,
}

impl Load {
    /// Starts the workers. The first segment has the number 1, and is a warm-up if `warmup` is not `None`. If the
    /// workload has receivers or agents generate the load, the load is off in this segment. The warm-up begins later,
    /// with the load.
    ///
    /// # Errors
    /// Fails if the host name of the target has no address, or if a worker cannot be set up.
    pub fn start(
        plan: &LoadPlan,
        knobs: Knobs,
        warmup: Option<Duration>,
        clock: Clock,
    ) -> Result<(Self, LoadOutput), LoadError> {
        // This call raises the limit of open files. A connection that still exceeds the limit reports its own error.
        most_clients(plan.threads, 1);
        // This runs before the first segment begins: resolving a name and building values may take time.
        let endpoints = Arc::new(plan.endpoints(clock.now_ns())?);
        let values = Values::new(&knobs.workload, knobs.value_size, plan.seed);
        let stops = Stops { length: plan.length, quota: plan.quota() };
        let since_ns = clock.now_ns() + lead_ns(plan);
        let phase =
            fill_first(Phase::first(warmup, &stops, since_ns), (&knobs, plan.target.dialect), since_ns, &[]);
        let program = Arc::new(plan.program(&knobs, &phase, values, clock));
        let (phase, knobs) = receive_first(phase, knobs, since_ns, plan.fleet.is_led());
        let (plan, operations) = (Arc::new(plan.clone()), program.operations().count());
        // An agent (an engine on another machine) gets the number of its first real segment from the session.
        let generation = if let Fleet::Agent(_) = plan.fleet { 0 } else { 1 };
        let (slip_ns, filled) = (0, Vec::new());
        let first = LoadSetting { generation, knobs, since_ns, slip_ns, phase, program, filled };
        plan.fleet.agents().inspect(|agents| agents.apply_setting(first.for_agents(), clock));
        let ((events_up, events), (joined_up, joined)) = (channel(), channel());
        let mut load = Self {
            outages: plan.outages(),
            clock,
            plan: Arc::clone(&plan),
            stops,
            settings: Arc::new(ArcSwap::from_pointee(first)),
            wakers: Vec::new(),
            threads: Vec::new(),
            endpoints: Arc::clone(&endpoints),
            reception: Mutex::default(),
            coming: Mutex::default(),
            joined: joined_up,
            events: events_up.clone(),
        };
        plan.check_workers()?;
        let mut rings = Vec::new();
        let threads = if plan.fleet.agents().is_some() { 0 } else { plan.threads };
        for index in 0..threads {
            let poll = Poll::new()?;
            load.wakers.push(Arc::new(Waker::new(poll.registry(), WAKE)?));
            let (ring, end) = ring::pair(operations);
            rings.push(end);
            let setup = WorkerSetup {
                index,
                plan: Arc::clone(&plan),
                endpoints: Arc::clone(&endpoints),
                greeting: plan.greeting(),
                clock,
                settings: Arc::clone(&load.settings),
                outages: load.outages.clone(),
                events: events_up.clone(),
            };
            let worker = Worker::new(setup, poll, ring)?;
            let events = events_up.clone();
            let body = move || {
                if let Err(error) = worker.run() {
                    let died = LoadEvent::Died { at_ns: clock.now_ns(), cause: error.to_string() };
                    // Sending fails only at the end of the session, when the receiving end of the channel is gone.
                    drop(events.send(died));
                }
            };
            load.threads.push(std::thread::Builder::new().name(format!("load-{index}")).spawn(body)?);
        }
        Ok((load, LoadOutput { rings, joined, events }))
    }

    /// Returns whether agents generate the load.
    pub fn is_led(&self) -> bool {
        self.plan.fleet.is_led()
    }

    /// Returns the periods when requests to a node were refused or lost, for each node. Such a period ends
    /// when the node next replies without an error. A server outside a cluster is node 0.
    pub fn outages(&self) -> &NodeOutages {
        &self.outages
    }

    /// Returns the knobs in effect.
    pub fn knobs(&self) -> Knobs {
        self.settings.load().knobs.clone()
    }

    /// Returns whether the load can begin with these knobs. The agents must have begun. The receivers must be ready,
    /// or must have had 10 s to become ready. The first call starts to connect the receivers. [`set`](Self::set) does
    /// not wait for the receivers.
    pub fn is_ready_for(&self, knobs: &Knobs) -> bool {
        let now = self.settings.load();
        let (phase, _) = now.phase_for(knobs, self.clock.now_ns(), self.rules(), self.is_prefill_done());
        if !knobs.load || phase.prefill().is_some() {
            return true;
        }
        if self.plan.fleet.agents().is_some_and(|agents| !agents.are_ready()) {
            return false;
        }
        if knobs.workload.receiver_count().is_none() {
            return true;
        }
        let mut coming = self.coming.lock();
        if coming.as_ref().is_none_or(|(other, _)| other != knobs) {
            let program = now.program_for(knobs, &self.plan, &phase, self.clock);
            self.receive(knobs, &program, &phase);
            *coming = Some((knobs.clone(), program));
        }
        self.reception.lock().as_ref().is_none_or(ReceiverHandle::is_ready)
    }

    /// Changes the knobs and wakes every worker. The function also ends a warm-up after its time. The function also
    /// ends a prefill that [is done](Self::is_prefill_done) or is no longer needed. If keys of the workload are
    /// missing, the new segment begins with a prefill.
    pub fn set(&self, knobs: &Knobs) -> SettingChange {
        self.change_setting(&self.settings.load(), knobs)
    }

    /// Changes the knobs, and writes the keys of the workload again. The keys are written at once, or when the load is
    /// switched on.
    pub fn fill(&self, knobs: &Knobs) -> SettingChange {
        let now = LoadSetting::clone(&self.settings.load());
        self.change_setting(&now.forgetting(&knobs.workload), knobs)
    }

    /// Starts the receivers for the messages of the program that runs next, or ends the receivers of the
    /// previous workload.
    fn receive(&self, knobs: &Knobs, program: &Program, phase: &Phase) {
        let mut reception = self.reception.lock();
        let messages = program.messages().filter(|_| knobs.load);
        if reception.is_none() && messages.is_some() {
            match ReceiverHandle::start(&self.plan, &self.endpoints, &self.settings, self.clock, &self.events)
            {
                Ok((started, ring)) => {
                    // Sending fails only at the end of the session, when the collector is gone.
                    drop(self.joined.send(ring));
                    *reception = Some(started);
                }
                Err(error) => {
                    let died = LoadEvent::Died { at_ns: self.clock.now_ns(), cause: error.to_string() };
                    drop(self.events.send(died));
                }
            }
        }
        let receivers = knobs.workload.receiver_count().unwrap_or(0) as usize;
        match (&*reception, messages) {
            (Some(reception), Some(messages)) => reception.order(Some(messages), receivers),
            (Some(reception), None) if !knobs.load || receivers == 0 && phase.prefill().is_none() => {
                reception.order(None, 0);
            }
            _ => {}
        }
    }

    /// Returns the part of the plan that determines the phases.
    fn rules(&self) -> (&Stops, Dialect) {
        (&self.stops, self.plan.target.dialect)
    }

    fn change_setting(&self, now: &LoadSetting, knobs: &Knobs) -> SettingChange {
        let generation = now.generation + 1;
        let is_filled = self.is_prefill_done();
        let (phase, _) = now.phase_for(knobs, self.clock.now_ns(), self.rules(), is_filled);
        let coming =
            self.coming.lock().take().filter(|(coming, _)| coming == knobs && phase.prefill().is_none());
        let program = coming
            .map_or_else(|| now.program_for(knobs, &self.plan, &phase, self.clock), |(_, program)| program);
        self.receive(knobs, &program, &phase);
        // The old knobs stay in effect while the values are built, which takes time.
        self.publish(|since_ns| {
            let (phase, filled) = now.phase_for(knobs, since_ns, self.rules(), is_filled);
            let (knobs, program) = (knobs.clone(), Arc::clone(&program));
            LoadSetting { generation, knobs, since_ns, slip_ns: 0, phase, program, filled }
        });
        self.last_change()
    }

    /// Passes a setting that the session sent to this agent on to the workers. The workers apply the setting when it
    /// takes effect, unless the next setting comes earlier. If the setting switches the load on, the workers open the
    /// connections at once, so that the load can begin without delay. The times of `turn` are on the clock of this
    /// process. This clock is `slip_ns` ahead of the session's clock. If the setting is in effect already, only its
    /// times change. The schedule of the requests then changes gradually.
    pub fn follow(&self, turn: &AgentSetting, slip_ns: i64) {
        let now = self.settings.load_full();
        let phase = now.followed_by(turn, self.plan.fleet.share(), &self.stops);
        let program = now.program_for(&turn.knobs, &self.plan, &phase, self.clock);
        let (generation, since_ns) = (turn.generation, turn.since_ns);
        self.publish(|_| {
            let (knobs, phase, program) = (turn.knobs.clone(), phase.clone(), Arc::clone(&program));
            LoadSetting { generation, knobs, since_ns, slip_ns, phase, program, filled: Vec::new() }
        });
    }

    /// Returns the number of the last segment, and whether the prefill is done or the load is over. A prefill
    /// is done when each of its requests is answered or given up.
    pub fn progress(&self) -> (u32, bool) {
        (self.last_change().segment, self.is_prefill_done() || self.is_over())
    }

    /// Returns whether all requests of the current prefill are answered, or given up.
    pub fn is_prefill_done(&self) -> bool {
        self.settings.load().phase.prefill().is_some_and(|filling| self.is_done(&filling.quota))
    }

    fn is_done(&self, quota: &Quota) -> bool {
        let is_through =
            |(worker, thread): (usize, &JoinHandle<()>)| quota.is_done_by(worker) || thread.is_finished();
        let is_done_by = |agents: &Arc<dyn Agents>| agents.are_done(self.settings.load().generation);
        self.threads.iter().enumerate().all(is_through) && self.plan.fleet.agents().is_none_or(is_done_by)
    }

    /// Returns whether the warm-up's time is over, so that the measured phase may begin.
    pub fn is_warm(&self) -> bool {
        let phase = &self.settings.load().phase;
        phase.is_warmup() && !phase.at(self.clock.now_ns(), &self.stops).is_warmup()
    }

    /// Returns the last change of the knobs.
    pub fn last_change(&self) -> SettingChange {
        let now = self.settings.load();
        let prefill = now
            .phase
            .prefill()
            .map(|filling| Prefilling { requests: filling.quota.total, pipeline: filling.pipeline });
        let (segment, since_ns, is_warmup) = (now.generation, now.since_ns, now.phase.is_warmup());
        SettingChange { segment, since_ns, is_warmup, prefill }
    }

    /// Returns whether the load is over. The load is over when its time has passed or all its requests are sent. Every
    /// request must also be answered or lost.
    pub fn is_over(&self) -> bool {
        let phase = &self.settings.load().phase;
        let quota = phase.quota().filter(|_| phase.prefill().is_none());
        self.clock.now_ns() >= phase.load_ends_ns() || quota.is_some_and(|quota| self.is_done(quota))
    }

    /// Ends the load now. Each worker stops sending, and waits at most a second for outstanding replies. The worker
    /// then sends its last counts through its ring, and closes the ring.
    pub fn stop(&self) {
        let now = self.settings.load_full();
        self.publish(|now_ns| {
            let at_ns = now_ns.min(now.phase.load_ends_ns());
            // A setting that has not taken effect ends at once, too.
            let since_ns = now.since_ns.min(now_ns);
            LoadSetting { phase: Phase::Ended { at_ns }, since_ns, ..LoadSetting::clone(&now) }
        });
    }

    /// [Stops](Self::stop) the load, and waits for its workers.
    pub fn end(&mut self) {
        self.stop();
        self.plan.fleet.agents().inspect(|agents| agents.end());
        for thread in self.threads.drain(..) {
            // If a worker has panicked, the panic hook has already printed the message.
            drop(thread.join());
        }
        self.reception.lock().take().into_iter().for_each(ReceiverHandle::end);
    }

    /// Publishes the setting that `make` builds for the current time. Workers see the setting a moment later. Until
    /// then, workers use the old setting. If this thread was delayed between building and publishing, the thread builds
    /// the setting again.
    fn publish(&self, make: impl Fn(u64) -> LoadSetting) {
        let made = || {
            let now_ns = self.clock.now_ns();
            (now_ns, Arc::new(make(now_ns + lead_ns(&self.plan))))
        };
        let is_new = |(made_ns, _): &(u64, _)| self.clock.now_ns() - made_ns < AT_ONCE_NS;
        let (_, setting) = (0..20).map(|_| made()).find(is_new).unwrap_or_else(made);
        self.plan.fleet.agents().inspect(|agents| agents.apply_setting(setting.for_agents(), self.clock));
        self.settings.store(setting);
        self.reception.lock().as_ref().inspect(|reception| reception.wake());
        for waker in &self.wakers {
            // A worker that cannot be woken is dead, and has reported it.
            drop(waker.wake());
        }
    }
}

/// Returns the time from the publication of a setting until the setting takes effect, in ns.
fn lead_ns(plan: &LoadPlan) -> u64 {
    plan.fleet.agents().map_or(0, |agents| agents.lead_ns())
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}
