//! The settings of the load engine that stay the same for the whole run.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Fleet, RequestLimit, Retries, WorkerOptions, phase::Phase, quota::Quota};
use crate::{
    clock::Clock,
    endpoint::{Address, Cluster, Endpoints, Greeting, NodeOutages, PingMedians, ReadFrom, Target},
    knobs::Knobs,
    units,
    workload::{KeyNames, Program, ReceiverKind, Values},
};

/// The name of every load connection in `CLIENT LIST`.
pub const CLIENT_NAME: &str = "redyno-load";

/// The name of every receiver in `CLIENT LIST`.
pub(super) const RECEIVER_NAME: &str = "redyno-receiver";

/// The longest time for the lookup of the host's name.
const RESOLVE_LIMIT: Duration = Duration::from_secs(10);

/// The target of the engine, and its fixed settings. The default plan has no threads.
#[derive(Debug, Clone, Default)]
pub struct LoadPlan {
    /// The server.
    pub target: Target,
    /// The commands that each connection sends first.
    pub first_words: FirstCommands,
    /// The event that ends a request's latency.
    pub latency_to: LatencyTo,
    /// How the workers run.
    pub workers: WorkerOptions,
    /// The number of worker threads, which is at least 1.
    pub threads: usize,
    /// The seed of all random numbers. The same seed produces the same requests.
    pub seed: u64,
    /// How the keys are named.
    pub names: KeyNames,
    /// The timeout of a connection. A connection is closed if it does not open within this time. An open
    /// connection with unanswered requests is closed if no whole reply arrives within this time. The time starts
    /// at the last write or at the last reply, whichever is later.
    pub timeout: Duration,
    /// The limit on requests after the warm-up. `None` means no limit. In a closed loop, sent requests count against
    /// the limit. In an open loop, requests that fail or are shed count as well.
    pub requests: Option<RequestLimit>,
    /// How the load sends requests to the nodes of a cluster. With `None`, only the server of the plan gets requests.
    pub cluster: Option<ClusterPlan>,
    /// How long the load lasts after its warm-up. With `None`, the limit on requests or the user ends the
    /// load.
    pub length: Option<Duration>,
    /// Whether several machines generate the load.
    pub fleet: Fleet,
}

/// How the load sends requests to the nodes of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterPlan {
    /// The cluster. Node 0 of the cluster is the server of the plan.
    pub cluster: Arc<Cluster>,
    /// The largest total number of connections, from all clients on all machines to all nodes. A client's first
    /// connection is always opened.
    pub max_connections: usize,
    /// The nodes of a shard that get the read-only requests.
    pub read_from: ReadFrom,
    /// The median round trips of PING to the nodes. The medians determine the nearest node for reads.
    pub pings: PingMedians,
    /// The rules for sending failed requests again. With `None`, redyno sends a request again only if a node has
    /// redirected or temporarily refused it.
    pub retries: Option<Arc<Retries>>,
}

/// The event at which a latency ends. The latency begins when the request is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LatencyTo {
    /// The last byte of the request's own reply arrives.
    #[default]
    LastByte,
    /// The first byte of the replies to the request's batch arrives, as in redis-benchmark. All requests of a batch
    /// then have the same latency.
    FirstByte,
}

/// The commands that a connection sends first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FirstCommands {
    /// Each connection sends the commands that the options require, its name [`CLIENT_NAME`], and the name of the
    /// client library.
    #[default]
    Named,
    /// Each connection sends only the commands that the options require, as redis-benchmark does.
    Bare {
        /// Whether the connection also sends `CLIENT TRACKING on`.
        tracks: bool,
    },
}

