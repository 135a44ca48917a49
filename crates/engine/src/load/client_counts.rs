//! The CPU time and the delays of a load worker during an interval, which show whether redyno itself is the bottleneck.

use crate::{host::Lap, stats::Recorder};

/// One worker's CPU time and delays during one interval.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// The length of the period over which the worker's CPU time was measured, in ns. At the end of the load, this
    /// period is longer than the interval, because the period includes the wait for the last replies.
    pub watched_ns: u64,
    /// The CPU time of the worker's thread, in ns.
    pub cpu_ns: u64,
    /// How long the thread waited for a core, in ns, or `None` if the system does not report it.
    pub run_delay_ns: Option<u64>,
    /// For a worker that never sleeps, the total time of poll rounds without a read or a write, in ns.
    pub spun_ns: u64,
    /// The core on which the worker ran at the end, or `None` if the system does not report it.
    pub core: Option<u16>,
    /// How long clients were ready to send but waited for the next record of the dataset, in ns. `None` means that
    /// records were always available.
    pub record_wait_ns: Option<u64>,
    /// For each readable connection, the time from the return of poll until the worker had processed the replies of
    /// the connection.
    pub read_wait: Recorder,
    /// How long each round of the poll loop with a read took, from the return of a wait to the start of the next wait.
    /// A reply that arrives in this time gets its timestamp only when the next wait returns. This time is therefore the
    /// largest delay of a timestamp.
    pub receive_lag: Recorder,
    /// How late the worker wrote batches in an open loop. The time counts from the moment when a batch was due and a
    /// client was free.
    pub late: Recorder,
    /// Latencies of replies without an error, if the worker waited for a core during at least half of the
    /// latency. A latency begins at the due time of its request or, in a closed loop, at the write of the
    /// request.
    pub held: Recorder,
}

impl ClientCounts {
    /// Clears all counts, but does not free their memory.
    pub(super) fn clear(&mut self) {
        self.watched_ns = 0;
        self.cpu_ns = 0;
        self.run_delay_ns = None;
        self.spun_ns = 0;
        self.core = None;
        self.record_wait_ns = None;
        self.read_wait.reset();
        self.receive_lag.reset();
        self.late.reset();
        self.held.reset();
    }

    /// Counts a connection that was read `ns` nanoseconds after poll reported it.
    #[inline]
    pub fn read_after(&mut self, ns: u64) {
        self.read_wait.record(ns);
    }

    /// Counts all connections that one poll reported as readable. The last of these connections was read `took_ns`
    /// after poll returned. To avoid reading the clock for each connection, the function assumes that the other
    /// connections were read at even distances in time.
    pub(super) fn read_within(&mut self, took_ns: u64, connections: u64) {
        let step_ns = took_ns / connections.max(1);
        for k in 1..=connections {
            self.read_after(step_ns * k);
        }
    }

    /// Counts a batch that was written `ns` nanoseconds after the batch was due and a client was free.
    #[inline]
    pub fn late_send(&mut self, ns: u64) {
        self.late.record(ns);
    }

    /// Adds time in which a client could send but no record of the dataset was available.
    pub(super) fn waited_for_record(&mut self, ns: u64) {
        *self.record_wait_ns.get_or_insert_default() += ns;
    }

    /// Adds the CPU time of the worker's thread, and how long the thread waited for a core.
    pub fn add_lap(&mut self, lap: Lap) {
        self.watched_ns += lap.length_ns;
        self.cpu_ns += lap.cpu_ns;
        self.core = lap.core;
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
        assert_eq!(
            counts.read_wait.latency().cells().collect::<Vec<_>>(),
            [(100, 1), (200, 1), (300, 1), (400, 1)]
        );
    }
}
