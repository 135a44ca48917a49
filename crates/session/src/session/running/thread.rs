//! The thread of a session, from the first order to the cleanup at the end.

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

/// How often the thread checks for records, replies and signals. Orders wake the thread.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedBy {
    /// The session's time or number of requests was reached, or a peer has ordered the end.
    Itself,
    /// A signal.
    Signal,
    /// The server of a node refuses the load permanently, or a worker died, and no user could change that; the text is
    /// the reason.
    Refusal(u16, String),
}

/// The result of a session.
#[derive(Debug)]
pub struct Ended {
    /// Why the session ended.
    pub by: EndedBy,
    /// `Ok` if the recording is complete, otherwise its error.
    pub recorded: Result<(), Arc<FileError>>,
    /// The nodes on whose servers changes are left, apart from kept keys; the session has reported the details.
    pub left: Vec<u16>,
}

/// Runs the session to its end and cleans up. After a panic it cleans up too, and then panics again.
pub(super) fn run(mut running: Running) -> Ended {
    let ended = catch_unwind(AssertUnwindSafe(|| attend(&mut running)));
    running.peers.send(0, Notice::Leave);
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
        // A terminal that is closed ends its screen and sends a signal; the signal is the reason.
        if running.signals.try_recv().is_ok() {
            return EndedBy::Signal;
        }
        if is_ended || running.live.is_over() {
            return EndedBy::Itself;
        }
    }
}