/// The reason why the engine cannot start.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The host name of the target has no address.
    #[error("the host of {address} has no address: {cause}")]
    Resolve {
        /// The address of the target.
        address: Address,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The system does not support io_uring, which was requested.
    #[error("this system refuses io_uring ({0}); use --io epoll")]
    Uring(std::io::Error),
    /// The workers cannot run on one of the given cores. The text names the core and the reason.
    #[error("--cpus: {0}")]
    Cores(String),
    /// The poll loop of a worker cannot be set up.
    #[error("a worker cannot start: {0}; is the limit of open files too low (ulimit -n)?")]
    Worker(#[from] std::io::Error),
}

impl ClusterPlan {
    /// Creates a plan with at most this many connections, and with reads from primaries.
    pub fn new(cluster: Arc<Cluster>, max_connections: usize) -> Self {
        let (read_from, pings) = (ReadFrom::default(), PingMedians::default());
        Self { cluster, max_connections, read_from, pings, retries: None }
    }
}

impl LoadPlan {
    /// Checks that this system can run the workers with the planned I/O method and on the planned cores.
    ///
    /// # Errors
    /// Fails if the system refuses io_uring or one of the cores.
    pub(super) fn check_workers(&self) -> Result<(), LoadError> {
        self.workers.io.check().map_err(LoadError::Uring)?;
        self.workers.cores.check().map_err(LoadError::Cores)
    }

    /// Returns the outages that the load reports: the outages of all agents, of the cluster, or of the server.
    pub(super) fn outages(&self) -> NodeOutages {
        if let Some(agents) = self.fleet.agents() {
            return agents.outages();
        }
        self.cluster.as_ref().map(|plan| plan.cluster.load_outages.clone()).unwrap_or_default()
    }

    /// Returns the commands that each connection sends first.
    pub(super) fn greeting(&self) -> Greeting {
        match self.first_words {
            FirstCommands::Named => Greeting::new(&self.target, CLIENT_NAME),
            FirstCommands::Bare { tracks } => Greeting::bare(&self.target, tracks),
        }
    }

    /// Returns the commands that each receiver of this kind sends first. The commands include HELLO 3 if this kind of
    /// receiver needs RESP3.
    pub(super) fn greeting_of_receivers(&self, kind: Option<ReceiverKind>) -> Greeting {
        let dialect = self.target.dialect;
        let in_resp3 = kind.filter(|kind| kind.is_of_keys()).and_then(|_| dialect.in_resp3());
        Greeting::new(&Target { dialect: in_resp3.unwrap_or(dialect), ..self.target.clone() }, RECEIVER_NAME)
    }

    /// Returns the program that generates the requests for these knobs, in this phase, with these values.
    pub(super) fn program(&self, knobs: &Knobs, phase: &Phase, values: Values, clock: Clock) -> Program {
        let (workload, keyspace) = (&knobs.workload, knobs.keyspace);
        let is_filling = phase.prefill().is_some();
        let make = if is_filling { Program::of_prefill } else { Program::new };
        let mut program = make(workload, self.target.dialect, keyspace, values, &self.names);
        if !is_filling {
            program = program.numbering(workload, keyspace, &self.names, clock);
        }
        program.for_clients(knobs.clients).for_share(self.fleet.share())
    }

    /// Creates a plan with one worker, for tests.
    #[cfg(test)]
    pub(super) fn fixture() -> Self {
        let timeout = Duration::from_secs(5);
        let (target, names) = (Target::default(), KeyNames::given("k:"));
        Self {
            target,
            workers: WorkerOptions::of_tests(),
            threads: 1,
            seed: 7,
            names,
            timeout,
            ..Self::default()
        }
    }

    /// Returns the quota of this process: its share of `requests`.
    pub(super) fn quota(&self) -> Option<Arc<Quota>> {
        let share = |requests| match requests {
            RequestLimit::Shared(requests) => RequestLimit::Shared(self.fleet.share().part(requests)),
            RequestLimit::PerClient(_) => requests,
        };
        self.requests.map(share).map(Quota::of)
    }

    /// Resolves the target's host name to all its addresses.
    pub(super) fn endpoints(&self, now_ns: u64) -> Result<Endpoints, LoadError> {
        let failed = |cause| LoadError::Resolve { address: self.target.address.clone(), cause };
        Endpoints::find(&self.target, RESOLVE_LIMIT, now_ns).map_err(failed)
    }
}

/// The prefill of the keys that a workload reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefilling {
    /// The number of requests that the prefill sends.
    pub requests: u64,
    /// The number of requests that a client writes before it waits for the replies.
    pub pipeline: u32,
}

impl fmt::Display for Prefilling {
    /// Writes `prefill of 1 M requests, 16 in flight each`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "prefill of {} requests, {} in flight each", units::setting(self.requests), self.pipeline)
    }
}
