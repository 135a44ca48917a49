//! Finds connections of the load that have waited too long for a reply.
//!
//! All connections have the same timeout, and a deadline never moves to an earlier time. The module therefore stores
//! one time for each client: the deadline at the last check. A request costs at most one comparison. Each client is
//! checked once per timeout. This module does no I/O and reads no clock.

use std::{cmp::Reverse, collections::BinaryHeap};

/// The times when the worker must check its clients.
#[derive(Debug, Default)]
pub(super) struct CheckQueue {
    /// The clients that have an entry, by index.
    watched: Vec<bool>,
    looks: BinaryHeap<Reverse<(u64, usize)>>,
}

impl CheckQueue {
    /// Returns whether a check of client `i` is planned.
    #[inline]
    pub(super) fn is_watched(&self, i: usize) -> bool {
        self.watched.get(i).is_some_and(|is_watched| *is_watched)
    }

    /// Plans a check of client `i` at `at_ns`, unless a check is already planned.
    #[inline]
    pub(super) fn watch(&mut self, i: usize, at_ns: u64) {
        if !self.is_watched(i) {
            self.begin(i, at_ns);
        }
    }

    #[cold]
    fn begin(&mut self, i: usize, at_ns: u64) {
        if self.watched.len() <= i {
            self.watched.resize(i + 1, false);
        }
        self.watched[i] = true;
        self.looks.push(Reverse((at_ns, i)));
    }

    /// Returns the time when the next check is due, in ns.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.looks.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Returns a client with a check that is due by `now_ns`, and removes the client's entry.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<usize> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        let Reverse((_, i)) = self.looks.pop()?;
        self.watched[i] = false;
        Some(i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_checked_once_per_deadline_however_often_it_writes() {
        let mut watches = CheckQueue::default();
        for written_ns in 0..1000 {
            watches.watch(1, 5000 + written_ns);
            watches.watch(0, 4000 + written_ns);
        }
        assert_eq!((watches.looks.len(), watches.next_ns()), (2, Some(4000)));
        assert_eq!(watches.next(3999), None);
        let seen: Vec<_> = std::iter::from_fn(|| watches.next(5000)).collect();
        assert_eq!((seen, watches.next_ns()), (vec![0, 1], None));
        watches.watch(0, 9000);
        assert_eq!((watches.next(8999), watches.next(9000)), (None, Some(0)));
    }
}
