//! Runs the session of a plan with its listeners, from its start to its result.

use std::{sync::mpsc::Receiver, thread::JoinHandle};

use anyhow::Context as _;

use super::{
    Failure, SessionPlan, UsageError,
    destination::{SessionDestination, destination},
    fleet::OwnAgents,
    listener::{Listener, listen, verdict},
    metrics::{SharedMetrics, serve_metrics},
    on_finding::run_on_findings,
    push,
};
use crate::{
    app::CommandPrefix,
    experiment::ExperimentSetting,
    knobs::{Knobs, MAX_CLIENTS},
    load::most_clients,
    print::{page_server::PageServer, words::warn},
    server::value_words,
    session::{
        Notice, SessionRecords, SessionWriter,
        running::{EndedBy, KeyOwner, Peer, Session, StartError},
    },
    signals::{Signal, listen as signals},
    units, untrusted,
};

/// The error at the end of a session that could not undo all of its changes.
const STAYS_BEHIND: &str = "some changes to the server were not undone; see above";

/// Returns a receiver of all signals that end a program without a screen.
///
/// # Errors
/// Fails if the system does not allow this process to handle signals.
pub fn end_signals() -> Result<Receiver<Signal>, Failure> {
    Ok(signals(&Signal::ENDS).context("cannot take signals")?)
}

/// A running session.
pub(super) struct RunningSession {
    /// The session's channel to its listeners.
    pub(super) peer: Peer,
    /// The knobs at the start of the session.
    pub(super) knobs: Knobs,
    /// The beginning of a command line that repeats a segment.
    pub(super) program: CommandPrefix,
    /// The files of the recording.
    pub(super) files: Vec<String>,
    /// The records that are kept for exports from the screen.
    pub(super) kept: Option<SessionRecords>,
    /// The names of the nodes, if there are several.
    names: Vec<String>,
    session: Session,
    destination: SessionDestination,
    /// The server of the session's metrics.
    metrics: Option<PageServer>,
    /// The threads that run a command for findings, or push metrics. Each thread returns a report about failures.
    helpers: Vec<JoinHandle<Option<String>>>,
    /// The agents that this process has started.
    own: OwnAgents,
}

impl RunningSession {
    /// Starts the session of `plan`. redyno sends commands only after it has reached all nodes.
    ///
    /// # Errors
    /// Fails if outputs cannot be opened, a server cannot be reached, or the load is not allowed.
    pub(super) fn begin(mut plan: SessionPlan) -> Result<Self, Failure> {
        // Signals that end the session go to the session itself, so the screen cannot delay these signals.
        let ends = end_signals()?;
        // The recording is created first, so that its errors are reported immediately.
        let named = plan.outputs.record.iter().flatten().next();
        let recording =
            named.map(|file| SessionWriter::create(file)).transpose().map_err(anyhow::Error::from)?;
        let exports = plan.outputs.exports.iter().map(super::Export::create);
        plan.commission.exports = exports.collect::<Result<_, _>>()?;
        let sums = SharedMetrics::default();
        let metrics =
            plan.outputs.metrics.as_ref().map(|address| serve_metrics(address, &sums)).transpose()?;
        let pushed = plan.outputs.push.as_ref().map(|push| push.start(&sums)).transpose()?;
        let (samplers, mut helpers): (Vec<_>, Vec<_>) = pushed.into_iter().flatten().unzip();
        let destination = destination(&plan)?;
        let files = plan.record_to(recording, &destination)?;
        plan.settle(&destination)?;
        plan.find_nodes(&destination)?;
        plan.check_clients()?;
        plan.check_read_from()?;
        plan.check_config()?;
        plan.check_probe_lag()?;
        let SessionPlan { mut commission, words, names, outputs, fleet, .. } = plan;
        let own = fleet.map(|fleet| fleet.begin(&mut commission, &ends)).transpose()?.unwrap_or_default();
        let (knobs, is_attended) = (commission.knobs.clone(), commission.is_attended);
        let is_shared = !commission.clusters.is_empty();
        let recordings = commission.recordings_in.clone();
        let command = outputs.on_finding;
        let is_counted = metrics.is_some() || !samplers.is_empty();
        let more = [is_counted, command.is_some(), is_attended];
        let count = more.iter().filter(|needs| **needs).count() + 1;
        let started = Session::start(commission, ends, count);
        let (session, mut peers) = started.map_err(|error| refused(error, &names))?;
        let kept = peers.pop_if(|_| is_attended).map(|peer| SessionRecords::start(&recordings, peer));
        if let Some(peer) = peers.pop_if(|_| is_counted) {
            push::count(sums, samplers, peer)?;
        }
        if let Some(command) = command
            && let Some(peer) = peers.pop()
        {
            helpers.push(run_on_findings(command, peer)?);
        }
        let program = CommandPrefix { is_shared, ..words.program(destination.built_in.is_some()) };
        let peer = peers.remove(0);
        Ok(Self { peer, knobs, program, files, kept, names, session, destination, metrics, helpers, own })
    }

    /// Returns whether the session measures the built-in server.
    pub(super) fn is_built_in(&self) -> bool {
        self.destination.built_in.is_some()
    }

