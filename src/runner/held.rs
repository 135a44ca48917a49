//! A session from its beginning to what became of it, whoever listens to it meanwhile.

use std::sync::mpsc::Receiver;

use anyhow::Context as _;

use super::{
    launch::{Destination, destination},
    plan::commission,
    program::program,
};
use crate::{
    app::Program,
    cli::{Failure, UsageError, args::CommandLine, export::Export, metrics::Serving, recordings},
    export::Rows,
    foreign,
    load::Knobs,
    session::{
        Kept, Writer,
        running::{Commission, EndedBy, Peer, Session, StartError},
    },
    signals::{Signal, listen},
    units,
};

/// What is said last where a session could not undo everything.
const STAYS_BEHIND: &str = "the server is not as it was before, as said above";

/// A session that runs.
pub struct Held {
    /// Who listens to it.
    pub peer: Peer,
    /// Who turns its knobs, if an experiment is to and no screen is there for it.
    pub beside: Option<Peer>,
    /// The knobs that it began with.
    pub knobs: Knobs,
    /// What it was begun by.
    pub program: Program,
    /// What it is recorded to.
    pub files: Vec<String>,
    /// What is kept of it for exports from a screen.
    pub kept: Option<Kept>,
    session: Session,
    destination: Destination,
    /// Its figures as they are served, to its end.
    metrics: Option<Serving>,
}

impl Held {
    /// Starts the session that `line` asks for; `is_attended` is whether a person sits at a screen. `settle` has the last
    /// word on what is asked of it.
    ///
    /// # Errors
    /// When the arguments are wrong, the server cannot be reached, or the load may not be.
    pub fn begin(
        line: &CommandLine,
        is_attended: bool,
        settle: impl FnOnce(&mut Commission) -> Result<(), UsageError>,
    ) -> Result<Self, Failure> {
        // The session takes those that end it, whatever the screen is doing.
        let ends = listen(&Signal::ENDS).context("cannot take signals")?;
        Self::begin_until(ends, line, is_attended, settle)
    }

    /// The same; what comes of `ends` ends it.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_until(
        ends: Receiver<Signal>,
        line: &CommandLine,
        is_attended: bool,
        settle: impl FnOnce(&mut Commission) -> Result<(), UsageError>,
    ) -> Result<Self, Failure> {
        // Before anything else: what cannot be created is told at once.
        let (mut recording, exports) = named_files(line)?;
        let metrics = line.session.metrics.as_ref().map(Serving::start).transpose()?;
        let destination = destination(&line.target, is_attended, &line.session)?;
        if line.session.record.is_some() && recording.is_none() {
            let target = destination.target.address.to_string();
            let fresh = Writer::fresh(&recordings::directory(), &target);
            recording = Some(fresh.map_err(anyhow::Error::from)?);
        }
        let mut files: Vec<_> = recording.iter().map(|writer| foreign::path(writer.path())).collect();
        if let Some(every) = line.session.record_rotate {
            recording = recording.map(|writer| writer.rotated(every));
            let each = units::latency(every.as_nanos() as u64);
            files.iter_mut().for_each(|file| *file += &format!(", and a new one for each {each}"));
        }
        let mut commission = commission(line, &destination, (recording, exports), is_attended)?;
        settle(&mut commission)?;
        let knobs = commission.knobs.clone();
        let has_driver = line.experiment.is_given() && !is_attended;
        let count = 1 + usize::from(has_driver) + usize::from(metrics.is_some()) + usize::from(is_attended);
        let (session, mut peers) = Session::start(commission, ends, count).map_err(refused)?;
        let kept = peers.pop_if(|_| is_attended).map(|peer| Kept::start(&recordings::directory(), peer));
        if let Some((metrics, peer)) = metrics.as_ref().zip(peers.pop_if(|_| metrics.is_some())) {
            metrics.count(peer)?;
        }
        let beside = peers.drain(1..).next();
        let program = program(line, &destination);
        Ok(Self { peer: peers.remove(0), beside, knobs, program, files, kept, session, destination, metrics })
    }

    /// Waits for its end; `shown` is what became of whoever listened.
    ///
    /// # Errors
    /// When that failed, when a signal ended it or the server refused the load, when it was not recorded to its end, and when
    /// something of it stays behind on the server.
    pub fn end(self, shown: Result<(), Failure>) -> Result<(), Failure> {
        let ended = self.session.end();
        drop((self.destination, self.metrics));
        match ended.by {
            // A terminal that goes is an error of the screen as well: the signal says more.
            EndedBy::Signal => Err(Failure::Interrupted),
            EndedBy::Refusal(cause) => shown.and(Err(Failure::Failed(anyhow::anyhow!(cause)))),
            EndedBy::Itself => {
                shown?;
                ended.recorded.map_err(anyhow::Error::from)?;
                if ended.is_undone { Ok(()) } else { Err(Failure::Failed(anyhow::anyhow!(STAYS_BEHIND))) }
            }
        }
    }
}

/// The files with a name that the session is written to: that of the recording, and those of the exports.
fn named_files(line: &CommandLine) -> Result<(Option<Writer>, Vec<Writer>), Failure> {
    let named = line.session.record.iter().flatten().next();
    let recording = named.map(|file| Writer::create(file)).transpose();
    let export = |export: &Export| Writer::create_as(&export.file, export.format.sink(Rows::default(), None));
    let exports = line.session.export.iter().map(export).collect::<Result<_, _>>();
    Ok((recording.map_err(anyhow::Error::from)?, exports.map_err(anyhow::Error::from)?))
}

fn refused(error: StartError) -> Failure {
    match error {
        StartError::Asks(question) => UsageError::NeedsYes(question).into(),
        StartError::Interrupted => Failure::Interrupted,
        error => Failure::Failed(error.into()),
    }
}
