//! What a worker counts about itself in a stretch: whether the load generator is the limit is read from this.

use crate::{host::Lap, stats::Recorder};

/// One worker's own cost over one stretch of time.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// Time on a core, in ns.
    pub cpu_ns: u64,
    /// Time in which it waited for a core, in ns; `None` where the system does not tell.
    pub run_delay_ns: Option<u64>,
    /// For each connection that a wake-up found readable: from the poll's return until the last connection of that
    /// wake-up was read. No reply of the wake-up waited longer in our hands.
    pub read_wait: Recorder,
    /// For each batch that had a due time: how late we wrote it, counted from when it was due and a client was free.
    pub late: Recorder,
}

impl ClientCounts {
    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.cpu_ns = 0;
        self.run_delay_ns = None;
        self.read_wait.reset();
        self.late.reset();
    }

    /// Counts a wake-up that found `connections` readable, and had read the last of them after `ns`.
    #[inline]
    pub fn read_after(&mut self, ns: u64, connections: u64) {
        self.read_wait.record_n(ns, connections);
    }

    /// Counts a batch that was written `ns` after it was due and a client was free.
    #[inline]
    pub fn late_send(&mut self, ns: u64) {
        self.late.record(ns);
    }

    /// Adds what the worker's thread used.
    pub(super) fn add_lap(&mut self, lap: Lap) {
        self.cpu_ns += lap.cpu_ns;
        if let Some(delay_ns) = lap.run_delay_ns {
            *self.run_delay_ns.get_or_insert_default() += delay_ns;
        }
    }
}
