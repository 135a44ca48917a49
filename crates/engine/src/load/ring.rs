//! How interval buffers travel from a worker to the collector and back.
//!
//! Two single-producer, single-consumer rings: full buffers go up, and the collector returns them empty. The worker
//! neither locks nor clears, and allocates only if the collector falls behind.

use rtrb::{Consumer, Producer, RingBuffer};

use super::interval::IntervalBuffer;

/// Buffers that fit on the way up: a minute of ticks while the collector sleeps, or a tick with more open segments
/// than a user can create.
const SLOTS: usize = 256;

/// Buffers that are created in advance: enough for two knob changes within one round of the collector.
const SPARE: usize = 4;

/// The worker's end.
pub(super) struct Ring {
    up: Producer<Box<IntervalBuffer>>,
    back: Consumer<Box<IntervalBuffer>>,
}

/// The collector's end.
pub struct RingEnd {
    /// Full buffers, in the order in which they were closed.
    pub intervals: Consumer<Box<IntervalBuffer>>,
    back: Producer<Box<IntervalBuffer>>,
    /// The newest segment that a buffer came from, and how many operations it has.
    newest: (u32, usize),
}

/// Creates both ends of a ring, with buffers for `operations` operations.
pub(super) fn pair(operations: usize) -> (Ring, RingEnd) {
    let (up, intervals) = RingBuffer::new(SLOTS);
    let (back_up, back) = RingBuffer::new(SLOTS);
    let mut end = RingEnd { intervals, back: back_up, newest: (0, operations) };
    (0..SPARE).for_each(|_| end.recycle(IntervalBuffer::new()));
    (Ring { up, back }, end)
}

impl Ring {
    /// Returns a buffer to fill: a recycled one, or a new one if none has come back.
    pub(super) fn empty(&mut self) -> Box<IntervalBuffer> {
        self.back.pop().unwrap_or_else(|_| IntervalBuffer::new())
    }

    /// Returns how many buffers can be sent.
    pub(super) fn room(&self) -> usize {
        self.up.slots()
    }

    /// Returns whether the collector's end is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.up.is_abandoned()
    }

    /// Sends a buffer up. The caller must have checked [`room`](Self::room).
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
