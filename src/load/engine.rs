//! The handle to a running engine: knobs go in, rings of intervals come out.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use arc_swap::ArcSwap;
use mio::{Poll, Waker};

use super::{
    Knobs, LoadError, LossReport, Plan, Prefilling, RingEnd, most_clients,
    phase::{Filling, Phase, Stops},
    quota::Quota,
    ring,
    worker::{Setup, WAKE, Worker},
};
use crate::{
    clock::Clock,
    workload::{Program, Values, Workload},
};

/// A setting that is not older than this is published: to make one takes a microsecond or two.
const AT_ONCE_NS: u64 = 10_000;

/// What the workers go by at the moment.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// Counts the changes of the knobs; also the number of the segment.
    pub(super) generation: u32,
    pub(super) knobs: Knobs,
    /// Since when the knobs hold.
    pub(super) since_ns: u64,
    /// What the load is for, and what ends that.
    pub(super) phase: Phase,
    /// What is asked. Made by who turns the knobs: a pool of values may take a tenth of a second.
    pub(super) program: Arc<Program>,
    /// The workloads whose keys were made.
    pub(super) filled: Vec<Arc<Workload>>,
}

impl Setting {
    /// Requests that a client writes before it waits.
    #[inline]
    pub(super) fn pipeline(&self) -> u32 {
        self.phase.filling().map_or(self.knobs.pipeline, |filling| filling.pipeline)
    }

    /// After how many requests a client makes a new connection. While keys are made, connections are kept.
    #[inline]
    pub(super) fn reconnect(&self) -> Option<u32> {
        self.knobs.reconnect.filter(|_| self.phase.filling().is_none())
    }

    /// Whether the keys of `knobs` are being made, and go on being made with them.
    fn goes_on_filling(&self, knobs: &Knobs) -> bool {
        let is_same =
            self.knobs.keyspace == knobs.keyspace && has_same_prefill(&self.knobs.workload, &knobs.workload);
        self.phase.filling().is_some() && is_same
    }

    /// The phase from `since_ns` on that `knobs` are turned at, and the workloads whose keys are made then; `is_filled` is
    /// whether those of now are.
    fn phase_for(
        &self,
        knobs: &Knobs,
        since_ns: u64,
        stops: &Stops,
        is_filled: bool,
    ) -> (Phase, Vec<Arc<Workload>>) {
        let mut filled = self.filled.clone();
        if self.goes_on_filling(knobs) && !is_filled {
            return (self.phase.clone(), filled);
        }
        if is_filled {
            filled.push(Arc::clone(&self.knobs.workload));
        }
        let phase = self.phase.without_prefill(since_ns).at(since_ns, stops);
        (fill_first(phase, knobs, since_ns, &filled), filled)
    }

    /// The same, as if the keys of this workload had never been made.
    fn forgetting(mut self, workload: &Workload) -> Self {
        self.filled.retain(|other| !has_same_prefill(workload, other));
        self
    }

    /// What is asked under `knobs` in `phase`; what is asked now, or with the values of now, where that is the same.
    fn program_for(&self, knobs: &Knobs, plan: &Plan, phase: &Phase) -> Arc<Program> {
        let clients = |knobs: &Knobs| knobs.workload.depends_on_clients().then_some(knobs.clients);
        let asks =
            |knobs: &Knobs| (knobs.value_size, knobs.keyspace, clients(knobs), Arc::clone(&knobs.workload));
        let is_same_phase = phase.filling().is_some() == self.phase.filling().is_some();
        if is_same_phase && asks(knobs) == asks(&self.knobs) {
            return Arc::clone(&self.program);
        }
        let values = self.program.values().again(&knobs.workload, knobs.value_size);
        Arc::new(plan.program(knobs, phase, values).after(&self.program))
    }

    /// That of the usual knobs.
    #[cfg(test)]
    pub(super) fn fixture(generation: u32) -> Self {
        let knobs = Knobs::default();
        let program = super::testing::program();
        let phase = Phase::Measured { until_ns: None, quota: None };
        Self { generation, knobs, since_ns: 0, phase, program, filled: Vec::new() }
    }
}

/// Whether the same keys are made of the same for both.
fn has_same_prefill(one: &Workload, other: &Workload) -> bool {
    one.prefill == other.prefill && one.keys == other.keys
}

/// `phase`, after the making of the keys that a load of `knobs` reads, unless they are made.
fn fill_first(phase: Phase, knobs: &Knobs, since_ns: u64, filled: &[Arc<Workload>]) -> Phase {
    let workload = &knobs.workload;
    let is_filled = || filled.iter().any(|other| has_same_prefill(workload, other));
    if !knobs.load || workload.prefill.is_empty() || matches!(phase, Phase::Ended { .. }) || is_filled() {
        return phase;
    }
    let quota = Quota::new(workload.prefill_requests(knobs.keyspace));
    let filling = Filling { quota, pipeline: knobs.prefill_pipeline(), since_ns };
    Phase::Prefill { filling, then: Box::new(phase) }
}

