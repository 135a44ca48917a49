//! Interval buffers for the tests of other rooms.

use std::ops::Range;

use super::{IntervalBuffer, interval::Good};
use crate::workload::Command;

/// A buffer of `generation` over `span_ns` with so many good replies of each command, at 1 µs each.
pub fn interval(
    generation: u32,
    span_ns: Range<u64>,
    ops: &[(Command, u64)],
    closes_tick: bool,
) -> Box<IntervalBuffer> {
    let mut buffer = IntervalBuffer::new();
    buffer.begin(generation, span_ns.start);
    buffer.end_ns = span_ns.end;
    buffer.tick = 1;
    buffer.closes_tick = closes_tick;
    for (command, n) in ops {
        buffer.count_good(*command, Good { values: *n as u32, nils: 0 }, 1000);
    }
    buffer
}
