//! The load engine: workers that each own a poll loop, many connections and their interval buffers.
//!
//! Knobs go down to the workers by an atomic pointer swap; interval buffers come up through recycled ring slots.
//! It does not know what a record or a screen is.

mod knobs;

pub use knobs::{KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE, MAX_VALUE_SIZE};
