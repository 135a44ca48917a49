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
    cli::{Failure, UsageError, args::CommandLine},
    load::Knobs,
    session::{
        Writer,
        running::{Commission, EndedBy, Peer, Session, StartError},
    },
    signals::{Signal, listen},
};

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
    session: Session,
    destination: Destination,
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
        let writer =
            line.session.record.as_deref().map(Writer::create).transpose().map_err(anyhow::Error::from)?;
        let destination = destination(&line.target, is_attended)?;
        let mut commission = commission(line, &destination, writer, is_attended)?;
        settle(&mut commission)?;
        let knobs = commission.knobs.clone();
        let count = if line.experiment.is_given() && !is_attended { 2 } else { 1 };
        let (session, mut peers) = Session::start(commission, ends, count).map_err(refused)?;
        let beside = peers.drain(1..).next();
        let program = program(line, &destination);
        Ok(Self { peer: peers.remove(0), beside, knobs, program, session, destination })
    }

    /// Waits for its end; `shown` is what became of whoever listened.
    ///
    /// # Errors
    /// When that failed, when a signal ended it or the server refused the load, and when it was not recorded to its end.
    pub fn end(self, shown: Result<(), Failure>) -> Result<(), Failure> {
        let ended = self.session.end();
        drop(self.destination);
        match ended.by {
            // A terminal that goes is an error of the screen as well: the signal says more.
            EndedBy::Signal => Err(Failure::Interrupted),
            EndedBy::Refusal(cause) => shown.and(Err(Failure::Failed(anyhow::anyhow!(cause)))),
            EndedBy::Itself => {
                shown?;
                Ok(ended.recorded.map_err(anyhow::Error::from)?)
            }
        }
    }
}

fn refused(error: StartError) -> Failure {
    match error {
        StartError::Asks(question) => UsageError::NeedsYes(question).into(),
        StartError::Interrupted => Failure::Interrupted,
        error => Failure::Failed(error.into()),
    }
}
