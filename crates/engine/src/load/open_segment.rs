//! The counts of a segment that still has requests to send or replies to receive. A segment is the time
//! between two changes of the load's settings.

use super::{IntervalBuffer, WorkerRing, replies::ReadCounts};
use crate::workload::Operations;

/// The current segment, or an earlier segment with requests in flight.
pub(super) struct OpenSegment {
    pub(super) generation: u32,
    /// Operations that wait for a reply.
    pub(super) in_flight: u64,
    pub(super) buffer: Box<IntervalBuffer>,
    /// For each operation, the counts of replies without an error in the read that is being processed. The index is
    /// the number of the operation.
    pub(super) taken: Vec<ReadCounts>,
}

impl OpenSegment {
    pub(super) fn new(generation: u32, operations: &Operations, buffer: Box<IntervalBuffer>) -> Self {
        let taken = operations.iter().map(ReadCounts::none).collect();
        Self { generation, in_flight: 0, buffer, taken }
    }

    /// Returns an empty buffer for the next counts.
    pub(super) fn next_buffer(&self, ring: &mut WorkerRing) -> Box<IntervalBuffer> {
        let mut next = ring.empty();
        next.begin(self.generation, &self.buffer.operations, self.buffer.end_ns);
        (next.drain, next.connected) = (self.buffer.drain, self.buffer.connected);
        next
    }

    /// Extends the drain to `now_ns` if requests are in flight. The drain is the time from the end of the segment to
    /// the last reply. If no request is in flight, the drain has already ended with the last reply.
    pub(super) fn end_drain(&mut self, now_ns: u64) {
        if self.in_flight > 0 {
            self.buffer.end_ns = self.buffer.end_ns.max(now_ns);
        }
    }

    /// Sends the counts of tick number `tick` to the collector, and continues with an empty buffer.
    pub(super) fn send_counts(&mut self, tick: u64, ring: &mut WorkerRing) {
        let next = self.next_buffer(ring);
        let mut full = std::mem::replace(&mut self.buffer, next);
        (full.tick, full.in_flight) = (tick, self.in_flight);
        ring.send(full);
    }
}
