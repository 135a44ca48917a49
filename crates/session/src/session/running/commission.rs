//! The commission of a session: the description of everything that it has to do.

use std::{path::PathBuf, time::Duration};

use super::{Danger, Notice};
use crate::{
    endpoint::Target,
    knobs::Knobs,
    load::{Plan, most_clients},
    session::Writer,
    workload::RunId,
};

/// The owner of the keys that a load writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// The keys are those of the built-in server, and are lost with it.
    OwnServers,
    /// The keys are the run's: they are in the ledger and the marker, and are removed at the end unless they are
    /// `kept`.
    Runs {
        /// `--keep`
        kept: bool,
    },
    /// The keys are the user's: redyno asks before it writes, and never removes them.
    Users,
}

/// The commission of a session.
pub struct Commission {
    /// The first node: target, load and duration.
    pub plan: Plan,
    /// Further nodes, in the order of their numbers from 1; the rest of the plan applies to them too.
    pub others: Vec<Target>,
    /// The only node that carries the load at first; `None` if all do.
    pub carrier: Option<u16>,
    /// The knobs at the start.
    pub knobs: Knobs,
    /// The length of the warm-up at the beginning of the first segment.
    pub warmup: Option<Duration>,
    /// Whether private parts of the server's text are left out of all records.
    pub redacts: bool,
    /// The name of the run.
    pub run: RunId,
    /// The settings of an experiment.
    pub settings: Vec<Knobs>,
    /// The check of a setting for harm before it begins.
    pub danger: Danger,
    /// The owner of the keys that are written.
    pub keys: Keys,
    /// Whether writing was allowed on the command line (`--yes`).
    pub is_allowed: bool,
    /// Whether a user can be asked. Without one, the session does not begin if it would have to ask, and ends if the
    /// server refuses its load.
    pub is_attended: bool,
    /// Whether the load continues after permanent refusals (`--keep-going`).
    pub keeps_going: bool,
    /// The most clients that the system allows this process.
    pub most_clients: u32,
    /// Why the first node cannot be reached at the start. It may be reachable later.
    pub unreachable: Option<String>,
    /// The recording.
    pub recording: Option<Writer>,
    /// The folder of recordings begun later.
    pub recordings_in: PathBuf,
    /// The exports.
    pub exports: Vec<Writer>,
    /// The first notices to the session's peers.
    pub notices: Vec<Notice>,
}

impl Commission {
    /// Returns a commission of `plan` with default knobs, without a screen or a recording, that asks before any write.
    pub fn new(plan: Plan, run: RunId, keys: Keys, danger: Danger) -> Self {
        Self {
            most_clients: most_clients(plan.threads, 1),
            plan,
            others: Vec::new(),
            carrier: None,
            knobs: Knobs::default(),
            warmup: None,
            redacts: false,
            run,
            settings: Vec::new(),
            danger,
            keys,
            is_allowed: false,
            is_attended: false,
            keeps_going: false,
            unreachable: None,
            recording: None,
            recordings_in: ".".into(),
            exports: Vec::new(),
            notices: Vec::new(),
        }
    }
    /// Returns all nodes, in the order of their numbers.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.plan.target).chain(&self.others)
    }
}