    /// Passes the session's deliveries to `listeners` until the session is over, and waits for the end of the session.
    ///
    /// # Errors
    /// Fails if a listener or the recording fails, if a signal ends the session, or if a server refuses the load. Also
    /// fails if a change cannot be undone, or if the result is not the required result.
    pub(super) fn run(self, listeners: &mut [&mut dyn Listener]) -> Result<(), Failure> {
        listen(&self.peer, listeners);
        let mut said = Ok(());
        for listener in &mut *listeners {
            said = said.and(listener.finish());
        }
        self.end(said, || verdict(listeners))
    }

    /// Waits for the end of the session. `shown` is the result of the output. `verdict` judges a session that ran to its
    /// end.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run).
    pub(super) fn end(
        self,
        shown: Result<(), Failure>,
        verdict: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { session, destination, metrics, helpers, names, own, .. } = self;
        let ended = session.end();
        // A helper that panicked has reported the reason.
        helpers.into_iter().flat_map(JoinHandle::join).flatten().for_each(|report| warn(&report));
        drop((destination, metrics, own));
        let unrecorded = ended.recorded.err().map(|error| Failure::Failed(error.into()));
        let stays = |node| Failure::Failed(anyhow::anyhow!(STAYS_BEHIND)).of_node(node, &names);
        let left = ended.left.first().map(|node| stays(*node));
        match ended.by {
            EndedBy::Signal => {
                // The exit code still says that a signal ended the session.
                if let Err(failure) = Failure::of_all([shown.err(), unrecorded, left]) {
                    warn(&failure.to_string());
                }
                Err(Failure::Interrupted)
            }
            EndedBy::Refusal(node, cause) => {
                let refused = Failure::Failed(anyhow::anyhow!(cause)).of_node(node, &names);
                Failure::of_all([shown.err(), Some(refused), unrecorded, left])
            }
            EndedBy::Itself => Failure::of_all([verdict().err(), shown.err(), unrecorded, left]),
        }
    }
}

impl SessionPlan {
    /// Sets up the recording, if the user requests one. If `recording` is `None`, redyno writes to a new file with the
    /// name of the destination. Returns the descriptions of the files.
    fn record_to(
        &mut self,
        mut recording: Option<SessionWriter>,
        destination: &SessionDestination,
    ) -> Result<Vec<String>, Failure> {
        if self.outputs.record.is_some() && recording.is_none() {
            let target = destination.target.address.to_string();
            let fresh = SessionWriter::fresh(&self.commission.recordings_in, &target);
            recording = Some(fresh.map_err(anyhow::Error::from)?);
        }
        let mut files: Vec<_> = recording.iter().map(|writer| untrusted::path(writer.path())).collect();
        if let Some(every) = self.outputs.rotate {
            recording = recording.map(|writer| writer.rotated(every));
            let each = units::latency(every.as_nanos() as u64);
            files.iter_mut().for_each(|file| *file += &format!(", and a new one for each {each}"));
        }
        self.commission.recording = recording;
        Ok(files)
    }

    /// Adapts the plan to its destination, and checks the result.
    fn settle(&mut self, destination: &SessionDestination) -> Result<(), UsageError> {
        let commission = &mut self.commission;
        commission.plan.target = destination.target.clone();
        if destination.built_in.is_some() {
            if matches!(commission.keys, KeyOwner::Runs { kept: true }) {
                let text = "--keep: the built-in server stops at the end, and its keys are lost; name a server with -h";
                return Err(UsageError::of(text));
            }
            commission.keys = KeyOwner::OwnServers;
            commission.knobs.load |= self.loads_own;
            if self.fills_own
                && let Ok(filled) = commission.knobs.workload.with_prefill()
            {
                commission.knobs.workload = filled.into();
            }
            // Both ends of a connection to the built-in server use file descriptors of this process.
            commission.most_clients = most_clients(commission.plan.threads, 2);
        }
        let needs_consent = commission.keys != KeyOwner::OwnServers && !commission.is_allowed;
        let changes = ExperimentSetting::parameters(&self.settings).into_iter().map(|(parameter, values)| {
            let values: Vec<_> = values.into_iter().map(value_words).collect();
            format!(
                "{} of {} would be set to {}",
                parameter.name,
                commission.plan.target.address,
                values.join(", ")
            )
        });
        let changes = changes.collect::<Vec<_>>().join("; ");
        if needs_consent && !changes.is_empty() {
            return Err(UsageError::asks(format!(
                "{changes}; redyno restores the old values at the end. This affects all users of the server."
            )));
        }
        commission.settings = self.settings.iter().map(|setting| setting.knobs.clone()).collect();
        commission.unreachable = destination.unreachable.as_ref().map(ToString::to_string);
        let most = commission.most_clients;
        // The notice about open files is shown only on the screen, only for a server of the user, and only if
        // the limit is low.
        let matters = commission.is_attended && commission.keys != KeyOwner::OwnServers && most < MAX_CLIENTS;
        commission.notices.extend(matters.then(|| {
            Notice::Info(format!("the limit of open files (ulimit -Hn) allows at most {most} clients"))
        }));
        Ok(())
    }
}

fn refused(error: StartError, names: &[String]) -> Failure {
    match error {
        StartError::Asks(node, question) => Failure::from(UsageError::asks(question)).of_node(node, names),
        StartError::Interrupted => Failure::Interrupted,
        StartError::Refused(node, _) => Failure::Failed(error.into()).of_node(node, names),
        error => Failure::Failed(error.into()),
    }
}