/// A turn of the knobs that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turned {
    /// The number of the new segment.
    pub segment: u32,
    /// Since when it holds.
    pub since_ns: u64,
    /// Whether it belongs to the warm-up.
    pub is_warmup: bool,
    /// What it makes first, if it makes keys.
    pub prefill: Option<Prefilling>,
}

/// Something that happened in the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadEvent {
    /// A worker lost connections, or got lost ones back, since its last tick. Told before the tick is closed.
    Losses {
        /// Which, from 0.
        worker: usize,
        /// How many.
        report: LossReport,
    },
    /// A worker lost its last connection.
    Down {
        /// When.
        at_ns: u64,
        /// Which, from 0.
        worker: usize,
    },
    /// A worker that had lost its last connection has one again.
    Up {
        /// When.
        at_ns: u64,
        /// Which, from 0.
        worker: usize,
    },
    /// The first error of a kind on a worker.
    FirstError {
        /// Its kind.
        kind: String,
        /// What exactly.
        message: String,
    },
    /// A worker died; its clients are gone.
    Died {
        /// When.
        at_ns: u64,
        /// Why.
        cause: String,
    },
}

/// What comes out of the engine.
pub struct Output {
    /// One ring of interval buffers for each worker.
    pub rings: Vec<RingEnd>,
    /// What happens.
    pub events: Receiver<LoadEvent>,
}

/// A running engine. Dropped, it stops.
pub struct Load {
    clock: Clock,
    plan: Arc<Plan>,
    stops: Stops,
    settings: Arc<ArcSwap<Setting>>,
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts the workers. The first segment has the number 1; it is a warm-up of that length, if one is given.
    ///
    /// # Errors
    /// When the target's host does not resolve, or a worker cannot be set up.
    pub fn start(
        plan: &Plan,
        knobs: Knobs,
        warmup: Option<Duration>,
        clock: Clock,
    ) -> Result<(Self, Output), LoadError> {
        // For its raising of the limit: what does not fit all the same says so, one by one.
        most_clients(plan.threads, 1);
        // Before the first segment begins: a name may take its time, and values theirs.
        let endpoints = Arc::new(plan.endpoints(clock.now_ns())?);
        let values = Values::new(&knobs.workload, knobs.value_size, plan.seed);
        let stops = Stops { length: plan.length, quota: plan.requests.map(Quota::of) };
        let since_ns = clock.now_ns();
        let phase = fill_first(Phase::first(warmup, &stops, since_ns), &knobs, since_ns, &[]);
        let program = Arc::new(plan.program(&knobs, &phase, values));
        let plan = Arc::new(plan.clone());
        let operations = program.operations().count();
        let first = Setting { generation: 1, knobs, since_ns, phase, program, filled: Vec::new() };
        let (events_up, events) = channel();
        let mut load = Self {
            clock,
            plan: Arc::clone(&plan),
            stops,
            settings: Arc::new(ArcSwap::from_pointee(first)),
            wakers: Vec::new(),
            threads: Vec::new(),
        };
        let mut rings = Vec::new();
        for index in 0..plan.threads {
            let poll = Poll::new()?;
            load.wakers.push(Arc::new(Waker::new(poll.registry(), WAKE)?));
            let (ring, end) = ring::pair(operations);
            rings.push(end);
            let setup = Setup {
                index,
                plan: Arc::clone(&plan),
                endpoints: Arc::clone(&endpoints),
                greeting: plan.greeting(),
                clock,
                settings: Arc::clone(&load.settings),
                events: events_up.clone(),
            };
            let worker = Worker::new(setup, poll, ring)?;
            let events = events_up.clone();
            let body = move || {
                if let Err(error) = worker.run() {
                    let died = LoadEvent::Died { at_ns: clock.now_ns(), cause: error.to_string() };
                    // Nobody listens any more only while the session ends.
                    drop(events.send(died));
                }
            };
            load.threads.push(std::thread::Builder::new().name(format!("load-{index}")).spawn(body)?);
        }
        Ok((load, Output { rings, events }))
    }

    /// Changes the knobs; every worker learns of it at once. A warm-up whose time is over ends with that, and so does a
    /// prefill that [is done](Self::is_filled) or whose keys are no longer asked for; a workload whose keys were not made
    /// begins with one.
    pub fn set(&self, knobs: &Knobs) -> Turned {
        self.turn(&self.settings.load(), knobs)
    }

    /// The same, and the keys are made anew: at once, or when the load goes on.
    pub fn fill(&self, knobs: &Knobs) -> Turned {
        let now = Setting::clone(&self.settings.load());
        self.turn(&now.forgetting(&knobs.workload), knobs)
    }

