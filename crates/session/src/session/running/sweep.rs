//! Removes the keys of runs from all servers that store them, also while keys move between the nodes of a cluster.
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
use crate::server::{Answer, Cleaned, Cleaning, Ledger, Marker, Progress, ServerError, Slots};

/// How often the progress of a removal is reported.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a server may take to answer each question.
const LIMIT: Duration = Duration::from_secs(10);
/// How long keys may move between nodes before the removal ends without having seen them at rest.
const UNREST: Duration = Duration::from_secs(120);
/// The pause before the nodes of a cluster are looked at again while keys move.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a removal begins again after an error of a node of a cluster, which may be no primary any more.
const ATTEMPTS: u32 = 3;

/// Removes the keys of `runs` from all holders. Reports the progress to `look`, five times a second; the removal stops
/// when `look` returns false.
///
/// # Errors
/// When a server does not answer or refuses a command.
pub fn sweep(
    holders: &mut Holders,
    runs: &[Marker],
    look: &mut dyn FnMut(Progress) -> bool,
) -> Result<Cleaned, ServerError> {
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
        let is_over = began.elapsed() > UNREST;
        if is_settled || !is_complete || is_over {
            return Ok(Cleaned { removed, took: began.elapsed(), complete: is_complete && is_settled });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes the keys from all holders once. Returns whether all keys were looked at, and whether none can have moved
/// meanwhile from a node that was not looked at to one that was.
fn round(
    holders: &mut Holders,
    runs: &[Marker],
    look: &mut dyn FnMut(Progress) -> bool,
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
        // What was removed before an error counts too.
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
    // A slot that has just moved to a new primary is nobody's for a moment.
    let owned: BTreeSet<u16> = before.iter().flat_map(|(_, slots)| slots.own()).collect();
    let is_whole = owned.len() >= holders.owned_slots();
    Ok((true, is_whole && before == slots(holders)? && (now_removed == 0 || !is_moving)))
}

/// Returns the slots of all holders, with those to which keys move at present; none without a cluster.
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

/// Waits for the answers of all holders.
fn all<T>(holders: &Holders, order: impl Fn(&Holder) -> Answer<T>) -> Result<Vec<(u16, T)>, ServerError> {
    let late = || Err(ServerError::Timeout { command: "the last question".to_owned(), after: LIMIT });
    holders.ask(order).wait(LIMIT).unwrap_or_else(late)
}

fn progress(cleanings: &[Cleaning], before: u64) -> Progress {
    let sum = |sum: Progress, cleaning: &Cleaning| {
        let one = cleaning.progress();
        Progress {
            removed: sum.removed + one.removed,
            looked_at: sum.looked_at + one.looked_at,
            total: sum.total.saturating_add(one.total),
        }
    };
    cleanings.iter().fold(Progress { removed: before, ..Progress::default() }, sum)
}

/// Removes the markers of runs whose keys are removed: of each holder those in `ledgers`, and those of the same runs
/// that have moved there from other nodes. Ledgers that have more to undo keep their marker.
///
/// # Errors
/// When a server does not answer or refuses a command.
pub fn strike(holders: &mut Holders, ledgers: impl Fn(&Holder) -> Vec<Ledger>) -> Result<(), ServerError> {
    let began = Instant::now();
    loop {
        let struck = all(holders, |holder| holder.control.strike(ledgers(holder)))?;
        let is_done = struck.iter().all(|(_, markers)| *markers == 0);
        if is_done || !holders.move_keys() || began.elapsed() > UNREST {
            return Ok(());
        }
        // A marker may have moved to a node that was asked before.
        slots(holders)?;
    }
}
