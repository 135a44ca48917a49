//! Removes the keys of runs from all servers that store them, even while keys move between the nodes of a cluster.
//!
//! ```text
//! the primaries, their slots ──► remove on each ──► the slots again ──┬─ as before, nothing moves ──► markers
//!      ▲                                                              └─ others: once more
//!      └──────────────────────────────────────────────────────────────────────┘
//! ```

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::holders::{Holder, Holders};
use crate::server::{Answer, Cleaning, CleaningProgress, CleaningResult, Ledger, Marker, ServerError, Slots};

/// The time between two reports of a removal's progress.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The timeout for a server's reply to each command.
const LIMIT: Duration = Duration::from_secs(10);
/// The time limit for repeating the removal while keys move between nodes.
const UNREST: Duration = Duration::from_secs(120);
/// The pause before the next round of the removal while keys move.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of attempts after errors of cluster nodes. Such an error is possible when a node has stopped
/// being a primary.
const ATTEMPTS: u32 = 3;

/// Removes the keys of `runs` from all holders. Calls `look` with the progress five times a second. The removal stops
/// when `look` returns false.
///
/// # Errors
/// Fails if a server does not answer or refuses a command, or if keys move between the nodes for two minutes.
pub fn remove_keys(
    holders: &mut Holders,
    runs: &[Marker],
    look: &mut dyn FnMut(CleaningProgress) -> bool,
) -> Result<CleaningResult, ServerError> {
    let began = Instant::now();
    let (mut removed, mut failures) = (0, 0);
    loop {
        let ended = round(holders, runs, look, &mut removed);
        let (is_complete, is_settled) = match ended {
            Ok(ended) => ended,
            Err(_) if holders.move_keys() && failures + 1 < ATTEMPTS => {
                failures += 1;
                (true, false)
            }
            Err(error) => return Err(error),
        };
        let is_asked_to_stop = !is_settled && !look(progress(&[], removed));
        if is_settled || !is_complete || is_asked_to_stop {
            let complete = is_settled && is_complete;
            return Ok(CleaningResult { removed, took: began.elapsed(), complete });
        }
        if began.elapsed() > UNREST {
            return Err(ServerError::KeysMove);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes the keys from all holders once. Returns two values: whether all keys were scanned, and whether no key can
/// have escaped the scan by moving to another node.
fn round(
    holders: &mut Holders,
    runs: &[Marker],
    look: &mut dyn FnMut(CleaningProgress) -> bool,
    removed: &mut u64,
) -> Result<(bool, bool), ServerError> {
    holders.renew().map_err(ServerError::Unreachable)?;
    let before = slots(holders)?;
    let cleanings: Vec<_> = holders.iter().map(|holder| holder.control.clean(runs.to_vec())).collect();
    let (mut is_complete, mut now_removed) = (true, 0);
    for cleaning in &cleanings {
        let cleaned = loop {
            if let Some(ended) = cleaning.wait(LOOK_EVERY) {
                break ended;
            }
            if !look(progress(&cleanings, *removed)) {
                cleanings.iter().for_each(Cleaning::stop);
            }
        };
        // Keys that were removed before an error count too.
        now_removed += cleaning.progress().removed;
        match cleaned {
            Ok(cleaned) => is_complete &= cleaned.complete,
            Err(error) => {
                look(progress(&cleanings, *removed));
                *removed += now_removed;
                return Err(error);
            }
        }
    }
    *removed += now_removed;
    if !holders.move_keys() || !is_complete {
        return Ok((is_complete, is_complete));
    }
    let is_moving = before.iter().any(|(_, slots)| slots.is_moving());
    // A slot that has just moved to a new primary has no owner for a moment.
    let owned: BTreeSet<u16> = before.iter().flat_map(|(_, slots)| slots.own()).collect();
    let is_whole = owned.len() >= holders.owned_slots();
    Ok((true, is_whole && before == slots(holders)? && (now_removed == 0 || !is_moving)))
}

/// Returns the slots of all holders; empty without a cluster. Nodes that receive migrating keys are added to the
/// holders first.
fn slots(holders: &mut Holders) -> Result<Vec<(u16, Slots)>, ServerError> {
    if !holders.move_keys() {
        return Ok(Vec::new());
    }
    loop {
        let mut slots = all(holders, |holder| holder.control.slots())?;
        slots.sort_by_key(|(number, _)| *number);
        let mut is_new = false;
        for member in slots.iter().flat_map(|(_, slots)| &slots.leaving_for) {
            is_new |= holders.include(member).map_err(ServerError::Unreachable)?;
        }
        if !is_new {
            return Ok(slots);
        }
    }
}

/// Sends a command to all holders, and waits for their replies.
fn all<T>(holders: &Holders, order: impl Fn(&Holder) -> Answer<T>) -> Result<Vec<(u16, T)>, ServerError> {
    let late = || Err(ServerError::Timeout { command: "the last command".to_owned(), after: LIMIT });
    holders.ask(order).wait(LIMIT).unwrap_or_else(late)
}

fn progress(cleanings: &[Cleaning], before: u64) -> CleaningProgress {
    let sum = |sum: CleaningProgress, cleaning: &Cleaning| {
        let one = cleaning.progress();
        CleaningProgress {
            removed: sum.removed + one.removed,
            looked_at: sum.looked_at + one.looked_at,
            total: sum.total.saturating_add(one.total),
        }
    };
    cleanings.iter().fold(CleaningProgress { removed: before, ..CleaningProgress::default() }, sum)
}

/// Removes the markers of runs whose keys are removed. Each holder loses the markers of `ledgers`, and markers of the
/// same runs that have moved to this holder from other nodes. If a ledger still has changes to undo, its marker stays.
///
/// # Errors
/// Fails if a server does not answer or refuses a command, or if markers move between the nodes for two minutes.
pub fn remove_markers(
    holders: &mut Holders,
    ledgers: impl Fn(&Holder) -> Vec<Ledger>,
) -> Result<(), ServerError> {
    let began = Instant::now();
    loop {
        let struck = all(holders, |holder| holder.control.forget_key_names(ledgers(holder)))?;
        let is_done = struck.iter().all(|(_, markers)| *markers == 0);
        if is_done || !holders.move_keys() {
            return Ok(());
        }
        if began.elapsed() > UNREST {
            return Err(ServerError::KeysMove);
        }
        // A marker may have moved to a node that was searched before.
        slots(holders)?;
    }
}
