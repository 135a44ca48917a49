//! The end of a session, whatever brought it about: last replies, last records, parameters set back, setups undone, keys
//! removed, at all of its nodes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{
    Notice,
    conduct::Running,
    node::Node,
    peer::Peers,
    set_back::{LIMIT, delete},
};
use crate::{
    endpoint::Target,
    server::{Cleaned, ServerError, clean_command},
    session::FileError,
    signals::Signal,
    units::counted,
};

/// How often a removal that takes its time is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long the server may take to tell what happened since it was last asked: one that hangs keeps nobody beyond the time
/// that was asked for.
const LAST_POLL_LIMIT: Duration = Duration::from_millis(200);

/// What became of all that a session had to end.
#[derive(Default)]
pub(super) struct Undone {
    /// At which node the load had ended before its end, and why, if the last records say so.
    pub(super) refused: Option<(u16, String)>,
    /// Whether the recording could be written to its end.
    pub(super) recorded: Option<Arc<FileError>>,
    /// The nodes whose servers are not as they were, but for keys that are to stay.
    pub(super) left: Vec<u16>,
    /// Whether a signal cut it short.
    pub(super) is_interrupted: bool,
}

/// Ends everything that measures, hands the last records to the peers, sets the servers' parameters back, undoes what setups
/// made, and removes the keys, unless an interrupt or a `kill` among the signals says that there is no time; what happens to
/// them is told. No peer is waited for.
pub(super) fn undo(running: Running) -> Undone {
    let Running { mut live, mut nodes, records, recordings, mut peers, signals, .. } = running;
    live.end_load();
    // A server that does not answer in time has nothing in the records of its last second.
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
    let mut left = Vec::new();
    for node in &mut nodes {
        let tell = |told| peers.tell(node.number, Notice::Undone(format!("redyno: {told}")));
        if !node.tuning.restore(&node.control, &node.target.address, tell) {
            left.push(node.number);
        }
    }
    let undone = undo_writes(&nodes, &signals, &mut peers);
    left.extend(undone.left);
    left.sort_unstable();
    let undone = Undone { refused, recorded: recordings.finish().err(), left, ..undone };
    // A part that broke keeps nothing from being undone.
    broken.map_or(undone, |panic| resume_unwind(panic))
}

/// Undoes what setups made, and removes the keys of the run, if there may be any, or tells how to use those that are to stay.
/// The load is off.
pub(super) fn undo_writes(nodes: &[Node], signals: &Receiver<Signal>, peers: &mut Peers) -> Undone {
    let mut undone = Undone::default();
    undone.left.extend(nodes.iter().filter(|node| !undo_setup(node, peers)).map(|node| node.number));
    let is_cleaned = |node: &&Node| node.gate.leaves_keys() == Some(false);
    let clean = |node: &Node| node.control.clean(vec![node.gate.ledger().clone()]);
    let cleanings: Vec<_> = nodes.iter().filter(is_cleaned).map(|node| (node, clean(node))).collect();
    for (node, cleaning) in &cleanings {
        let ended = loop {
            if let Some(ended) = cleaning.wait(LOOK_EVERY) {
                break ended;
            }
            // A terminal that goes says so more than once: that is no haste.
            if signals.try_iter().any(|signal| matches!(signal, Signal::Interrupt | Signal::Terminate)) {
                cleanings.iter().for_each(|(_, cleaning)| cleaning.stop());
            }
            peers.tell(node.number, Notice::Cleaning(cleaning.progress()));
        };
        undone.is_interrupted |= ended.as_ref().is_ok_and(|cleaned| !cleaned.complete);
        if !ended.as_ref().is_ok_and(|cleaned| cleaned.complete) {
            undone.left.push(node.number);
        }
        peers.tell(node.number, Notice::Undone(told(&ended, &node.target)));
    }
    for node in nodes.iter().filter(|node| node.gate.leaves_keys() == Some(true)) {
        let prefix = node.gate.names().prefix();
        let later = later("them", &node.target);
        let told = format!("the keys stay under {prefix}; --key-prefix {prefix} uses them again, {later}");
        peers.tell(node.number, Notice::Undone(told));
    }
    undone
}

/// Undoes what setups made, the last first, and tells of each. Whether all of it is gone.
fn undo_setup(node: &Node, peers: &mut Peers) -> bool {
    let Node { number, target, control, gate, .. } = node;
    gate.await_setup(LIMIT);
    // A setup that goes on makes nothing more.
    gate.ledger().close();
    let mut is_gone = true;
    for made in gate.ledger().marker().made.iter().rev() {
        let deleted = delete(made, gate.ledger(), control, &target.address);
        is_gone &= deleted.is_ok();
        let (Ok(told) | Err(told)) = deleted;
        peers.tell(*number, Notice::Undone(format!("redyno: {told}")));
    }
    is_gone
}

/// What becomes of keys that are left. A memcached lists none, so that nothing finds them again.
fn later(them: &str, target: &Target) -> String {
    if target.dialect.lists_keys() {
        return format!("{} removes {them}", clean_command(target, target.db));
    }
    format!("nothing finds {them} again on a memcached: it evicts them, or flush_all does")
}

/// What became of a removal of keys.
fn told(ended: &Result<Cleaned, ServerError>, target: &Target) -> String {
    match ended {
        Ok(cleaned) if cleaned.complete => cleaned.to_string(),
        Ok(cleaned) => {
            let removed = counted(cleaned.removed, "key");
            format!("removed {removed}, then was interrupted; {}", later("the others", target))
        }
        Err(error) => {
            format!("redyno's keys may be left on the server ({error}); {}", later("them", target))
        }
    }
}
