//! The way of interval buffers from a worker to the collector and back.
//!
//! Two rings of single producer and single consumer: full buffers go up, emptied ones come back, so the worker
//! neither locks nor, once the rings are filled, allocates.

use rtrb::{Consumer, Producer, RingBuffer};

use super::interval::IntervalBuffer;

/// Buffers that fit on the way up: a minute of ticks that the collector may sleep through, or a tick in which more
/// segments are open than a person can make.
const SLOTS: usize = 256;

/// The worker's end.
pub(super) struct Lane {
    up: Producer<Box<IntervalBuffer>>,
    back: Consumer<Box<IntervalBuffer>>,
}

/// The collector's end.
pub struct LaneEnd {
    /// Full buffers, in the order in which they were closed.
    pub intervals: Consumer<Box<IntervalBuffer>>,
    back: Producer<Box<IntervalBuffer>>,
}

/// Both ends of a lane.
pub(super) fn pair() -> (Lane, LaneEnd) {
    let (up, intervals) = RingBuffer::new(SLOTS);
    let (back_up, back) = RingBuffer::new(SLOTS);
    (Lane { up, back }, LaneEnd { intervals, back: back_up })
}

impl Lane {
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
        assert!(self.up.push(buffer).is_ok(), "a lane is asked for room before a buffer is sent");
    }
}

impl LaneEnd {
    /// Gives a buffer back to its worker.
    pub fn recycle(&mut self, buffer: Box<IntervalBuffer>) {
        // A full ring means that the worker has more than it needs: the buffer is freed.
        drop(self.back.push(buffer));
    }
}
