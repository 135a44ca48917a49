//! What is asked of the server: weighted operations, keys, values.
//!
//! ```text
//!  Workload (data: a preset, a recording) ──compile──► Program (what workers run) ── + Draws ──► request bytes
//! ```
//! Knows no socket and no clock. A program turns random numbers into request bytes; who sends them, and when, is
//! [`load`](crate::load)'s business.

mod commands;
mod data;
mod draws;
mod key_names;
mod key_span;
mod operations;
mod outgoing;
mod presets;
mod program;
mod read_share;
mod recorded;
mod step;
mod values;

pub use commands::Misses;
pub(crate) use data::LONGEST_PREFIX;
pub use data::{
    Distribution, Keyspace, MAX_OPERATIONS, MAX_WEIGHT, Operation, Together, Workload, WorkloadError,
};
pub use draws::Draws;
pub use key_names::{KeyNames, NAMESPACE, NoRunId, OwnKey, RunId};
pub use key_span::KeySpan;
pub use operations::{Expected, OpId, Operations};
pub use outgoing::Outgoing;
pub use presets::{NoPreset, RatioError, preset, preset_names, presets, usual};
pub use program::Program;
pub use values::Values;
