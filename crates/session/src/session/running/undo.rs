//! Ends a session: waits for the last replies and records, restores parameters, undoes setups, and removes keys at all
//! nodes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{
    KeyOwner, Notice,
    conduct::LiveSession,
    holders::{Holder, Holders},
    key_removal::{remove_keys, remove_markers},
    node::SessionNode,
    peer::Peers,
    restore::{LIMIT, delete},
};
use crate::{
    server::{CleaningProgress, CleaningResult, ServerError, clean_command, foreign_keys_line},
    session::SessionFileError,
    signals::Signal,
    units::count_with_noun,
};

/// The longest wait for a server's last status. The wait is short, so that a hanging server does not delay the end.
const LAST_POLL_LIMIT: Duration = Duration::from_millis(200);

/// The longest wait for a new lookup of the target's name. During a failover, the lookup takes some seconds.
const FOLLOW_LIMIT: Duration = Duration::from_secs(8);

/// The result of ending a session.
#[derive(Default)]
pub(super) struct CleanupResult {
    /// The node with a load that ended early or is incomplete, and the reason. `None` if the last records show no such
    /// node.
    pub(super) refused: Option<(u16, String)>,
    /// The first error of a recording or an export, if a file is incomplete.
    pub(super) recorded: Option<Arc<SessionFileError>>,
    /// The numbers of the nodes at which redyno could not undo all its changes. Keys that redyno keeps on
    /// request do not count.
    pub(super) left: Vec<u16>,
    /// Whether a signal interrupted the cleanup.
    pub(super) is_interrupted: bool,
}

/// Ends all measurement, sends the last records to the peers, restores the servers' parameters, undoes setups and
/// removes the keys. An interrupt or a `kill` stops the removal of keys, and the session reports the remaining keys.
/// Slow peers do not delay the end.
pub(super) fn undo(running: LiveSession) -> CleanupResult {
    let LiveSession { mut live, mut nodes, records, recordings, mut peers, signals, .. } = running;
    live.end_load();
    nodes.iter().for_each(|node| node.stop_keys(LAST_POLL_LIMIT));
    // If a server does not answer in time, the records of the last second lack this server's figures.
    let polls: Vec<_> = nodes.iter().map(|node| node.control.poll()).collect();
    polls.iter().for_each(|poll| drop(poll.wait(LAST_POLL_LIMIT)));
    let broken = catch_unwind(AssertUnwindSafe(|| live.finish())).err();
    let mut refused = None;
    for record in records.rest() {
        for node in nodes.iter_mut().filter(|node| record.is_of(node.number)) {
            refused = refused.or(node.refusals.push(&record).map(|cause| (node.number, cause)));
        }
        peers.record(&record);
    }
    let incomplete = || nodes.iter().find_map(|node| Some((node.number, node.refusals.incomplete()?)));
    let refused = refused.or_else(incomplete);
    let mut left = restore_parameters(&mut nodes, |number, line| {
        peers.send(number, Notice::Undone(format!("redyno: {line}")));
    });
    let undone = undo_writes(&mut nodes, &signals, &mut peers);
    left.extend(undone.left);
    left.sort_unstable();
    let undone = CleanupResult { refused, recorded: recordings.finish().err(), left, ..undone };
    // A panic above must not prevent the cleanup, so the panic continues only now.
    broken.map_or(undone, |panic| resume_unwind(panic))
}

/// Restores the parameters that were set, at all nodes. Calls `report` for each parameter with the node's number and a
/// line about the result. Returns the numbers of the nodes at which a parameter could not be restored.
pub(super) fn restore_parameters(nodes: &mut [SessionNode], mut report: impl FnMut(u16, String)) -> Vec<u16> {
    let mut left = Vec::new();
    for SessionNode { number, control, target, tuning, .. } in nodes {
        if !tuning.restore(control, &target.address, |line| report(*number, line)) {
            left.push(*number);
        }
    }
    left
}

