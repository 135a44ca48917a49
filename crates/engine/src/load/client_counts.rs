//! What a worker measures about itself during a stretch: these counts show whether the load generator is the
//! bottleneck.

use crate::{host::Lap, stats::Recorder};

/// One worker's own cost over one stretch of time.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// How long the worker's thread was watched, in ns; CPU time is a share of it. At the end of the load it is
    /// longer than the stretch, which excludes the wait for the last replies.
    pub watched_ns: u64,
    /// Time on a core, in ns.
    pub cpu_ns: u64,
    /// Time in which the thread waited for a core, in ns; `None` if the system does not report it.
    pub run_delay_ns: Option<u64>,
    /// Time in which clients were free to write but the next dataset record was not read yet, in ns; `None` if
    /// records were always available.
    pub record_wait_ns: Option<u64>,
    /// For each connection that a wake-up found readable: the time from the poll's return until its replies were
    /// processed, including the wait for connections handled before it.
    pub read_wait: Recorder,
    /// For each batch that had a due time: how late the worker wrote it, counted from when it was due and a client
    /// was free.
    pub late: Recorder,
    /// For each good reply that waited for a core of the load generator for at least half of its latency: that
    /// latency, from the due time, or in closed loop from the write.
    pub held: Recorder,
}

impl ClientCounts {
    /// Clears all counts, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.watched_ns = 0;
        self.cpu_ns = 0;
        self.run_delay_ns = None;
        self.record_wait_ns = None;
        self.read_wait.reset();
        self.late.reset();
        self.held.reset();
    }

    /// Counts a connection that was read `ns` after the poll reported it.
    #[inline]
    pub fn read_after(&mut self, ns: u64) {
        self.read_wait.record(ns);
    }

    /// Counts all connections that a wake-up found readable; the last was read `took_ns` after the poll returned.
    /// The others are assumed to be spread evenly over that time, which saves clock readings.
    pub(super) fn read_within(&mut self, took_ns: u64, connections: u64) {
        let step_ns = took_ns / connections.max(1);
        for k in 1..=connections {
            self.read_after(step_ns * k);
        }
    }

    /// Counts a batch that was written `ns` after it was due and a client was free.
    #[inline]
    pub fn late_send(&mut self, ns: u64) {
        self.late.record(ns);
    }

    /// Adds time in which clients were free but no record was available.
    pub(super) fn waited_for_record(&mut self, ns: u64) {
        *self.record_wait_ns.get_or_insert_default() += ns;
    }

    /// Adds the CPU time and core wait of the worker's thread.
    pub fn add_lap(&mut self, lap: Lap) {
        self.watched_ns += lap.length_ns;
        self.cpu_ns += lap.cpu_ns;
        if let Some(delay_ns) = lap.run_delay_ns {
            *self.run_delay_ns.get_or_insert_default() += delay_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_of_a_wake_up_waits_for_those_before_it() {
        let mut counts = ClientCounts::default();
        counts.read_within(400, 4);
        counts.read_within(0, 0);
        assert_eq!(counts.read_wait.latency().cells(), [(100, 1), (200, 1), (300, 1), (400, 1)]);
    }
}
