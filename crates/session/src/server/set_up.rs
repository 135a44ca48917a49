//! Runs and undoes the setup of a workload (commands that run once before the load). Before redyno makes an object on
//! the server, redyno records the object in the ledger (in memory) and in the marker (on the server). The session can
//! therefore always remove the object. If the session is killed, a later redyno finds the object.
//!
//! ```text
//! does it exist? ─ no ─► note ─► FUNCTION LOAD ─► the next step   undo: FUNCTION DELETE, remove from ledger and marker
//!      └ yes: refused               └ refused: the note is removed, and the objects of earlier steps are undone
//! ```

use std::collections::BTreeMap;

use super::{Ledger, ServerError, SetupObject, maker::Maker, notifications};
use crate::{endpoint::Target, workload::SetupCommand};

/// The result of a setup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetUp {
    /// The number of replies to each command, by the command's name in INFO commandstats.
    pub answered: BTreeMap<String, u64>,
    /// The number of the failed step, counted from 1, and the reason. Later steps did not run, and redyno undoes the
    /// earlier steps.
    pub failed: Option<(usize, ServerError)>,
}

/// Runs the commands in order, each after the reply to the previous command. If `in_cluster` is true, a command for
/// keys on another node is left out, because the other node runs the command.
pub(super) async fn set_up(
    (maker, target): (&Maker, &Target),
    commands: &[SetupCommand],
    ledger: &Ledger,
    in_cluster: bool,
) -> SetUp {
    let (mut outcome, mut made) = (SetUp::default(), Vec::new());
    for (step, command) in (1..).zip(commands) {
        match run((maker, target), command, ledger, &mut outcome.answered).await {
            Ok(new) => made.extend(new),
            Err(error) if in_cluster && error.is_refusal("MOVED ") => {}
            Err(error) => {
                outcome.failed = Some((step, error));
                break;
            }
        }
    }
    if outcome.failed.is_some() {
        for made in made.iter().rev() {
            // Objects that cannot be removed now remain in the ledger, and redyno tries again at the end.
            let _ = undo(maker, made, ledger).await;
        }
    }
    outcome
}

/// Runs one command, and returns the object that it made. Returns `None` if the command made no object, or if this
/// session had made the object before. A command that sets `notify-keyspace-events` only adds letters, and the ledger
/// lists the value to restore.
async fn run(
    (maker, target): (&Maker, &Target),
    command: &SetupCommand,
    ledger: &Ledger,
    answered: &mut BTreeMap<String, u64>,
) -> Result<Option<SetupObject>, ServerError> {
    if let (Some(letters), Maker::Redis(wire)) = (command.notifications(), maker) {
        return notifications::add(wire, target, &letters, ledger).await.map(|()| None);
    }
    let new = match maker.made_by(command, ledger)? {
        // This session has made the object before; the server decides whether the command may run again.
        Some(made) if ledger.has_made(&made) => None,
        made => made,
    };
    if let Some(made) = &new {
        note(maker, made, ledger).await?;
    }
    let done = maker.run(command).await;
    // The server does not count a command that it has redirected to another node.
    let is_counted = |error: &ServerError| error.is_answer() && !error.is_refusal("MOVED ");
    if done.as_ref().map_or_else(is_counted, |()| true) {
        *answered.entry(command.name.clone()).or_default() += 1;
    }
    match (done, new) {
        (Ok(()), new) => Ok(new),
        (Err(error), Some(made)) if error.is_refused() => {
            forget(maker, &made, ledger).await?;
            Err(error)
        }
        (Err(error), _) => Err(error),
    }
}

/// Records an object in the ledger and in the marker, before it is created. Fails if the server already has
/// the object.
async fn note(maker: &Maker, made: &SetupObject, ledger: &Ledger) -> Result<(), ServerError> {
    if maker.has(made).await? {
        return Err(ServerError::Exists { what: made.to_string() });
    }
    let mut noted = Err(ServerError::Stopped);
    if ledger.begin_making(made) {
        noted = maker.note(ledger).await;
    }
    // The session may have begun to undo its changes meanwhile.
    if noted.is_ok() && ledger.is_closed() {
        noted = Err(ServerError::Stopped);
    }
    if noted.is_err() {
        ledger.forget_made(made);
    }
    noted
}

/// Removes an object from the server, the ledger and the marker. Returns whether the object still existed.
pub(super) async fn undo(maker: &Maker, made: &SetupObject, ledger: &Ledger) -> Result<bool, ServerError> {
    let was_there = match maker.remove(made).await {
        Ok(()) => true,
        Err(error) if error.is_refused() && matches!(maker.has(made).await, Ok(false)) => false,
        Err(error) => return Err(error),
    };
    forget(maker, made, ledger).await?;
    Ok(was_there)
}

async fn forget(maker: &Maker, made: &SetupObject, ledger: &Ledger) -> Result<(), ServerError> {
    ledger.forget_made(made);
    maker.note(ledger).await
}
