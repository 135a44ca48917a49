//! Settings that stay the same for the whole run of the engine.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Requests, phase::Phase};
use crate::{
    endpoint::{Address, Endpoints, Greeting, Target},
    knobs::Knobs,
    units,
    workload::{KeyNames, Program, Values},
};

/// The name that load connections give themselves, by which `CLIENT LIST` shows them.
pub const CLIENT_NAME: &str = "redyno-load";

/// How long the lookup of the host's name may take.
const RESOLVE_LIMIT: Duration = Duration::from_secs(10);

/// The target of the engine, and its fixed settings.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// The first commands on each connection.
    pub first_words: FirstWords,
    /// The event that ends a request's latency.
    pub latency_to: LatencyTo,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// The seed of all random numbers: the same seed produces the same requests.
    pub seed: u64,
    /// How the keys are named.
    pub names: KeyNames,
    /// How long a connection may wait for its next whole reply, from its last write or the previous reply, before
    /// it is closed; also the limit for opening and greeting.
    pub timeout: Duration,
    /// How many requests are due in total, without those of a warm-up: in closed loop the requests sent, in open
    /// loop also those that fail or are shed. `None` means no limit.
    pub requests: Option<Requests>,
    /// How long the load lasts after its warm-up; `None` means until it is ended.
    pub length: Option<Duration>,
}

/// The end of a latency that begins with the write of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LatencyTo {
    /// The last byte of the request's own reply.
    #[default]
    LastByte,
    /// The first byte of the first reply to its batch, as in redis-benchmark: all requests of a batch have one
    /// latency.
    FirstByte,
}

/// The first commands on a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FirstWords {
    /// The client's library name, and the connection name [`CLIENT_NAME`].
    #[default]
    Named,
    /// Only the commands that the options ask for, as redis-benchmark does.
    Bare {
        /// Whether `CLIENT TRACKING on` was asked for.
        tracks: bool,
    },
}

/// Why the engine cannot start.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The host has no address.
    #[error("the host of {address} has no address: {cause}")]
    Resolve {
        /// The target.
        address: Address,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The poll loop of a worker cannot be set up.
    #[error("a worker cannot start: {0}; is the limit of open files too low (ulimit -n)?")]
    Worker(#[from] std::io::Error),
}

impl Plan {
    /// Returns the first commands of each connection.
    pub(super) fn greeting(&self) -> Greeting {
        match self.first_words {
            FirstWords::Named => Greeting::new(&self.target, CLIENT_NAME),
            FirstWords::Bare { tracks } => Greeting::bare(&self.target, tracks),
        }
    }

    /// Returns the requests to send under `knobs` in this phase, with these values.
    pub(super) fn program(&self, knobs: &Knobs, phase: &Phase, values: Values) -> Program {
        let make = if phase.filling().is_some() { Program::of_prefill } else { Program::new };
        let program = make(&knobs.workload, self.target.dialect, knobs.keyspace, values, &self.names);
        program.for_clients(knobs.clients)
    }

    /// Creates a plan with one worker, for tests.
    #[cfg(test)]
    pub(super) fn fixture() -> Self {
        let timeout = Duration::from_secs(5);
        let (target, names) = (Target::default(), KeyNames::given("k:"));
        let first_words = FirstWords::Named;
        Self {
            target,
            first_words,
            latency_to: LatencyTo::LastByte,
            threads: 1,
            seed: 7,
            names,
            timeout,
            requests: None,
            length: None,
        }
    }

    /// Resolves the target: all addresses of its host name.
    pub(super) fn endpoints(&self, now_ns: u64) -> Result<Endpoints, LoadError> {
        let failed = |cause| LoadError::Resolve { address: self.target.address.clone(), cause };
        Endpoints::find(&self.target, RESOLVE_LIMIT, now_ns).map_err(failed)
    }
}

/// The prefill of the keys that a workload reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefilling {
    /// How many requests the prefill takes.
    pub requests: u64,
    /// How many requests a client writes before it waits for the replies.
    pub pipeline: u32,
}

impl fmt::Display for Prefilling {
    /// Writes `prefill of 1 M requests, 16 in flight each`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "prefill of {} requests, {} in flight each", units::setting(self.requests), self.pipeline)
    }
}
