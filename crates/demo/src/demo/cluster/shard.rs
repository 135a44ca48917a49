//! The data that a primary of the built-in cluster shares with its replicas. This file also moves slots from one shard
//! to another.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::layout::ClusterLayout;
use crate::demo::store::{Database, databases};

/// A move of slots checks this number of keys, and then unlocks both shards for a moment.
const CHECKED_AT_ONCE: usize = 1000;

/// The state that all nodes of a cluster share.
#[derive(Debug)]
pub struct ClusterData {
    layout: RwLock<ClusterLayout>,
    shards: Vec<Shard>,
}

/// A primary and its replicas.
#[derive(Debug)]
struct Shard {
    databases: Mutex<Vec<Database>>,
    /// The number of bytes of all write requests so far.
    offset: AtomicU64,
}

impl ClusterData {
    /// Creates the shards of a layout, without data.
    pub fn new(layout: ClusterLayout) -> Self {
        let shard = |_: &usize| {
            let mut databases = databases();
            databases[0].count_slots();
            Shard { databases: Mutex::new(databases), offset: AtomicU64::new(0) }
        };
        Self { shards: layout.primaries.iter().map(shard).collect(), layout: RwLock::new(layout) }
    }

    /// Returns the layout.
    pub fn layout(&self) -> RwLockReadGuard<'_, ClusterLayout> {
        self.layout.read()
    }

    /// Locks the layout for a change.
    pub fn change(&self) -> RwLockWriteGuard<'_, ClusterLayout> {
        self.layout.write()
    }

    /// Locks the data of a shard.
    pub fn databases(&self, shard: usize) -> MutexGuard<'_, Vec<Database>> {
        self.shards[shard].databases.lock()
    }

    /// Counts the bytes of a write request, and returns the number of bytes of all write requests of the shard so far.
    pub fn replicate(&self, shard: usize, bytes: usize) -> u64 {
        self.shards[shard].offset.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64
    }

    /// Announces that these slots move to another shard. From now on, a request for a key of these slots is
    /// redirected if the old shard does not have the key.
    pub fn begin_move(&self, slots: &[u16], to: usize) {
        self.change().moving.extend(slots.iter().map(|slot| (*slot, to)));
    }

    /// Moves the keys of slots that `begin_move` has announced, a few at a time. Then makes the shard `to`
    /// the owner of these slots.
    pub fn finish_move(&self, slots: &[u16], from: usize, to: usize) {
        let mut cursor = 0;
        loop {
            // The shards are locked in the order of their numbers, so that two moves cannot deadlock.
            let mut locked = [from.min(to), from.max(to)].map(|shard| self.databases(shard));
            let [low, high] = &mut locked;
            let (source, target) = if from < to { (low, high) } else { (high, low) };
            cursor = source[0].move_slots(&mut target[0], slots, (cursor, CHECKED_AT_ONCE));
            if cursor == 0 {
                let mut layout = self.change();
                slots.iter().for_each(|slot| layout.assign(*slot, to));
                return;
            }
        }
    }
}
