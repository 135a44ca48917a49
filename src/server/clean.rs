//! Removes redyno's keys: SCAN over the common prefix, UNLINK in small chunks, the marker last, unless
//! it holds parameters that are still to be set back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{Answer, MARKER_KEY, ServerError, link::Wire, marker};
use crate::workload::KEY_PREFIX;

/// Keys that the server looks at in one step.
const SCAN_COUNT: u32 = 1000;
/// Keys removed by one command.
const CHUNK: usize = 500;

/// A removal under way. It goes on when this is dropped; [`stop`](Self::stop) ends it early.
#[derive(Debug)]
pub struct Cleaning {
    pub(super) shared: Arc<Shared>,
    pub(super) answer: Answer<Cleaned>,
}

/// How far a removal is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Keys removed.
    pub removed: u64,
    /// Keys looked at, about: a server looks at some more or fewer in a step than it was asked to.
    pub scanned: u64,
    /// Keys in the database when it began.
    pub total: u64,
}

/// How a removal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaned {
    /// Keys removed, without the marker.
    pub removed: u64,
    /// Whether a marker was there and is removed.
    pub marker: bool,
    /// Whether the whole database was gone through. If not, it was stopped, and how many keys are left is not known;
    /// the marker stays, so that they are found again.
    pub complete: bool,
}

/// What the handle and the removal share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    stop: AtomicBool,
    removed: AtomicU64,
    scanned: AtomicU64,
    total: AtomicU64,
}

impl Cleaning {
    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            removed: self.shared.removed.load(Ordering::Relaxed),
            scanned: self.shared.scanned.load(Ordering::Relaxed),
            total: self.shared.total.load(Ordering::Relaxed),
        }
    }

    /// Ends it after the step that it is in.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// How it ended, once, if that is within `limit`. `None` is not yet. After an error, [`progress`](Self::progress)
    /// tells what was removed before it.
    pub fn wait(&self, limit: Duration) -> Option<Result<Cleaned, ServerError>> {
        self.answer.wait(limit)
    }
}

/// Goes through the database once. Keys that somebody writes under the prefix meanwhile may stay: the load has to be
/// off.
pub(super) async fn clean(wire: &Wire, shared: &Shared) -> Result<Cleaned, ServerError> {
    shared.total.store(wire.count(&["DBSIZE"]).await?, Ordering::Relaxed);
    let pattern = format!("{KEY_PREFIX}*");
    let mut remover = Remover::new(wire);
    let mut cursor = "0".to_owned();
    loop {
        if shared.stop.load(Ordering::Relaxed) {
            let removed = shared.removed.load(Ordering::Relaxed);
            return Ok(Cleaned { removed, marker: false, complete: false });
        }
        let (next, mut keys) = wire.scan(&cursor, &pattern, SCAN_COUNT).await?;
        keys.retain(|key| key != MARKER_KEY.as_bytes());
        for chunk in keys.chunks(CHUNK) {
            shared.removed.fetch_add(remover.remove(chunk).await?, Ordering::Relaxed);
            // Each chunk is a round trip; between two, the runtime's other work goes first.
            tokio::task::yield_now().await;
        }
        shared.scanned.fetch_add(SCAN_COUNT.into(), Ordering::Relaxed);
        if next == "0" {
            break;
        }
        cursor = next;
    }
    let marker = marker::forget_keys(wire).await?;
    Ok(Cleaned { removed: shared.removed.load(Ordering::Relaxed), marker, complete: true })
}

/// Removes by UNLINK, and by DEL once the server turns out not to know it (before Redis 4).
pub(super) struct Remover<'a> {
    wire: &'a Wire,
    command: &'static str,
}

impl<'a> Remover<'a> {
    pub(super) fn new(wire: &'a Wire) -> Self {
        Self { wire, command: "UNLINK" }
    }

    pub(super) async fn remove(&mut self, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
        match self.wire.remove(self.command, keys).await {
            Err(error) if self.command == "UNLINK" && error.is_refusal("ERR unknown command") => {
                self.command = "DEL";
                self.wire.remove(self.command, keys).await
            }
            removed => removed,
        }
    }
}
