//! The handle to a running engine: knobs go in, lanes of intervals come out.

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
    CLIENT_NAME, Knobs, LaneEnd, LoadError, LossReport, Plan,
    budget::Budget,
    lane, most_clients,
    worker::{Outfit, WAKE, Worker},
};
use crate::{
    clock::Clock,
    target::Greeting,
    workload::{KeyNames, Program, Values},
};

/// What the workers go by at the moment.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// Counts the changes of the knobs; also the number of the segment.
    pub(super) generation: u32,
    pub(super) knobs: Knobs,
    /// Since when the knobs hold.
    pub(super) since_ns: u64,
    /// Whether what is sent counts against the number of requests asked for; that of a warm-up does not.
    pub(super) is_counted: bool,
    /// When the load ends, by each worker's own doing; `None` while that is not known.
    pub(super) until_ns: Option<u64>,
    /// What is asked. Made by who turns the knobs: a pool of values may take a tenth of a second.
    pub(super) program: Arc<Program>,
}

impl Setting {
    /// What is asked under `knobs`; what is asked now, or with the values of now, where that is the same.
    fn program_for(&self, knobs: &Knobs, seed: u64, names: &KeyNames) -> Arc<Program> {
        let is_same_size = knobs.value_size == self.knobs.value_size;
        if is_same_size && knobs.keyspace == self.knobs.keyspace && knobs.workload == self.knobs.workload {
            return Arc::clone(&self.program);
        }
        let values = if is_same_size {
            self.program.values().clone()
        } else {
            Values::new(knobs.value_size as usize, seed)
        };
        Arc::new(Program::new(&knobs.workload, knobs.keyspace, values, names))
    }

    /// That of the usual knobs.
    #[cfg(test)]
    pub(super) fn fixture(generation: u32) -> Self {
        let knobs = Knobs::default();
        let program = super::testing::program();
        Self { generation, knobs, since_ns: 0, is_counted: true, until_ns: None, program }
    }
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
    /// One lane of interval buffers for each worker.
    pub lanes: Vec<LaneEnd>,
    /// What happens.
    pub events: Receiver<LoadEvent>,
}

