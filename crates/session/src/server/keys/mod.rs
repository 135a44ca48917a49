//! Examines the keys of a server on demand: keys by prefix, the largest keys and the hottest keys.
//!
//! ```text
//!               ┌─ scan:     SCAN, MEMORY USAGE, PTTL, OBJECT FREQ ─┐
//! KeyMethod ────┼─ monitor:  MONITOR for a second ──────────────────┼─► KeyReport, updated until the end
//!               └─ hot_keys: HOTKEYS for five seconds ──────────────┘
//! ```
//! Scans and MONITOR have their own connection, so the polls of the server do not wait for scans or MONITOR. redyno
//! does not record the results.

mod connection;
mod direct_connection;
mod hot_keys;
mod monitor;
mod scan;
mod seen;
mod tally;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use self::connection::KeyConnection;
use super::{Answer, Info, ServerError, link::RedisSender};
use crate::{endpoint::Target, protocol::Dialect};

pub use self::direct_connection::DirectConnection;
pub use self::monitor::MOST_COMMANDS_PER_S;
pub use self::seen::{Estimate, HotUnit, KeyAmount, KeyMethod, KeyReport, KeyState, PrefixEstimate};

/// The time between two publications of intermediate results.
const PUBLISHED_EVERY: Duration = Duration::from_millis(250);

/// The handle of an examination of a server's keys. Dropping the handle ends the examination.
pub struct KeyExamination {
    pub(super) shared: Arc<ExaminationState>,
    pub(super) answer: Answer<KeyState>,
}

impl KeyExamination {
    /// Ends the examination early. The results so far remain.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the results if they have changed. Waits at most `limit` for the end of the examination. The final
    /// results have a state other than [`KeyState::Running`].
    pub fn news(&self, limit: Duration) -> Option<KeyReport> {
        let state = match self.answer.wait(limit) {
            None => KeyState::Running,
            Some(Ok(state)) => state,
            Some(Err(error)) => KeyState::Failed(error.to_string()),
        };
        let is_new = self.shared.is_new.swap(false, Ordering::Relaxed);
        (is_new || state != KeyState::Running).then(|| KeyReport { state, ..self.shared.seen.lock().clone() })
    }
}

impl Drop for KeyExamination {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The state that a [`KeyExamination`] handle shares with its task.
pub(super) struct ExaminationState {
    stop: AtomicBool,
    is_new: AtomicBool,
    seen: Mutex<KeyReport>,
    began: Instant,
}

impl ExaminationState {
    pub(super) fn new(way: KeyMethod) -> Self {
        let seen = KeyReport { way, ..KeyReport::default() };
        let (stop, is_new) = (AtomicBool::new(false), AtomicBool::new(true));
        Self { stop, is_new, seen: Mutex::new(seen), began: Instant::now() }
    }

    /// Changes the published results.
    fn publish(&self, change: impl FnOnce(&mut KeyReport)) {
        let mut seen = self.seen.lock();
        change(&mut seen);
        seen.took_s = self.began.elapsed().as_secs_f64();
        self.is_new.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Examines the keys of the target's database.
///
/// # Errors
/// Fails if the server refuses a command, or the connection is lost.
pub(super) async fn examine(
    wire: RedisSender,
    target: Target,
    way: KeyMethod,
    shared: Arc<ExaminationState>,
) -> Result<KeyState, ServerError> {
    if way == KeyMethod::HotKeys {
        return hot_keys::measure(&wire, &shared).await;
    }
    let (info, keys) = tokio::join!(wire.text(&["INFO"]), wire.count(&["DBSIZE"]));
    let (info, keys) = (info?, keys?);
    shared.publish(|seen| (seen.db, seen.keys) = (target.db, keys));
    let sent = wire.sent.clone();
    let target = Target { dialect: Dialect::Resp2, ..target };
    let open = move || KeyConnection::open(&target, sent);
    if way == KeyMethod::Scan {
        let has_counters =
            Info::parse(&info).text("maxmemory_policy").is_some_and(|name| name.ends_with("lfu"));
        return apart(move || scan::scan_keys(&mut open()?, has_counters, &shared)).await;
    }
    monitor::check(&Info::parse(&info))?;
    let line = apart(open).await?;
    let ((), before) = monitor::busy(&wire, &shared, async {}).await?;
    if shared.is_stopped() {
        return Ok(KeyState::Stopped);
    }
    let (lines, during) = monitor::busy(&wire, &shared, apart(|| monitor::sample(line))).await?;
    lines?.publish(&shared);
    shared.publish(|seen| seen.cpu = before.zip(during));
    Ok(KeyState::Complete)
}

/// Runs blocking `work` on another thread.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServerError> + Send + 'static,
) -> Result<T, ServerError> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(ServerError::Unfit(error.to_string())))
}