    fn turn(&self, now: &Setting, knobs: &Knobs) -> Turned {
        let generation = now.generation + 1;
        let is_filled = self.is_filled();
        let (phase, _) = now.phase_for(knobs, self.clock.now_ns(), &self.stops, is_filled);
        let program = now.program_for(knobs, &self.plan, &phase);
        // Only now: values take their time, in which the old knobs hold.
        self.publish(|since_ns| {
            let (phase, filled) = now.phase_for(knobs, since_ns, &self.stops, is_filled);
            let (knobs, program) = (knobs.clone(), Arc::clone(&program));
            Setting { generation, knobs, since_ns, phase, program, filled }
        });
        self.turned()
    }

    /// Whether all requests of the prefill that goes on are answered, or given up.
    pub fn is_filled(&self) -> bool {
        self.settings.load().phase.filling().is_some_and(|filling| self.is_done(&filling.quota))
    }

    fn is_done(&self, quota: &Quota) -> bool {
        let is_through =
            |(worker, thread): (usize, &JoinHandle<()>)| quota.is_done_by(worker) || thread.is_finished();
        self.threads.iter().enumerate().all(is_through)
    }

    /// Whether the time of the warm-up is over, and what is measured may begin.
    pub fn is_warm(&self) -> bool {
        let phase = &self.settings.load().phase;
        phase.is_warmup() && !phase.at(self.clock.now_ns(), &self.stops).is_warmup()
    }

    /// The last turn.
    pub fn turned(&self) -> Turned {
        let now = self.settings.load();
        let prefill = now
            .phase
            .filling()
            .map(|filling| Prefilling { requests: filling.quota.total(), pipeline: filling.pipeline });
        let (segment, since_ns, is_warmup) = (now.generation, now.since_ns, now.phase.is_warmup());
        Turned { segment, since_ns, is_warmup, prefill }
    }

    /// Whether the time is over, or the quota is spent and all that was sent is answered or lost.
    pub fn is_over(&self) -> bool {
        let phase = &self.settings.load().phase;
        let quota = phase.quota().filter(|_| phase.filling().is_none());
        self.clock.now_ns() >= phase.load_ends_ns() || quota.is_some_and(|quota| self.is_done(quota))
    }

    /// Lets the load end now, unless it has ended already: every worker by itself sends nothing more, waits a second at the
    /// most for the replies in flight, and hands up what it counted; then its ring ends.
    pub fn stop(&self) {
        let now = self.settings.load_full();
        self.publish(|now_ns| {
            let at_ns = now_ns.min(now.phase.load_ends_ns());
            Setting { phase: Phase::Ended { at_ns }, ..Setting::clone(&now) }
        });
    }

    /// [Stops](Self::stop) the load, and waits for its workers.
    pub fn end(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A worker's panic was printed by the panic hook.
            drop(thread.join());
        }
    }

    /// Lets the setting hold that `make` makes for the present. A worker sees it a moment later, and what it sent meanwhile was
    /// due after the old setting's end: when this thread was kept waiting in between, it makes another.
    fn publish(&self, make: impl Fn(u64) -> Setting) {
        let made = || {
            let now_ns = self.clock.now_ns();
            (now_ns, Arc::new(make(now_ns)))
        };
        let is_new = |(made_ns, _): &(u64, _)| self.clock.now_ns() - made_ns < AT_ONCE_NS;
        let (_, setting) = (0..20).map(|_| made()).find(is_new).unwrap_or_else(made);
        self.settings.store(setting);
        for waker in &self.wakers {
            // A worker that cannot be woken is dead, and has said so.
            drop(waker.wake());
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Distribution;

    #[test]
    fn a_turn_makes_anew_only_what_it_changes() {
        let setting = Setting::fixture(1);
        let knobs = setting.knobs.clone();
        let plan = Plan::fixture();
        let phase = setting.phase.clone();
        let program_for = |knobs| setting.program_for(&knobs, &plan, &phase);
        let same = program_for(Knobs { clients: 200, pipeline: 16, ..knobs.clone() });
        assert!(Arc::ptr_eq(&same, &setting.program));
        let fewer_keys = program_for(Knobs { keyspace: 5, ..knobs.clone() });
        assert!(fewer_keys.values().shares_pools(setting.program.values()));
        let larger = program_for(Knobs { value_size: 64, ..knobs });
        assert!(!larger.values().shares_pools(setting.program.values()));
    }

    #[test]
    fn keys_that_are_parted_among_the_clients_are_parted_anew_when_there_are_more() {
        let setting = Setting::fixture(1);
        let workload = setting.knobs.workload.drawn_by(Distribution::Partitioned);
        let knobs = Knobs { workload, ..setting.knobs.clone() };
        let program = setting.program_for(&knobs, &Plan::fixture(), &setting.phase);
        let setting = Setting { knobs: knobs.clone(), program, ..setting };
        let more = setting.program_for(&Knobs { clients: 200, ..knobs }, &Plan::fixture(), &setting.phase);
        assert!(!Arc::ptr_eq(&more, &setting.program));
    }
}
