//! Removes the keys of runs from a server in small chunks, with a pause after each chunk. redyno finds the keys by
//! their numbered names or with SCAN. redyno chooses the method that needs fewer commands.
//!
//! ```text
//! names:  UNLINK redyno:RUN:000000000000 … 499 ─► pause ─► UNLINK … 500 … 999 ─► …
//! SCAN:   SCAN 1000 ─► UNLINK the keys of the runs ─► pause ─► SCAN 1000 ─► ……
//! ```
//! Each pause takes as long as the server's work on the chunk before it. Other clients therefore get at least half of
//! the server's time.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    iter::Sum,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::{Answer, Marker, ServerError};
use crate::{
    units::{self, count_with_noun},
    workload::{KeyNames, KeySpan, OwnKey, RunId},
};

/// The number of keys that one SCAN command visits.
pub(super) const SCAN_COUNT: u64 = 1000;
/// The largest number of keys in one command.
pub(super) const CHUNK: usize = 500;

/// A removal of keys in progress. The removal continues when this handle is dropped. [`stop`](Self::stop) ends the
/// removal early.
#[derive(Debug)]
pub struct Cleaning {
    pub(super) shared: Arc<CleaningState>,
    pub(super) answer: Answer<CleaningResult>,
}

/// The progress of a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleaningProgress {
    /// The number of removed keys.
    pub removed: u64,
    /// The approximate number of key names or keys that were checked so far. A SCAN command may visit more or
    /// fewer keys than requested.
    pub looked_at: u64,
    /// The number of key names or keys to check.
    pub total: u64,
}

/// The result of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleaningResult {
    /// The number of removed keys. Markers (keys that list what a run has to undo) are not counted.
    pub removed: u64,
    /// The duration of the removal.
    pub took: Duration,
    /// Whether all keys were checked. `false` means that the removal was stopped, and that an unknown number of keys
    /// remains. The markers then remain too, so that a later removal finds the keys.
    pub complete: bool,
}

impl fmt::Display for CleaningResult {
    /// Writes `removed 19 952 keys in 42.0 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = u64::try_from(self.took.as_nanos()).unwrap_or(u64::MAX);
        write!(f, "removed {} in {}", count_with_noun(self.removed, "key"), units::latency(took))
    }
}

/// The state that a [`Cleaning`] handle shares with the removal task.
#[derive(Debug, Default)]
pub(super) struct CleaningState {
    stop: AtomicBool,
    progress: Mutex<CleaningProgress>,
}

impl Cleaning {
    /// Returns the progress of the removal.
    pub fn progress(&self) -> CleaningProgress {
        *self.shared.progress.lock()
    }

    /// Ends the removal after its current step.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the result if the removal ends within `limit`, otherwise `None`. The result is returned only once. After
    /// an error, [`progress`](Self::progress) returns the number of keys that were removed before the error.
    pub fn wait(&self, limit: Duration) -> Option<Result<CleaningResult, ServerError>> {
        self.answer.wait(limit)
    }
}

/// Removes the keys of the runs of all `markers`. The load must be off. Keys that are written during the removal may
/// remain.
pub(super) async fn clean(
    store: impl Store,
    mut markers: Vec<Marker>,
    shared: &CleaningState,
) -> Result<CleaningResult, ServerError> {
    let began = Instant::now();
    markers.retain(Marker::has_keys);
    let complete = Removal { store, shared }.run(&markers).await?;
    let removed = shared.progress.lock().removed;
    Ok(CleaningResult { removed, took: began.elapsed(), complete })
}

/// The commands that list, count and remove the keys of a server.
pub(super) trait Store: Sync {
    /// Returns the number of keys on the server.
    fn size(&self) -> impl Future<Output = Result<u64, ServerError>> + Send;
    /// Sends one SCAN from `cursor`. Returns the next cursor (`"0"` at the end) and the keys that may belong
    /// to a run.
    fn scan(&self, cursor: &str) -> impl Future<Output = Result<(String, Vec<Vec<u8>>), ServerError>> + Send;
    /// Returns whether the server, or this node of a cluster, can store the key.
    fn holds(&self, _key: &[u8]) -> bool {
        true
    }
    /// Returns the number of `keys` that exist. Keys that may be on another node do not count as checked.
    fn count_existing(
        &self,
        keys: &[Vec<u8>],
    ) -> impl Future<Output = Result<CountResult, ServerError>> + Send;
    /// Removes the `keys`. Returns the number of keys that existed.
    fn remove(&self, keys: &[Vec<u8>]) -> impl Future<Output = Result<u64, ServerError>> + Send;
}

