//! The end of a session, whatever brought it about: last replies, last records, parameters set back, setups undone, keys
//! removed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{
    Notice,
    conduct::Running,
    gate::Gate,
    peer::Peers,
    set_back::{LIMIT, delete},
};
use crate::{
    endpoint::{Address, Target},
    server::{Control, Ledger, clean_command},
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
pub(super) struct Undone {
    /// Why the load had ended before its end, if the last records say so.
    pub(super) refused: Option<String>,
    /// Whether the recording could be written to its end.
    pub(super) recorded: Result<(), Arc<FileError>>,
    /// Whether the server is as it was, but for keys that are to stay.
    pub(super) is_whole: bool,
    /// Whether a signal cut it short.
    pub(super) is_interrupted: bool,
}

/// What became of the keys.
enum Keys {
    /// They are gone, or to stay, or there were none.
    Settled,
    /// Some may be left.
    Left,
    /// A signal cut their removal short.
    Interrupted,
}

/// Ends everything that measures, hands the last records to the peers, sets the server's parameters back, undoes what setups
/// made, and removes the keys, unless an interrupt or a `kill` among the signals says that there is no time; what happens to
/// them is told. No peer is waited for.
pub(super) fn undo(running: Running) -> Undone {
    let Running {
        mut live,
        control,
        gate,
        mut refusals,
        records,
        recordings,
        tuning,
        commission,
        mut peers,
        signals,
        ..
    } = running;
    live.end_load();
    // A server that does not answer in time has nothing in the records of its last second.
    let _ = control.poll().wait(LAST_POLL_LIMIT);
    let broken = catch_unwind(AssertUnwindSafe(|| live.finish())).err();
    let mut refused = None;
    for record in records.rest() {
        refused = refused.or(refusals.push(&record));
        peers.record(&record);
    }
    let target = &commission.plan.target;
    let tell = |told| peers.tell(Notice::Undone(format!("redyno: {told}")));
    let is_set_back = tuning.restore(&control, &target.address, tell);
    let is_deleted = undo_setup(&gate, &control, &target.address, &mut peers);
    let keys = remove_keys(&gate, &control, &signals, (&mut peers, target));
    let recorded = recordings.finish();
    let is_whole = is_set_back && is_deleted && matches!(keys, Keys::Settled);
    let is_interrupted = matches!(keys, Keys::Interrupted);
    // A part that broke keeps nothing from being undone.
    broken.map_or(Undone { refused, recorded, is_whole, is_interrupted }, |panic| resume_unwind(panic))
}

/// Undoes what was begun for a session that could not start.
pub(super) fn undo_beginning(
    gate: &Gate,
    control: &Control,
    signals: &Receiver<Signal>,
    (peers, target): (&mut Peers, &Target),
) {
    undo_setup(gate, control, &target.address, peers);
    // It has failed whatever becomes of them, and that is told.
    remove_keys(gate, control, signals, (peers, target));
}

/// Undoes what setups made, the last first, and tells of each. Whether all of it is gone.
fn undo_setup(gate: &Gate, control: &Control, address: &Address, peers: &mut Peers) -> bool {
    gate.await_setup(LIMIT);
    // A setup that goes on makes nothing more.
    gate.ledger().close();
    let mut is_gone = true;
    for made in gate.ledger().marker().made.iter().rev() {
        let deleted = delete(made, gate.ledger(), control, address);
        is_gone &= deleted.is_ok();
        let (Ok(told) | Err(told)) = deleted;
        peers.tell(Notice::Undone(format!("redyno: {told}")));
    }
    is_gone
}

/// Removes the keys of the run, if there may be any, or tells how to use those that are to stay. The load is off.
fn remove_keys(
    gate: &Gate,
    control: &Control,
    signals: &Receiver<Signal>,
    (peers, target): (&mut Peers, &Target),
) -> Keys {
    let Some(kept) = gate.leaves_keys() else { return Keys::Settled };
    let (told, keys) = if kept {
        let prefix = gate.names().prefix();
        let told = format!(
            "the keys stay under {prefix}; --key-prefix {prefix} uses them again, {}",
            later("them", target)
        );
        (told, Keys::Settled)
    } else {
        clean(gate.ledger(), control, signals, (peers, target))
    };
    peers.tell(Notice::Undone(told));
    keys
}

/// What becomes of keys that are left. A memcached lists none, so that nothing finds them again.
fn later(them: &str, target: &Target) -> String {
    if target.dialect.lists_keys() {
        return format!("{} removes {them}", clean_command(target, target.db));
    }
    format!("nothing finds {them} again on a memcached: it evicts them, or flush_all does")
}

/// Removes the keys; what became of that.
fn clean(
    ledger: &Ledger,
    control: &Control,
    signals: &Receiver<Signal>,
    (peers, target): (&mut Peers, &Target),
) -> (String, Keys) {
    let cleaning = control.clean(vec![ledger.clone()]);
    let ended = loop {
        if let Some(ended) = cleaning.wait(LOOK_EVERY) {
            break ended;
        }
        // A terminal that goes says so more than once: that is no haste.
        if signals.try_iter().any(|signal| matches!(signal, Signal::Interrupt | Signal::Terminate)) {
            cleaning.stop();
        }
        peers.tell(Notice::Cleaning(cleaning.progress()));
    };
    match ended {
        Ok(cleaned) if cleaned.complete => (cleaned.to_string(), Keys::Settled),
        Ok(cleaned) => {
            let removed = counted(cleaned.removed, "key");
            let told = format!("removed {removed}, then was interrupted; {}", later("the others", target));
            (told, Keys::Interrupted)
        }
        Err(error) => {
            let told =
                format!("redyno's keys may be left on the server ({error}); {}", later("them", target));
            (told, Keys::Left)
        }
    }
}
