//! The thread of a session, from the first order to the cleanup at the end.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use super::{
    Notice, Order,
    conduct::LiveSession,
    undo::{CleanupResult, undo},
};
use crate::{clock::TICK_NS, session::SessionFileError};

/// The time between two checks of the thread for records, replies and signals under load. Orders wake the thread at
/// once.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// The time between two checks without load, in ns. One of four checks is directly after the collector has read a
/// tick's reports.
const IDLE_LOOK_NS: u64 = TICK_NS / 4;
/// The longest time from the end of a tick until the collector has made the records: 15 ms, in ns.
const COLLECTED_NS: u64 = 15_000_000;

/// The reason why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedBy {
    /// The session reached its time or its number of requests, or a peer ordered the end of the session.
    Itself,
    /// A signal ended the session.
    Signal,
    /// The server of a node refuses the load permanently, a worker died, or agents of a fleet were lost until the end.
    /// Only a session without a screen ends for this reason. The fields are the node number and the reason.
    Refusal(u16, String),
}

/// The result of a session.
#[derive(Debug)]
pub struct SessionResult {
    /// The reason why the session ended.
    pub by: EndedBy,
    /// `Ok` if all files are complete. Otherwise the first error of a file.
    pub recorded: Result<(), Arc<SessionFileError>>,
    /// The numbers of the nodes at which redyno could not undo all its changes. Keys that redyno keeps on request do
    /// not count. The session has already reported these changes.
    pub left: Vec<u16>,
}

/// Runs the session to its end and cleans up. After a panic, the function also cleans up, and then panics again.
pub(super) fn run(mut running: LiveSession) -> SessionResult {
    let ended = catch_unwind(AssertUnwindSafe(|| run_until_end(&mut running)));
    running.peers.send(0, Notice::Leave);
    let is_attended = running.commission.is_attended;
    let CleanupResult { refused, recorded, left, is_interrupted } = undo(running);
    let by = match (ended.unwrap_or_else(|panic: Box<dyn Any + Send>| resume_unwind(panic)), refused) {
        (EndedBy::Itself, Some((node, cause))) if !is_attended => EndedBy::Refusal(node, cause),
        (EndedBy::Itself, _) if is_interrupted => EndedBy::Signal,
        (by, _) => by,
    };
    SessionResult { by, recorded: recorded.map_or(Ok(()), Err), left }
}

fn run_until_end(running: &mut LiveSession) -> EndedBy {
    loop {
        let idle = running.clock.until(IDLE_LOOK_NS, COLLECTED_NS);
        let mut next = running.peers.next_within(if running.live.is_loaded() { LOOK_EVERY } else { idle });
        let mut is_ended = false;
        while let Some((peer, order)) = next {
            is_ended |= order == Order::End;
            running.carry_out(peer, order);
            next = running.peers.next_within(Duration::ZERO);
        }
        if let Some((node, cause)) = running.poll() {
            return EndedBy::Refusal(node, cause);
        }
        // Closing a terminal both ends the screen and sends a signal. The signal is checked first, so the
        // signal is reported as the reason.
        if running.signals.try_recv().is_ok() {
            return EndedBy::Signal;
        }
        if is_ended || running.live.is_over() {
            return EndedBy::Itself;
        }
    }
}
