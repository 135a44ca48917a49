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
    protocol::Dialect,
    server::{Control, Ledger},
    session::FileError,
    signals::Signal,
    target::Address,
    units::counted,
};

/// How often a removal that takes its time is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long the server may take to tell what happened since it was last asked.
const LAST_POLL_LIMIT: Duration = Duration::from_secs(1);

/// Ends everything that measures, hands the last records to the peers, sets the server's parameters back, undoes what setups
/// made, and removes the keys, unless an interrupt or a `kill` among the signals says that there is no time; what happens to
/// them is told. No peer is waited for. Why the load had ended before its end, if the last records say so, and whether the
/// recording could be written to its end.
pub(super) fn undo(running: Running) -> (Option<String>, Result<(), Arc<FileError>>) {
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
    let address = &commission.plan.target.address;
    tuning.restore(&control, address, |told| peers.tell(Notice::Undone(format!("redyno: {told}"))));
    undo_setup(&gate, &control, address, &mut peers);
    remove_keys(&gate, &control, &signals, (&mut peers, commission.plan.target.dialect));
    let recorded = recordings.finish();
    // A part that broke keeps nothing from being undone.
    broken.map_or((refused, recorded), |panic| resume_unwind(panic))
}

/// Undoes what setups made, the last first, and tells of each.
pub(super) fn undo_setup(gate: &Gate, control: &Control, address: &Address, peers: &mut Peers) {
    gate.await_setup(LIMIT);
    // A setup that goes on makes nothing more.
    gate.ledger().close();
    for made in gate.ledger().marker().made.iter().rev() {
        let (Ok(told) | Err(told)) = delete(made, gate.ledger(), control, address);
        peers.tell(Notice::Undone(format!("redyno: {told}")));
    }
}

/// Removes the keys of the run, if there may be any, or tells how to use those that are to stay. The load is off.
pub(super) fn remove_keys(
    gate: &Gate,
    control: &Control,
    signals: &Receiver<Signal>,
    (peers, dialect): (&mut Peers, Dialect),
) {
    let Some(kept) = gate.leaves_keys() else { return };
    let told = if kept {
        let prefix = gate.names().prefix();
        format!(
            "the keys stay under {prefix}; --key-prefix {prefix} uses them again, {}",
            later("them", dialect)
        )
    } else {
        clean(gate.ledger(), control, signals, (peers, dialect))
    };
    peers.tell(Notice::Undone(told));
}

/// What becomes of keys that are left. A memcached lists none, so that nothing finds them again.
fn later(them: &str, dialect: Dialect) -> String {
    if dialect.is_resp() {
        return format!("`redyno clean` removes {them}");
    }
    format!("nothing finds {them} again on a memcached: it evicts them, or flush_all does")
}

/// Removes the keys; what became of that.
fn clean(
    ledger: &Ledger,
    control: &Control,
    signals: &Receiver<Signal>,
    (peers, dialect): (&mut Peers, Dialect),
) -> String {
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
        Ok(cleaned) if cleaned.complete => cleaned.to_string(),
        Ok(cleaned) => {
            let removed = counted(cleaned.removed, "key");
            format!("removed {removed}, then was interrupted; {}", later("the others", dialect))
        }
        Err(error) => {
            format!("redyno's keys may be left on the server ({error}); {}", later("them", dialect))
        }
    }
}
