//! The plan that a command line produces. All checks that need no server are done before.

use std::{io::Write as _, path::PathBuf, time::Duration};

use anyhow::Context as _;

use super::{Failure, FleetPlan, UsageError, push::PushPlan};
use crate::{
    app::CommandPrefix,
    experiment::ExperimentSetting,
    export::{Format, Rows},
    knobs::Knobs,
    print::{page_server::MetricsAddress, words::StreamText},
    session::{SessionWriter, running::Commission},
};

/// A command to carry out. The command has passed all checks that are possible in advance.
pub trait Plan {
    /// Carries out the plan.
    ///
    /// # Errors
    /// Fails if the plan fails, if the result is not the required result, or if a signal ends the plan.
    fn run(self: Box<Self>) -> Result<(), Failure>;
}

impl<F: FnOnce() -> Result<(), Failure>> Plan for F {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        self()
    }
}

/// Returns the plan to print `text`.
pub fn text_plan(text: String) -> Box<dyn Plan> {
    Box::new(move || Ok(StreamText::stdout().write_all(text.as_bytes()).context("cannot write to stdout")?))
}

/// The other servers of a session, besides its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherServers {
    /// No other servers.
    TargetOnly,
    /// The other nodes of the target's cluster, which also get load.
    Cluster,
    /// The other nodes of the target's cluster. Without a cluster, these are the target's primary and replicas, which
    /// are only watched.
    WithReplicas,
}

/// A planned session.
pub struct SessionPlan {
    /// The settings of the session. The outputs of the session and the built-in server are added at the start of the
    /// session.
    pub commission: Commission,
    /// Whether the user named the target. If not, and if no server listens at the default address, redyno
    /// starts the built-in server.
    pub is_named: bool,
    /// Whether the built-in server is started even if another server listens at the default address.
    pub wants_own: bool,
    /// Whether the built-in server gets load even without `--load`.
    pub loads_own: bool,
    /// Whether the keys of the workload are written to the built-in server before the load. The load's reads then find
    /// their keys.
    pub fills_own: bool,
    /// The settings of the experiment, as far as they are known in advance.
    pub settings: Vec<ExperimentSetting>,
    /// The options at the beginning of each command line that repeats a segment.
    pub words: ProgramWords,
    /// The outputs of the session.
    pub outputs: Outputs,
    /// The other servers of the session.
    pub company: OtherServers,
    /// Whether the session prints one page at its end, and no figures of each second.
    pub is_page: bool,
    /// The names of the nodes, if there are several nodes.
    pub names: Vec<String>,
    /// The fleet of agents that generates the load, if there is one.
    pub fleet: Option<FleetPlan>,
}

impl SessionPlan {
    /// Checks that the operating system allows this process to open a connection for each client. Also checks that at
    /// least one setting of the load has at least one client per agent.
    ///
    /// # Errors
    /// Fails if the system allows fewer connections. The error contains the allowed number. Also fails if
    /// every setting has fewer clients than agents.
    pub fn check_clients(&self) -> Result<(), UsageError> {
        let agents = self.commission.agents.unwrap_or(1) as u32; // at most 1000
        if self.knobs().all(|knobs| knobs.clients < agents) {
            let text =
                "--agents cannot be used with fewer clients than agents; give at least as many clients (-c)";
            return Err(UsageError::of(text));
        }
        self.knobs().try_for_each(|knobs| self.commission.check_clients(knobs)).map_err(UsageError::Line)
    }

    /// Checks that the dialects (the protocols) of the nodes support the workload. If several servers share a
    /// load by consistent hash, also checks that the load can be divided.
    ///
    /// # Errors
    /// Fails if a dialect does not support the workload, or the load cannot be divided. The error names the
    /// commands.
    pub fn check_dialect(&self) -> Result<(), UsageError> {
        let names = &self.commission.plan.names;
        for (node, target) in self.commission.targets().take(1 + self.commission.others.len()).enumerate() {
            let spoken =
                self.knobs().try_for_each(|knobs| knobs.workload.check_dialect(target.dialect, names));
            spoken.map_err(|error| match self.names.get(node) {
                Some(name) => UsageError::of(format!("{name}: {error}")),
                None => UsageError::of(error),
            })?;
        }
        let is_ring = self.commission.clusters.values().any(|cluster| cluster.is_ring());
        let dialect = self.commission.plan.target.dialect;
        let mut rings = self.knobs().filter(|knobs| is_ring && knobs.load);
        rings.try_for_each(|knobs| knobs.workload.check_one_key(dialect)).map_err(UsageError::of)
    }

    /// Returns the knobs of the session, as far as these knobs are known in advance.
    fn knobs(&self) -> impl Iterator<Item = &Knobs> {
        self.settings.iter().map(|setting| &setting.knobs).chain([&self.commission.knobs])
    }
}

/// The beginning of a command line that repeats a segment. The beginning has the options that do not depend on knobs,
/// and never contains a password.
#[derive(Debug, Clone, Default)]
pub struct ProgramWords {
    /// The options of the target.
    pub target: Vec<String>,
    /// The options of the load.
    pub load: Vec<String>,
    /// Whether the target needs a password.
    pub has_password: bool,
}

impl ProgramWords {
    /// Returns the program name with these options. For the built-in server, the options of the target are
    /// left out.
    pub fn program(&self, is_own: bool) -> CommandPrefix {
        let target = if is_own { &[][..] } else { &self.target };
        let words = ["redyno".to_owned()].iter().chain(target).chain(&self.load).cloned().collect::<Vec<_>>();
        let has_password = self.has_password && !is_own;
        CommandPrefix { words: words.join(" "), has_password, ..CommandPrefix::default() }
    }
}

/// The outputs of a session.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// The recording, if the user requests a recording. Without a file name, redyno chooses the name.
    pub record: Option<Option<PathBuf>>,
    /// The time after which the recording continues in a new file.
    pub rotate: Option<Duration>,
    /// The exports of the session.
    pub exports: Vec<Export>,
    /// The address at which metrics are served.
    pub metrics: Option<MetricsAddress>,
    /// The receivers to which metrics are pushed.
    pub push: Option<PushPlan>,
    /// The shell command that runs for findings.
    pub on_finding: Option<String>,
}

impl Outputs {
    /// Returns whether a session without a screen has an output besides stdout.
    pub fn has_more_than_stdout(&self) -> bool {
        self.record.is_some()
            || !self.exports.is_empty()
            || self.metrics.is_some()
            || self.push.is_some()
            || self.on_finding.is_some()
    }
}

/// An export: its format and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The format.
    pub format: Format,
    /// The file.
    pub file: PathBuf,
}

impl std::str::FromStr for Export {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = text
            .split_once(':')
            .filter(|(_, file)| !file.is_empty())
            .ok_or("it must be a format and a file, such as csv:session.csv")?;
        Ok(Self {
            format: format.parse().map_err(|error: crate::export::NoFormat| error.to_string())?,
            file: file.into(),
        })
    }
}

impl Export {
    /// Creates the new file.
    pub(super) fn create(&self) -> Result<SessionWriter, anyhow::Error> {
        Ok(SessionWriter::create_as(&self.file, self.format.sink(Rows::default(), None))?)
    }
}
