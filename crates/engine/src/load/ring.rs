//! Passes the counts of a load worker to the collector, and returns the emptied buffers to the worker.
//!
//! There are two rings, each with a single producer and a single consumer. The first ring passes full buffers to the
//! collector, and the second ring returns empty buffers. The worker takes no lock and clears no buffer. A worker
//! allocates a buffer only if the collector is too slow.

use rtrb::{Consumer, Producer, RingBuffer};

use super::interval::IntervalBuffer;

/// The number of full buffers that fit into the ring. The ring has enough room if the collector reads nothing for a
/// minute. The ring also has enough room if a user creates many segments within one tick (250 ms).
const SLOTS: usize = 256;

/// The number of buffers that are created in advance. This number is enough for two changes of the knobs
/// between two rounds of the collector.
const SPARE: usize = 4;

/// The worker's end of the rings.
pub(super) struct WorkerRing {
    up: Producer<Box<IntervalBuffer>>,
    back: Consumer<Box<IntervalBuffer>>,
}

/// The collector's end of the two rings between a worker and the collector. One ring passes full buffers to the
/// collector. The other ring returns empty buffers to the worker.
pub struct RingEnd {
    /// Full buffers, in the order in which the worker sent them.
    pub intervals: Consumer<Box<IntervalBuffer>>,
    back: Producer<Box<IntervalBuffer>>,
    /// The number of the newest segment so far, and the number of operations in this segment.
    newest: (u32, usize),
}

/// Creates both ends of the rings, with empty buffers for `operations` operations.
pub(super) fn pair(operations: usize) -> (WorkerRing, RingEnd) {
    let (up, intervals) = RingBuffer::new(SLOTS);
    let (back_up, back) = RingBuffer::new(SLOTS);
    let mut end = RingEnd { intervals, back: back_up, newest: (0, operations) };
    (0..SPARE).for_each(|_| end.recycle(Box::default()));
    (WorkerRing { up, back }, end)
}

impl WorkerRing {
    /// Returns an empty buffer: a recycled buffer if there is one, otherwise a new buffer.
    pub(super) fn empty(&mut self) -> Box<IntervalBuffer> {
        self.back.pop().unwrap_or_else(|_| Box::default())
    }

    /// Returns how many buffers can be sent now.
    pub(super) fn room(&self) -> usize {
        self.up.slots()
    }

    /// Returns whether the collector has dropped its end of the ring.
    pub(super) fn is_abandoned(&self) -> bool {
        self.up.is_abandoned()
    }

    /// Sends a buffer to the collector. Before a call, the caller must check that there is [`room`](Self::room).
    pub(super) fn send(&mut self, buffer: Box<IntervalBuffer>) {
        assert!(self.up.push(buffer).is_ok(), "the caller has checked that the ring has room");
    }
}

impl RingEnd {
    /// Empties a buffer and returns it to its worker, with room for the operations of the newest segment.
    pub fn recycle(&mut self, mut buffer: Box<IntervalBuffer>) {
        if buffer.generation > self.newest.0 {
            self.newest = (buffer.generation, buffer.counts.len());
        }
        buffer.clear();
        buffer.resize(self.newest.1);
        // If the ring is full, the worker has more buffers than it needs, and this buffer is freed.
        drop(self.back.push(buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::testing;

    #[test]
    fn a_buffer_comes_back_empty_without_work_of_the_worker() {
        let (program, (mut ring, mut end)) = (testing::program(), pair(2));
        let made: Vec<_> = (0..SPARE).map(|_| ring.empty()).collect();
        assert!(ring.back.is_empty(), "all spare buffers are taken");
        for mut buffer in made {
            buffer.begin(1, program.operations(), 5);
            buffer.due = 7;
            buffer.client.late_send(9);
            buffer.counts[0].service.record(1000);
            ring.send(buffer);
            let full = end.intervals.pop().unwrap();
            end.recycle(full);
        }
        let again = ring.empty();
        assert_eq!((again.due, again.counts.len(), ring.back.slots()), (0, 2, SPARE - 1));
        assert!(again.client.late.is_empty() && again.counts.iter().all(|c| c.service.is_empty()));
    }
}
