//! The way of interval buffers from a worker to the collector and back.
//!
//! Two rings of single producer and single consumer: full buffers go up, and come back emptied by the collector, so
//! the worker neither locks nor clears nor, as long as the collector comes, allocates.

use rtrb::{Consumer, Producer, RingBuffer};

use super::interval::IntervalBuffer;

/// Buffers that fit on the way up: a minute of ticks that the collector may sleep through, or a tick in which more
/// segments are open than a person can make.
const SLOTS: usize = 256;

/// Buffers that are made beforehand: for two turns of the knobs within the time that the collector takes for a round.
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
    /// The newest segment of which a buffer came, and how many operations it has.
    newest: (u32, usize),
}

/// Both ends of a ring, for so many operations at first.
pub(super) fn pair(operations: usize) -> (Ring, RingEnd) {
    let (up, intervals) = RingBuffer::new(SLOTS);
    let (back_up, back) = RingBuffer::new(SLOTS);
    let mut end = RingEnd { intervals, back: back_up, newest: (0, operations) };
    (0..SPARE).for_each(|_| end.recycle(IntervalBuffer::new()));
    (Ring { up, back }, end)
}

impl Ring {
    /// A buffer to fill: a recycled one, or a new one where none came back yet.
    pub(super) fn empty(&mut self) -> Box<IntervalBuffer> {
        self.back.pop().unwrap_or_else(|_| IntervalBuffer::new())
    }

    /// How many buffers can be sent.
    pub(super) fn room(&self) -> usize {
        self.up.slots()
    }

    /// Whether the collector's end is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.up.is_abandoned()
    }

    /// Sends a buffer up. The caller has asked for [`room`](Self::room).
    pub(super) fn send(&mut self, buffer: Box<IntervalBuffer>) {
        assert!(self.up.push(buffer).is_ok(), "a ring is asked for room before a buffer is sent");
    }
}

impl RingEnd {
    /// Empties a buffer and gives it back to its worker, with room for the operations of the newest segment.
    pub fn recycle(&mut self, mut buffer: Box<IntervalBuffer>) {
        if buffer.generation > self.newest.0 {
            self.newest = (buffer.generation, buffer.counts.len());
        }
        buffer.clear();
        buffer.resize(self.newest.1);
        // A full ring means that the worker has more than it needs: the buffer is freed.
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
