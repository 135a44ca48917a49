//! The session's own thread, from the first order to what is undone at its end.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use super::{
    Notice, Order,
    conduct::Running,
    undo::{Undone, undo},
};
use crate::session::FileError;

/// How often records, answers and signals are looked for. Orders wake the thread.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What ended a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedBy {
    /// The time or the number of requests that was asked for, or a peer.
    Itself,
    /// A signal.
    Signal,
    /// The server of a node refuses the load for good, or a worker died, and why; nobody was there to try another.
    Refusal(u16, String),
}

/// What is left of a session.
#[derive(Debug)]
pub struct Ended {
    /// What ended it.
    pub by: EndedBy,
    /// Whether all was recorded that should be.
    pub recorded: Result<(), Arc<FileError>>,
    /// The nodes whose servers are not as they were, but for keys that are to stay; what is not was reported.
    pub left: Vec<u16>,
}

/// Runs to the end and undoes what is to be undone. A panic ends it too, and goes on after that.
pub(super) fn run(mut running: Running) -> Ended {
    let ended = catch_unwind(AssertUnwindSafe(|| attend(&mut running)));
    running.peers.tell(0, Notice::Leave);
    let is_attended = running.commission.is_attended;
    let Undone { refused, recorded, left, is_interrupted } = undo(running);
    let by = match (ended.unwrap_or_else(|panic: Box<dyn Any + Send>| resume_unwind(panic)), refused) {
        (EndedBy::Itself, Some((node, cause))) if !is_attended => EndedBy::Refusal(node, cause),
        (EndedBy::Itself, _) if is_interrupted => EndedBy::Signal,
        (by, _) => by,
    };
    Ended { by, recorded: recorded.map_or(Ok(()), Err), left }
}

fn attend(running: &mut Running) -> EndedBy {
    loop {
        let mut next = running.peers.next_within(LOOK_EVERY);
        let mut is_ended = false;
        while let Some((peer, order)) = next {
            is_ended |= order == Order::End;
            running.carry_out(peer, order);
            next = running.peers.next_within(Duration::ZERO);
        }
        if let Some((node, cause)) = running.look() {
            return EndedBy::Refusal(node, cause);
        }
        // A terminal that goes makes its screen leave, and tells by a signal why.
        if running.signals.try_recv().is_ok() {
            return EndedBy::Signal;
        }
        if is_ended || running.live.is_over() {
            return EndedBy::Itself;
        }
    }
}
