//! A live session under a test's hand: knobs in, records out, waiting for records and never for a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use redyno::{
    clock::Clock,
    endpoint::{Address, Cluster, Target},
    knobs::Knobs,
    load::{ClusterPlan, LoadPlan, WorkerOptions},
    session::{
        Interval, Live, LiveSettings, Record, ServerIdentity, SessionEnd, SessionStart, TargetSettings,
        queue::{Queue, queue},
        running::{Commission, KeyOwner},
    },
    workload::{KeyNames, RunId},
};

use super::{LIMIT, LOOK_EVERY};

/// A server on this machine.
pub fn at_port(port: u16) -> Target {
    Target { address: Address::Tcp { host: "127.0.0.1".into(), port }, ..Target::default() }
}

/// A plan with one worker, a fixed seed and keys called `redyno:000000000000`.
pub fn plan(target: Target) -> LoadPlan {
    let names = KeyNames::given("redyno:");
    let timeout = Duration::from_secs(5);
    LoadPlan {
        target,
        workers: WorkerOptions::of_tests(),
        threads: 1,
        seed: 7,
        names,
        timeout,
        ..LoadPlan::default()
    }
}

/// The same plan for the whole cluster of the node at `port`, with a limit of connections.
pub fn cluster_plan(port: u16, max_connections: usize) -> LoadPlan {
    let target = at_port(port);
    let cluster = Arc::new(Cluster::find(&target, LIMIT).expect("a cluster"));
    LoadPlan { cluster: Some(ClusterPlan::new(cluster, max_connections)), ..plan(target) }
}

/// What a session without a person is asked to do whom writing is allowed.
pub fn commission(plan: LoadPlan, knobs: Knobs) -> Commission {
    let run = RunId::random();
    let plan = LoadPlan { names: KeyNames::of_run(run), ..plan };
    Commission {
        knobs,
        is_allowed: true,
        most_clients: 1000,
        ..Commission::new(plan, run, KeyOwner::Runs { kept: false })
    }
}

/// A running session and every record that has come.
pub struct Driven {
    live: Live,
    incoming: Queue<Arc<Record>>,
    seen: Vec<Arc<Record>>,
}

/// What a session left.
pub struct Past {
    /// Every record, the last one included.
    pub records: Vec<Arc<Record>>,
    /// The last record.
    pub end: SessionEnd,
}

impl Driven {
    /// Starts a session.
    pub fn start(plan: &LoadPlan, knobs: Knobs) -> Self {
        Self::start_beside(vec![(plan.clone(), knobs)])
    }

    /// Starts a session with several targets.
    pub fn start_beside(plans: Vec<(LoadPlan, Knobs)>) -> Self {
        let (listener, incoming) = queue();
        let start = SessionStart::now(ServerIdentity::default());
        let cluster =
            plans.first().and_then(|(plan, _)| plan.cluster.as_ref().map(|it| Arc::clone(&it.cluster)));
        let target = |(plan, knobs)| TargetSettings {
            plan,
            knobs,
            heard: None,
            fleet: None,
            server: channel().1,
            carries: true,
            is_watched: false,
            pings_per_s: std::num::NonZeroU32::new(100).expect("100 is not 0"),
        };
        let beginning = LiveSettings {
            start,
            warmup: None,
            redacts: false,
            host_root: "/".into(),
            cluster,
            targets: plans.into_iter().map(target).collect(),
        };
        let live = Live::start(beginning, Clock::start(), vec![listener]).expect("a session");
        Self { live, incoming, seen: Vec::new() }
    }

    /// The session itself.
    pub fn live(&mut self) -> &mut Live {
        &mut self.live
    }

    /// The knobs that hold.
    pub fn knobs(&mut self) -> Knobs {
        self.live.target(0).knobs().clone()
    }

    /// Turns the knobs and waits until they hold. The number of the new segment.
    pub fn turn(&mut self, change: impl FnOnce(&mut Knobs)) -> u32 {
        let mut knobs = self.knobs();
        change(&mut knobs);
        self.live.set_knobs(0, knobs.clone());
        self.wait_for("the new segment", |records| {
            let mut segments = records.iter().filter_map(|record| match &**record {
                Record::Segment(segment) => Some(segment),
                _ => None,
            });
            segments.next_back().filter(|segment| segment.knobs == knobs).map(|segment| segment.segment)
        })
    }

