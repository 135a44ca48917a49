//! What a worker counts about itself in a stretch: whether the load generator is the limit is read from this.

use crate::{host::Lap, stats::Recorder};

/// One worker's own cost over one stretch of time.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// Time on a core, in ns.
    pub cpu_ns: u64,
    /// Time in which it waited for a core, in ns; `None` where the system does not tell.
    pub run_delay_ns: Option<u64>,
    /// For each connection that a wake-up found readable: from the poll's return until it was read and its replies were
    /// taken, behind those that were handled before it.
    pub read_wait: Recorder,
    /// For each batch that had a due time: how late we wrote it, counted from when it was due and a client was free.
    pub late: Recorder,
    /// For each good reply whose request waited for a core of ours for at least half of its time: that time, from when it
    /// was due, or in closed loop was written.
    pub held: Recorder,
}

impl ClientCounts {
    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.cpu_ns = 0;
        self.run_delay_ns = None;
        self.read_wait.reset();
        self.late.reset();
        self.held.reset();
    }

    /// Counts a connection that was read so long after the poll told of it.
    #[inline]
    pub fn read_after(&mut self, ns: u64) {
        self.read_wait.record(ns);
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

/// The connections of one wake-up, one after the other: how long each lay unread.
///
/// ```text
///  poll returns   a read, written   b read   c read, written
///  |──────────────────|────────────────|──────────|      b has no stamp: the middle between those of a and c
/// ```
/// No clock is asked for it: a connection that has a new batch out carries the stamp of that, and those without lie evenly
/// between the stamps before and after them.
#[derive(Debug)]
pub(super) struct ReadWaits {
    polled_ns: u64,
    /// The last stamp, and how many connections were read since.
    stamped_ns: u64,
    since: u64,
}

impl ReadWaits {
    /// The poll returned.
    pub(super) fn begin(polled_ns: u64) -> Self {
        Self { polled_ns, stamped_ns: polled_ns, since: 0 }
    }

    /// The next connection was read; `written_ns` is when its last batch was written.
    #[inline]
    pub(super) fn read(&mut self, written_ns: Option<u64>, counts: &mut ClientCounts) {
        self.since += 1;
        if let Some(ns) = written_ns.filter(|ns| *ns > self.stamped_ns) {
            self.stamp(ns, counts);
        }
    }

    /// Whether connections were read after the last stamp: then the clock is to be asked.
    #[inline]
    pub(super) fn lacks_stamp(&self) -> bool {
        self.since > 0
    }

    /// All that was read so far was read by `ns`.
    #[inline]
    pub(super) fn stamp(&mut self, ns: u64, counts: &mut ClientCounts) {
        let (from, step) =
            (self.stamped_ns - self.polled_ns, (ns.saturating_sub(self.stamped_ns)) / self.since);
        for k in 1..=self.since {
            counts.read_after(from + step * k);
        }
        (self.stamped_ns, self.since) = (ns.max(self.stamped_ns), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(counts: &ClientCounts) -> Vec<(u64, u64)> {
        counts.read_wait.latency().cells().to_vec()
    }

    #[test]
    fn each_connection_of_a_wake_up_waits_for_those_before_it() {
        let (mut counts, mut reads) = (ClientCounts::default(), ReadWaits::begin(1000));
        for written_ns in [1100, 1200, 1300, 1400] {
            reads.read(Some(written_ns), &mut counts);
        }
        assert_eq!(waits(&counts), [(100, 1), (200, 1), (300, 1), (400, 1)]);
        assert!(!reads.lacks_stamp());
    }

    #[test]
    fn connections_without_a_stamp_lie_evenly_between_those_with_one() {
        let (mut counts, mut reads) = (ClientCounts::default(), ReadWaits::begin(1000));
        // A stamp from before the poll is that of a batch that still waits for replies.
        for written_ns in [None, Some(900), Some(1300), None, None] {
            reads.read(written_ns, &mut counts);
        }
        assert_eq!(waits(&counts), [(100, 1), (200, 1), (300, 1)]);
        assert!(reads.lacks_stamp());
        reads.stamp(1500, &mut counts);
        assert_eq!(waits(&counts), [(100, 1), (200, 1), (300, 1), (400, 1), (500, 1)]);
    }
}
