//! Passes interval buffers from a worker to the collector and back.
//!
//! There are two rings with a single producer and a single consumer: one passes full buffers to the collector, the
//! other returns empty buffers. The worker takes no lock, clears no buffer, and allocates one only if the collector
//! falls behind.

use rtrb::{Consumer, Producer, RingBuffer};

use super::interval::IntervalBuffer;

/// How many full buffers the ring has room for: enough for a minute in which the collector takes none, and for one
/// tick with more open segments than a user can create.
const SLOTS: usize = 256;

/// How many buffers are created in advance: enough for two changes of the knobs within one round of the collector.
const SPARE: usize = 4;

/// The worker's end.
pub(super) struct Ring {
    up: Producer<Box<IntervalBuffer>>,
    back: Consumer<Box<IntervalBuffer>>,
}

/// The collector's end.
pub struct RingEnd {
    /// Full buffers, in the order in which the worker sent them.
    pub intervals: Consumer<Box<IntervalBuffer>>,
    back: Producer<Box<IntervalBuffer>>,
    /// The number of the newest segment so far, and how many operations that segment has.
    newest: (u32, usize),
}

/// Creates both ends of a ring, with buffers for `operations` operations.
pub(super) fn pair(operations: usize) -> (Ring, RingEnd) {
    let (up, intervals) = RingBuffer::new(SLOTS);
    let (back_up, back) = RingBuffer::new(SLOTS);
    let mut end = RingEnd { intervals, back: back_up, newest: (0, operations) };
    (0..SPARE).for_each(|_| end.recycle(Box::default()));
    (Ring { up, back }, end)
}

impl Ring {
    /// Returns a buffer to fill: a recycled one, or a new one if none has come back.
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

    /// Sends a buffer to the collector. The caller must have checked that there is [`room`](Self::room).
    pub(super) fn send(&mut self, buffer: Box<IntervalBuffer>) {
        assert!(self.up.push(buffer).is_ok(), "a ring is asked for room before a buffer is sent");
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
        // If the ring is full, the worker has more buffers than it needs, and this one is freed.
        drop(self.back.push(buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::testing;

    #[test]
    fn a_buffer_comes_back_empty_without_the_workers_doing() {
        let (program, (mut ring, mut end)) = (testing::program(), pair(2));
        let made: Vec<_> = (0..SPARE).map(|_| ring.empty()).collect();
        assert!(ring.back.is_empty(), "all that were made beforehand are taken");
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
