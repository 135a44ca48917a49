//! Examines the keys of a server on demand: keys by prefix, the largest keys and the hottest keys.
//!
//! ```text
//!            ┌─ scan:     SCAN, MEMORY USAGE, PTTL, OBJECT FREQ ─┐
//! KeyWay ────┼─ monitor:  MONITOR for a second ──────────────────┼─► KeysSeen, updated until the end
//!            └─ hot_keys: HOTKEYS for five seconds ──────────────┘
//! ```
//! Scans and MONITOR use their own connection, so that the polls do not wait. The results are not recorded.

mod direct_line;
mod hot_keys;
mod line;
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

use self::line::Line;
use super::{Answer, Info, ServerError, link::Wire};
use crate::{endpoint::Target, protocol::Dialect};

pub use self::direct_line::DirectLine;
pub use self::monitor::MOST_COMMANDS_PER_S;
pub use self::seen::{Estimate, HotUnit, KeySeen, KeyState, KeyWay, KeysSeen, PrefixSeen};

/// The time between two publications of intermediate results.
const PUBLISHED_EVERY: Duration = Duration::from_millis(250);

/// The handle of an examination of a server's keys. Dropping the handle ends the examination.
#[derive(Debug)]
pub struct KeyLook {
    pub(super) shared: Arc<Shared>,
    pub(super) answer: Answer<KeyState>,
}

impl KeyLook {
    /// Ends the examination early; its results so far remain.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the results if they have changed. Waits at most `limit` for the end of the examination. The final
    /// results have a state other than [`KeyState::Running`].
    pub fn news(&self, limit: Duration) -> Option<KeysSeen> {
        let state = match self.answer.wait(limit) {
            None => KeyState::Running,
            Some(Ok(state)) => state,
            Some(Err(error)) => KeyState::Failed(error.to_string()),
        };
        let is_new = self.shared.is_new.swap(false, Ordering::Relaxed);
        (is_new || state != KeyState::Running).then(|| KeysSeen { state, ..self.shared.seen.lock().clone() })
    }
}

impl Drop for KeyLook {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The state that a [`KeyLook`] handle shares with its task.
#[derive(Debug)]
pub(super) struct Shared {
    stop: AtomicBool,
    is_new: AtomicBool,
    seen: Mutex<KeysSeen>,
    began: Instant,
}

impl Shared {
    pub(super) fn new(way: KeyWay) -> Self {
        let seen = KeysSeen { way, ..KeysSeen::default() };
        let (stop, is_new) = (AtomicBool::new(false), AtomicBool::new(true));
        Self { stop, is_new, seen: Mutex::new(seen), began: Instant::now() }
    }

    /// Changes the published results.
    fn publish(&self, change: impl FnOnce(&mut KeysSeen)) {
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
/// When the server refuses a command, or the connection is lost.
pub(super) async fn look(
    wire: Wire,
    target: Target,
    way: KeyWay,
    shared: Arc<Shared>,
) -> Result<KeyState, ServerError> {
    if way == KeyWay::HotKeys {
        return hot_keys::look(&wire, &shared).await;
    }
    let (info, keys) = tokio::join!(wire.info(), wire.dbsize());
    let (info, keys) = (info?, keys?);
    shared.publish(|seen| (seen.db, seen.keys) = (target.db, keys));
    let sent = wire.sent.clone();
    let target = Target { dialect: Dialect::Resp2, ..target };
    let open = move || Line::open(&target, sent);
    if way == KeyWay::Scan {
        let has_counters =
            Info::parse(&info).text("maxmemory_policy").is_some_and(|name| name.ends_with("lfu"));
        return apart(move || scan::look(&mut open()?, has_counters, &shared)).await;
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
