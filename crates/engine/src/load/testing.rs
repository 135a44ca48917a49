//! Builds counts of load workers (interval buffers) for the tests of other modules.

use std::{ops::Range, sync::Arc};

use super::IntervalBuffer;
use crate::{
    protocol::Dialect,
    workload::{KeyNames, Program, Values, Workload},
};

/// Creates a program of GET and SET, in equal parts.
pub fn program() -> Arc<Program> {
    let (workload, names) = (Workload::ratio(1, 1), KeyNames::given("k:"));
    let values = Values::new(&workload, 32, 7);
    Arc::new(Program::new(&workload, Dialect::Resp2, 10_000, values, &names))
}

/// Creates a buffer of segment `generation` over `span_ns`, with `ops` GETs and SETs without errors, each with a
/// latency of 1 µs.
pub fn interval(
    generation: u32,
    span_ns: Range<u64>,
    ops: &[(&str, u64)],
    closes_tick: bool,
) -> Box<IntervalBuffer> {
    let mut buffer = Box::<IntervalBuffer>::default();
    let program = program();
    buffer.begin(generation, program.operations(), span_ns.start);
    buffer.end_ns = span_ns.end;
    buffer.tick = 1;
    buffer.closes_tick = closes_tick;
    for (label, n) in ops {
        let place = program.operations().iter().position(|known| known.label == *label);
        buffer.counts[place.expect("it is GET or SET")].count_good(*n, 1000);
    }
    buffer
}