/// The result of a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountResult {
    /// The number of checked keys.
    pub looked_for: u64,
    /// The number of checked keys that exist.
    pub there: u64,
}

impl Sum for CountResult {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            looked_for: sum.looked_for + one.looked_for,
            there: sum.there + one.there,
        })
    }
}

/// A removal of keys from a server.
struct Removal<'a, S> {
    store: S,
    shared: &'a CleaningState,
}

impl<S: Store> Removal<'_, S> {
    /// Runs the removal. Returns whether the removal was completed.
    async fn run(&self, markers: &[Marker]) -> Result<bool, ServerError> {
        if markers.is_empty() {
            return Ok(true);
        }
        let size = self.store.size().await?;
        match by_name(markers, size) {
            Some(names) => {
                self.shared.progress.lock().total = names;
                self.names(markers).await
            }
            None => {
                self.shared.progress.lock().total = size;
                self.scan(&markers.iter().map(|marker| (marker.run, marker)).collect()).await
            }
        }
    }

    async fn names(&self, markers: &[Marker]) -> Result<bool, ServerError> {
        let of_run = |marker: &Marker| {
            let span = marker.span.clone().unwrap_or_default();
            span.names(&KeyNames::of_run(marker.run))
        };
        let mut names = markers.iter().flat_map(of_run);
        loop {
            let chunk: Vec<_> = names.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return Ok(true);
            }
            if self.is_stopped() {
                return Ok(false);
            }
            let asked = Instant::now();
            self.remove(&chunk).await?;
            self.rest(asked, chunk.len() as u64).await;
        }
    }

    async fn scan(&self, runs: &HashMap<RunId, &Marker>) -> Result<bool, ServerError> {
        let mut cursor = "0".to_owned();
        loop {
            if self.is_stopped() {
                return Ok(false);
            }
            let asked = Instant::now();
            let (next, mut keys) = self.store.scan(&cursor).await?;
            let is_own = |key: OwnKey| runs.get(&key.run).is_some_and(|marker| marker.owns(&key));
            keys.retain(|key| OwnKey::read(key).is_some_and(is_own));
            for chunk in keys.chunks(CHUNK) {
                self.remove(chunk).await?;
            }
            if next == "0" {
                return Ok(true);
            }
            cursor = next;
            self.rest(asked, SCAN_COUNT).await;
        }
    }

    async fn remove(&self, keys: &[Vec<u8>]) -> Result<(), ServerError> {
        let removed = self.store.remove(keys).await?;
        self.shared.progress.lock().removed += removed;
        Ok(())
    }

    /// Pauses for as long as the last step took.
    async fn rest(&self, asked: Instant, looked_at: u64) {
        self.shared.progress.lock().looked_at += looked_at;
        sleep(asked.elapsed()).await;
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }
}