    /// Waits until `found` sees in all records so far what it looks for.
    pub fn wait_for<T>(&mut self, what: &str, mut found: impl FnMut(&[Arc<Record>]) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(found) = found(&self.seen) {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}; last: {:?}", self.last_words());
            self.live.settle();
            match self.incoming.next_within(LOOK_EVERY) {
                Ok(record) => self.seen.push(record),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the session ended while {what} was awaited"),
            }
        }
    }

    /// Waits until `segment` has a stretch with `clients` connections and `ops` good replies in all.
    pub fn wait_for_work(&mut self, segment: u32, clients: u32, ops: u64) {
        self.wait_for(&format!("{ops} ops of {clients} clients in segment {segment}"), |records| {
            let mine: Vec<_> = intervals(records).filter(|i| i.segment == segment).collect();
            let connected = mine.iter().any(|i| i.clients == clients);
            (connected && mine.iter().map(|i| i.ops).sum::<u64>() >= ops).then_some(())
        });
    }

    /// Waits until it has ended by itself.
    pub fn wait_for_the_end(&mut self) {
        let deadline = Instant::now() + LIMIT;
        while !self.live.is_over() {
            assert!(Instant::now() < deadline, "the session does not end");
            self.live.settle();
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Ends the session, in which every request must have had one end.
    pub fn finish(mut self) -> Past {
        self.live.finish();
        self.seen.extend(self.incoming.rest());
        let Record::End(end) = &**self.seen.last().expect("a session has records") else {
            panic!("it has an end")
        };
        let end = (**end).clone();
        let past = Past { records: self.seen, end };
        past.assert_every_request_has_one_end();
        past
    }

    fn last_words(&self) -> Vec<String> {
        let telling = self.seen.iter().rev().filter(|record| !matches!(&***record, Record::Wake(_)));
        let shorten = |record: &Arc<Record>| format!("{record:?}").chars().take(300).collect();
        telling.take(6).map(shorten).collect()
    }
}

impl Past {
    /// What of this is target number `target`'s.
    pub fn of(&self, target: u16) -> Self {
        let records: Vec<_> = self.records.iter().filter(|record| record.is_of(target)).cloned().collect();
        let end = records.iter().find_map(|record| match &**record {
            Record::End(end) => Some((**end).clone()),
            _ => None,
        });
        Self { records, end: end.expect("every target has an end") }
    }

    /// All stretches of load.
    pub fn intervals(&self) -> impl Iterator<Item = &Interval> {
        intervals(&self.records)
    }

    /// All that `segment` did, in one.
    pub fn segment(&self, segment: u32) -> Interval {
        let mut total = Interval { segment, ..Interval::default() };
        self.intervals().filter(|i| i.segment == segment).for_each(|i| total.add(i));
        total
    }

    /// Every request that was due has one end, in the session and in each of its segments, by the schedule's own count.
    pub fn assert_every_request_has_one_end(&self) {
        let segments: BTreeSet<u32> = self.intervals().map(|interval| interval.segment).collect();
        for segment in segments {
            let total = self.segment(segment);
            let errors: u64 = total.errors.values().sum();
            assert_eq!(total.due, total.ops + errors + total.shed + total.unsent, "{total:?}");
            assert_eq!(total.service.count(), total.ops, "an error is in the percentiles");
            if let Some(response) = &total.response {
                assert_eq!(response.count(), total.ops);
            }
        }
        let summary = &self.end.summary;
        let errors: u64 = summary.errors.values().sum();
        assert_eq!(summary.due, summary.ops + errors + summary.shed + summary.unsent, "{summary:?}");
    }

    /// Good operations by their labels, over everything.
    pub fn ops(&self) -> BTreeMap<String, u64> {
        let mut ops = BTreeMap::new();
        for (label, part) in self.intervals().flat_map(|interval| &interval.commands) {
            *ops.entry(label.clone()).or_default() += part.ops;
        }
        ops
    }

    /// Errors by kind, over everything.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        let mut errors = BTreeMap::new();
        for (kind, n) in self.intervals().flat_map(|interval| &interval.errors) {
            *errors.entry(kind.clone()).or_default() += n;
        }
        errors
    }
}

/// The intervals among `records`.
pub fn intervals(records: &[Arc<Record>]) -> impl Iterator<Item = &Interval> {
    records.iter().filter_map(|record| match &**record {
        Record::Interval(interval) => Some(&**interval),
        _ => None,
    })
}

/// The names of the events among `records`, in order.
pub fn events(records: &[Arc<Record>]) -> Vec<&str> {
    records
        .iter()
        .filter_map(|record| match &**record {
            Record::Event(event) => Some(event.what.name()),
            _ => None,
        })
        .collect()
}
