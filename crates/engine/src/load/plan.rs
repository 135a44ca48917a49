//! What stays the same for the whole run of the engine.

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

/// What the engine runs against, and with what.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// What is said first on each connection.
    pub first_words: FirstWords,
    /// Up to when the latency of a request goes.
    pub latency_to: LatencyTo,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Where all random numbers come from: the same seed asks the same requests.
    pub seed: u64,
    /// How the keys are called.
    pub names: KeyNames,
    /// How long a connection may wait for its next whole reply, from its last write or the reply before, until it is
    /// given up; and how long it may take to be made and greeted.
    pub timeout: Duration,
    /// How many requests are due in all, those of a warm-up not counted: in closed loop those that are sent, in open loop also
    /// those that come to nothing. `None` is no limit.
    pub requests: Option<Requests>,
    /// How long the load lasts after its warm-up; `None` is until it is ended.
    pub length: Option<Duration>,
}

/// Up to when a latency goes that begins with the write of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LatencyTo {
    /// The last byte of its own reply.
    #[default]
    LastByte,
    /// The first byte of the first reply to its batch, as redis-benchmark measures: all requests of a batch have one.
    FirstByte,
}

/// What is said first on a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FirstWords {
    /// Who we are, and that we are called [`CLIENT_NAME`].
    #[default]
    Named,
    /// Only what was asked for, as redis-benchmark does.
    Bare {
        /// Whether `CLIENT TRACKING on` was.
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
        /// What the system said.
        cause: std::io::Error,
    },
    /// The poll loop of a worker cannot be set up.
    #[error("a worker cannot start: {0}; is the limit of open files too low (ulimit -n)?")]
    Worker(#[from] std::io::Error),
}

impl Plan {
    /// What is said first on each connection.
    pub(super) fn greeting(&self) -> Greeting {
        match self.first_words {
            FirstWords::Named => Greeting::new(&self.target, CLIENT_NAME),
            FirstWords::Bare { tracks } => Greeting::bare(&self.target, tracks),
        }
    }

    /// What is asked under `knobs` in this phase, with these values.
    pub(super) fn program(&self, knobs: &Knobs, phase: &Phase, values: Values) -> Program {
        let make = if phase.filling().is_some() { Program::of_prefill } else { Program::new };
        let program = make(&knobs.workload, self.target.dialect, knobs.keyspace, values, &self.names);
        program.for_clients(knobs.clients)
    }

    /// One worker, for nobody in particular.
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

    /// Where connections are made to: all addresses that the host's name has.
    pub(super) fn endpoints(&self, now_ns: u64) -> Result<Endpoints, LoadError> {
        let failed = |cause| LoadError::Resolve { address: self.target.address.clone(), cause };
        Endpoints::find(&self.target, RESOLVE_LIMIT, now_ns).map_err(failed)
    }
}

/// The making of the keys that a workload reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefilling {
    /// How many requests that takes.
    pub requests: u64,
    /// How many of them a client writes before it waits for the replies.
    pub pipeline: u32,
}

impl fmt::Display for Prefilling {
    /// `prefill of 1 M requests, 16 in flight each`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "prefill of {} requests, {} in flight each", units::setting(self.requests), self.pipeline)
    }
}