/// Returns the number of names to check. Returns `None` if some names are unknown, or if a SCAN of `size` keys needs
/// fewer commands. If a run left its keys on purpose (`kept`), some names are unknown, because other clients may have
/// written more keys.
fn by_name(markers: &[Marker], size: u64) -> Option<u64> {
    let known = |marker: &Marker| marker.span.as_ref().filter(|_| !marker.kept).and_then(KeySpan::total);
    // A marker may contain any numbers: if their sum exceeds 64 bits, the keys are not checked by name.
    let names = markers.iter().try_fold(0_u64, |names, marker| names.checked_add(known(marker)?));
    names.filter(|names| names.div_ceil(CHUNK as u64) <= size.div_ceil(SCAN_COUNT).max(1))
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        sync::{Mutex, atomic::AtomicU64},
    };

    use super::*;
    use crate::server::Owner;

    /// A simulated store. Each command takes 3 ms on tokio's clock, which the tests advance.
    struct Slow {
        keys: Mutex<HashSet<Vec<u8>>>,
        size: u64,
        commands: AtomicU64,
    }

    const STEP: Duration = Duration::from_millis(3);

    impl Slow {
        fn new(keys: impl IntoIterator<Item = Vec<u8>>, size: u64) -> Self {
            Self { keys: Mutex::new(keys.into_iter().collect()), size, commands: AtomicU64::new(0) }
        }

        async fn work(&self) {
            sleep(STEP).await;
            self.commands.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Store for &Slow {
        async fn size(&self) -> Result<u64, ServerError> {
            Ok(self.size)
        }

        async fn scan(&self, cursor: &str) -> Result<(String, Vec<Vec<u8>>), ServerError> {
            self.work().await;
            let step: u64 = cursor.parse().unwrap();
            let last = (step + 1) * SCAN_COUNT >= self.size;
            let found = if last { self.keys.lock().unwrap().iter().cloned().collect() } else { Vec::new() };
            Ok((if last { 0 } else { step + 1 }.to_string(), found))
        }

        async fn count_existing(&self, keys: &[Vec<u8>]) -> Result<CountResult, ServerError> {
            Ok(CountResult { looked_for: keys.len() as u64, there: keys.len() as u64 })
        }

        async fn remove(&self, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
            self.work().await;
            let mut own = self.keys.lock().unwrap();
            Ok(keys.iter().filter(|key| own.remove(*key)).count() as u64)
        }
    }

    fn marker(values: u64) -> Marker {
        let span = Some(KeySpan::from_iter([(String::new(), 0..values)]));
        Marker { span, ..Marker::new(RunId::random(), Owner::default()) }
    }

    fn names(marker: &Marker) -> impl Iterator<Item = Vec<u8>> {
        marker.span.clone().unwrap().names(&KeyNames::of_run(marker.run))
    }

    /// Returns the removed keys, the number of commands, and the duration of the removal.
    fn removed(store: &Slow, markers: &[Marker]) -> (u64, u64, Duration) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (began, shared) = (Instant::now(), CleaningState::default());
            assert!(Removal { store, shared: &shared }.run(markers).await.unwrap());
            let removed = shared.progress.lock().removed;
            (removed, store.commands.load(Ordering::Relaxed), began.elapsed())
        })
    }

    #[test]
    fn few_names_on_a_large_server_are_removed_by_name_with_pauses_as_long_as_the_work() {
        let run = marker(1200);
        let store = Slow::new(names(&run), 3_000_000);
        let (removed, commands, took) = removed(&store, &[run]);
        assert_eq!((removed, commands), (1200, 3));
        assert_eq!(took, 6 * STEP);
    }

    #[test]
    fn many_names_on_a_small_server_are_found_by_one_scan_for_all_runs() {
        let (first, second) = (marker(1_000_000_000), marker(10));
        let own: Vec<_> = names(&first).take(20).chain(names(&second)).collect();
        let others = [b"redyno:foo".to_vec(), names(&marker(1)).next().unwrap()];
        let store = Slow::new(own.into_iter().chain(others.clone()), 2500);
        let (removed, commands, took) = removed(&store, &[first, second]);
        assert_eq!((removed, commands), (30, 4));
        assert_eq!(took, 6 * STEP, "4 commands, and a pause after two of the three steps");
        assert_eq!(*store.keys.lock().unwrap(), others.into());
    }

    #[test]
    fn keys_whose_names_are_not_all_known_are_found_by_scan() {
        assert_eq!(by_name(&[marker(1200)], 3_000_000), Some(1200));
        assert_eq!(by_name(&[marker(1200), Marker { span: None, ..marker(1) }], 3_000_000), None);
        assert_eq!(by_name(&[Marker { kept: true, ..marker(1200) }], 3_000_000), None);
        assert_eq!(by_name(&[marker(100)], 0), Some(100));
        let vast =
            || Marker { span: Some([(String::new(), 0..u64::MAX)].into_iter().collect()), ..marker(1) };
        assert_eq!(by_name(&[vast(), marker(2)], u64::MAX), None, "their sum exceeds 64 bits");
    }
}
