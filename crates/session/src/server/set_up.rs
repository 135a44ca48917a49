//! Runs the setup of a workload, and undoes it. What is to be undone stands in the ledger, and in the marker, before it is
//! made, so that it is undone whatever follows, and a killed session's is found again.
//!
//! ```text
//! is it there? ─ no ─► note ─► FUNCTION LOAD ─► the next step     undo: FUNCTION DELETE, out of ledger and marker
//!      └ yes: refused              └ refused: the note goes, and what the steps before it made is undone
//! ```

use std::collections::BTreeMap;

use super::{Ledger, Made, ServerError, link::Wire, marker::MADE, registry, tune::refused_is_fine};
use crate::workload::SetupCommand;

/// What became of a setup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetUp {
    /// The commands that were answered, as the server's statistics call them, and how often.
    pub answered: BTreeMap<String, u64>,
    /// The step that failed, from 1, and why. No step behind it was run, and what those before it made is undone.
    pub failed: Option<(usize, ServerError)>,
}

/// Runs the commands in their order, each after the reply to the one before.
pub(super) async fn set_up(wire: &Wire, commands: &[SetupCommand], ledger: &Ledger) -> SetUp {
    let (mut outcome, mut made) = (SetUp::default(), Vec::new());
    for (step, command) in (1..).zip(commands) {
        match run(wire, command, ledger, &mut outcome.answered).await {
            Ok(new) => made.extend(new),
            Err(error) => {
                outcome.failed = Some((step, error));
                break;
            }
        }
    }
    if outcome.failed.is_some() {
        for made in made.iter().rev() {
            // What cannot be undone now stays in the ledger, and is tried again at the end.
            let _ = undo(wire, made, ledger).await;
        }
    }
    outcome
}

/// Runs one; what it made that was not there before.
async fn run(
    wire: &Wire,
    command: &SetupCommand,
    ledger: &Ledger,
    answered: &mut BTreeMap<String, u64>,
) -> Result<Option<Made>, ServerError> {
    let new = match Made::by(&command.words)? {
        // Made by this session: whether it may be made again is the server's to say.
        Some(made) if ledger.has_made(&made) => None,
        made => made,
    };
    if let Some(made) = &new {
        note(wire, made, ledger).await?;
    }
    let done = wire.run(&command.words).await;
    if done.as_ref().map_or_else(ServerError::is_answer, |()| true) {
        *answered.entry(command.name.clone()).or_default() += 1;
    }
    match (done, new) {
        (Ok(()), new) => Ok(new),
        (Err(error), Some(made)) if error.is_refused() => {
            forget(wire, &made, ledger).await?;
            Err(error)
        }
        (Err(error), _) => Err(error),
    }
}

/// Notes what is about to be made, unless somebody has made it already.
async fn note(wire: &Wire, made: &Made, ledger: &Ledger) -> Result<(), ServerError> {
    if made.is_there(wire).await? {
        return Err(ServerError::Exists { what: made.to_string() });
    }
    let mut noted = Err(ServerError::Stopped);
    if ledger.begin_making(made) {
        // Where no keys are taken this may be all the same.
        noted = refused_is_fine(registry::bring(wire, ledger).await);
    }
    // Meanwhile all may have begun to be undone.
    if noted.is_ok() && ledger.is_closed() {
        noted = Err(ServerError::Stopped);
    }
    if noted.is_err() {
        ledger.forget_made(made);
    }
    noted
}

/// Undoes it, and takes it out of ledger and marker. Whether it was still there.
pub(super) async fn undo(wire: &Wire, made: &Made, ledger: &Ledger) -> Result<bool, ServerError> {
    let was_there = match wire.data(&made.undoing()).await {
        Ok(_) => true,
        Err(error) if error.is_refused() && matches!(made.is_there(wire).await, Ok(false)) => false,
        Err(error) => return Err(error),
    };
    forget(wire, made, ledger).await?;
    Ok(was_there)
}

async fn forget(wire: &Wire, made: &Made, ledger: &Ledger) -> Result<(), ServerError> {
    ledger.forget_made(made);
    refused_is_fine(match ledger.marker().made.is_empty() {
        true => registry::strike(wire, ledger, MADE).await,
        false => registry::bring(wire, ledger).await,
    })
}