/// Undoes setups, and removes the keys of the run. If the keys are kept, reports how to use these keys again. Call this
/// function only when the load is off.
pub(super) fn undo_writes(
    nodes: &mut [SessionNode],
    signals: &Receiver<Signal>,
    peers: &mut Peers,
) -> CleanupResult {
    let mut undone = CleanupResult::default();
    let mut is_stopped = false;
    let follow = |node: &SessionNode| node.target.address.is_name().then(|| node.control.follow_name());
    let followed: Vec<_> = nodes.iter().filter_map(follow).collect();
    followed.iter().for_each(|followed| drop(followed.wait(FOLLOW_LIMIT)));
    for node in nodes {
        if !undo_setup(node, peers) {
            undone.left.push(node.number);
        }
        let SessionNode { number, target, gate, holders, .. } = node;
        match gate.leaves_keys(holders) {
            Some(false) => {
                let ended = remove(holders, |progress| {
                    // A closed terminal sends its signal more than once. Only an interrupt or a `kill` stops the
                    // removal.
                    is_stopped |= signals
                        .try_iter()
                        .any(|signal| matches!(signal, Signal::Interrupt | Signal::Terminate));
                    peers.send(*number, Notice::Cleaning(progress));
                    !is_stopped
                });
                undone.is_interrupted |= ended.as_ref().is_ok_and(|_| is_stopped);
                if !ended.as_ref().is_ok_and(|cleaned| cleaned.complete) {
                    undone.left.push(*number);
                }
                peers.send(*number, Notice::Undone(outcome(&ended, holders)));
            }
            Some(true) => {
                let prefix = gate.names.prefix();
                let later = later("them", holders);
                let line =
                    format!("the keys stay under {prefix}; --key-prefix {prefix} uses them again, {later}");
                peers.send(*number, Notice::Undone(line));
            }
            None => {}
        }
        // The built-in server ends with the session.
        let has_users_keys = gate.keys != KeyOwner::OwnServers && target.dialect.has_keys();
        let foreign = gate.agreed.iter().flatten().filter(|_| has_users_keys);
        if let Some(line) = foreign_keys_line(foreign) {
            peers.send(*number, Notice::Undone(line));
        }
    }
    undone
}

/// Removes the keys of the run from all servers that store them, and then the run's markers.
fn remove(
    holders: &mut Holders,
    mut look: impl FnMut(CleaningProgress) -> bool,
) -> Result<CleaningResult, ServerError> {
    let Some(marker) = holders.marker() else { return Err(ServerError::Stopped) };
    let cleaned = remove_keys(holders, &[marker], &mut look)?;
    if cleaned.complete {
        remove_markers(holders, |holder| vec![holder.ledger.clone()])?;
    }
    Ok(cleaned)
}

/// Undoes setups in reverse order, and reports the result of each. Returns whether everything was undone.
fn undo_setup(node: &mut SessionNode, peers: &mut Peers) -> bool {
    let SessionNode { number, gate, holders, .. } = node;
    gate.await_setup(LIMIT);
    let mut is_gone = true;
    for Holder { number: of, target, control, ledger, .. } in holders.iter() {
        // After this a running setup creates no more objects.
        ledger.close();
        for made in ledger.marker().made.iter().rev() {
            let deleted = delete(made, ledger, control, &target.address);
            is_gone &= deleted.is_ok();
            let (Ok(line) | Err(line)) = deleted;
            peers.send(*number, Notice::Undone(format!("redyno: {}{line}", holders.subject(*of))));
        }
    }
    is_gone
}

/// Returns the command that removes keys, as the end of a line about keys that stay on the server. memcached cannot
/// list keys, so `redyno clean` cannot remove keys from memcached.
fn later(them: &str, holders: &Holders) -> String {
    let targets = holders.servers_to_clean();
    if targets.iter().all(|target| target.dialect.lists_keys()) {
        let commands: Vec<_> = targets.iter().map(|target| clean_command(target, target.db)).collect();
        let removes = if commands.len() == 1 { "removes" } else { "together remove" };
        return format!("{} {removes} {them}", commands.join(" and "));
    }
    format!("memcached cannot list {them}; they stay until it evicts them or you send flush_all")
}

/// Returns a line about the result of removing keys.
fn outcome(ended: &Result<CleaningResult, ServerError>, holders: &Holders) -> String {
    match ended {
        Ok(cleaned) if cleaned.complete => cleaned.to_string(),
        Ok(cleaned) => {
            let removed = count_with_noun(cleaned.removed, "key");
            format!("removed {removed}, then was interrupted; {}", later("the others", holders))
        }
        Err(error) => {
            format!("redyno's keys may be left on the server ({error}); {}", later("them", holders))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use crate::{
        demo,
        server::Parameter,
        session::running::{Commission, KeyOwner, Session, tests::commission},
    };

    #[test]
    fn a_start_that_fails_restores_the_parameters_that_it_has_set() {
        let server = demo::start(demo::Options::default()).unwrap();
        let config = [("hz", "20"), ("io-threads", "4")]
            .map(|(name, to)| (Parameter::named(name).unwrap(), to.to_owned()))
            .to_vec();
        let commission = Commission { config, ..commission(&server, KeyOwner::OwnServers) };
        let Err(error) = Session::start(commission, channel().1, 0) else { panic!("it has begun") };
        let error = error.to_string();
        assert!(error.starts_with("io-threads was not set: "), "{error}");
        assert!(error.ends_with("; hz is restored to 10"), "{error}");
    }
}