/// A running engine. Dropped, it stops.
pub struct Load {
    clock: Clock,
    seed: u64,
    names: KeyNames,
    /// How long what is counted lasts.
    length: Option<Duration>,
    /// Whether the number of requests is limited.
    is_limited: bool,
    settings: Arc<ArcSwap<Setting>>,
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts the workers. The first segment has the number 1; `is_counted` is as for [`set`](Self::set).
    ///
    /// # Errors
    /// When the target's host does not resolve, or a worker cannot be set up.
    pub fn start(
        plan: &Plan,
        knobs: Knobs,
        is_counted: bool,
        clock: Clock,
    ) -> Result<(Self, Output), LoadError> {
        // For its raising of the limit: what does not fit all the same says so, one by one.
        most_clients(plan.threads, 1);
        // Before the first segment begins: a name may take its time, and values theirs.
        let endpoints = Arc::new(plan.endpoints(clock.now_ns())?);
        let values = Values::new(knobs.value_size as usize, plan.seed);
        let program = Arc::new(Program::new(&knobs.workload, knobs.keyspace, values, &plan.names));
        let operations = program.operations().count();
        let since_ns = clock.now_ns();
        let until_ns = until_ns(plan.length.filter(|_| is_counted), since_ns);
        let first = Setting { generation: 1, knobs, since_ns, is_counted, until_ns, program };
        let (events_up, events) = channel();
        let mut load = Self {
            clock,
            seed: plan.seed,
            names: plan.names.clone(),
            length: plan.length,
            is_limited: plan.requests.is_some(),
            settings: Arc::new(ArcSwap::from_pointee(first)),
            wakers: Vec::new(),
            threads: Vec::new(),
        };
        let budget = plan.requests.map(Budget::new);
        let mut lanes = Vec::new();
        for index in 0..plan.threads {
            let poll = Poll::new()?;
            load.wakers.push(Arc::new(Waker::new(poll.registry(), WAKE)?));
            let (lane, end) = lane::pair(operations);
            lanes.push(end);
            let outfit = Outfit {
                index,
                threads: plan.threads,
                seed: plan.seed,
                timeout: plan.timeout,
                budget: budget.clone(),
                endpoints: Arc::clone(&endpoints),
                tls: plan.target.tls.clone(),
                greeting: Greeting::new(&plan.target, CLIENT_NAME),
                clock,
                settings: Arc::clone(&load.settings),
                events: events_up.clone(),
            };
            let worker = Worker::new(outfit, poll, lane)?;
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
        Ok((load, Output { lanes, events }))
    }

    /// Changes the knobs; every worker learns of it at once. What is sent under them counts against [`Plan::requests`] if
    /// it `is_counted`, and the first to be counted begins [`Plan::length`]. Returns the number of the new segment, and since when it holds.
    pub fn set(&self, knobs: Knobs, is_counted: bool) -> (u32, u64) {
        let now = self.settings.load();
        let generation = now.generation + 1;
        let program = now.program_for(&knobs, self.seed, &self.names);
        // Only now: values take their time, in which the old knobs hold.
        let since_ns = self.clock.now_ns();
        let until_ns = now.until_ns.or_else(|| until_ns(self.length.filter(|_| is_counted), since_ns));
        self.publish(Setting { generation, knobs, since_ns, is_counted, until_ns, program });
        (generation, since_ns)
    }

    /// Since when the knobs hold.
    pub fn since_ns(&self) -> u64 {
        self.settings.load().since_ns
    }

    /// Lets the load end at `at_ns`: every worker by itself sends nothing more from then on, waits a second at the most for the
    /// replies in flight, and hands up what it counted; then its lane ends.
    fn end_at(&self, at_ns: u64) {
        let now = self.settings.load_full();
        self.publish(Setting { until_ns: Some(at_ns), ..Setting::clone(&now) });
    }

    /// Whether [`Plan::length`] is over, or all [`Plan::requests`] were sent, and answered or lost.
    pub fn is_over(&self) -> bool {
        self.settings.load().until_ns.is_some_and(|until_ns| self.clock.now_ns() >= until_ns)
            || self.is_limited && self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Lets the load end now, unless it has ended already. Its workers wait a second at the most for the replies in flight.
    pub fn stop(&self) {
        let now_ns = self.clock.now_ns();
        let until_ns = self.settings.load().until_ns;
        self.end_at(until_ns.map_or(now_ns, |until_ns| until_ns.min(now_ns)));
    }

    /// [Stops](Self::stop) the load, and waits for its workers.
    pub fn end(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A worker's panic was printed by the panic hook.
            drop(thread.join());
        }
    }

    fn publish(&self, setting: Setting) {
        self.settings.store(Arc::new(setting));
        for waker in &self.wakers {
            // A worker that cannot be woken is dead, and has said so.
            drop(waker.wake());
        }
    }
}

/// When what began at `since_ns` and lasts so long ends.
fn until_ns(length: Option<Duration>, since_ns: u64) -> Option<u64> {
    length.map(|length| since_ns + length.as_nanos() as u64)
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_makes_anew_only_what_it_changes() {
        let setting = Setting::fixture(1);
        let knobs = setting.knobs.clone();
        let names = KeyNames::given("k:");
        let same = setting.program_for(&Knobs { clients: 200, pipeline: 16, ..knobs.clone() }, 7, &names);
        assert!(Arc::ptr_eq(&same, &setting.program));
        let fewer_keys = setting.program_for(&Knobs { keyspace: 5, ..knobs.clone() }, 7, &names);
        assert!(std::ptr::eq(fewer_keys.values().value(0), setting.program.values().value(0)));
        let larger = setting.program_for(&Knobs { value_size: 64, ..knobs }, 7, &names);
        assert_eq!(larger.values().size(), 64);
    }
}
