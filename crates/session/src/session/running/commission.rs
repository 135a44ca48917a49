//! What a session is asked to do.

use std::{path::PathBuf, time::Duration};

use super::{Danger, Notice};
use crate::{
    endpoint::Target,
    knobs::Knobs,
    load::{Plan, most_clients},
    session::Writer,
    workload::RunId,
};

/// Whose keys a load writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Those of a server of our own, which go with it.
    OwnServers,
    /// The run's: noted in the ledger and its marker, and removed at the end unless they are `kept`.
    Runs {
        /// `--keep`
        kept: bool,
    },
    /// A user's: asked about, and never removed.
    Users,
}

/// What a session is asked to do.
pub struct Commission {
    /// Where, with what, for how long.
    pub plan: Plan,
    /// Further nodes, in the order of their numbers from 1; the rest of the plan holds for them too.
    pub others: Vec<Target>,
    /// The node that alone carries the load at first; all do where none is named.
    pub carrier: Option<u16>,
    /// The settings to begin with.
    pub knobs: Knobs,
    /// How long the first segment is a warm-up.
    pub warmup: Option<Duration>,
    /// Whether what is private in the text of the server is left out of all records.
    pub redacts: bool,
    /// The name of the run.
    pub run: RunId,
    /// The settings that an experiment will put in force.
    pub settings: Vec<Knobs>,
    /// What is asked before a setting begins that may do harm.
    pub danger: Danger,
    /// Whose keys are written.
    pub keys: Keys,
    /// Whether writing was allowed beforehand (`--yes`).
    pub is_allowed: bool,
    /// Whether a person is there to be asked. Without one the session does not begin where it would have to ask, and ends
    /// when the server refuses its load.
    pub is_attended: bool,
    /// Whether the load goes on whatever the server says (`--keep-going`).
    pub keeps_going: bool,
    /// The most clients that the system lets this process hold.
    pub most_clients: u32,
    /// Why the first node cannot be reached now, though it may be later.
    pub unreachable: Option<String>,
    /// Where it is recorded to.
    pub recording: Option<Writer>,
    /// Where recordings that are begun on the way are put.
    pub recordings_in: PathBuf,
    /// What else it is written to as it goes on.
    pub exports: Vec<Writer>,
    /// What its peers are told first.
    pub notices: Vec<Notice>,
}

impl Commission {
    /// A session of `plan` under the usual knobs, which nobody watches, which writes nothing without asking, and which is
    /// recorded nowhere.
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
    /// All nodes, in the order of their numbers.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.plan.target).chain(&self.others)
    }
}
