//! The knobs: names, steps, limits and presets. Knobs are the load settings that a user can change during a
//! run.
//!
//! ```text
//!  clients, pipeline, rate, ... ──► Knobs, one value of each ──checked──► the engine's setting
//!   ▲ changed by a step, or typed
//! ```
//! This module does not depend on the load engine.

mod arrivals;
mod change;
mod error;
mod knob;
mod presets;
mod random_length;
mod steps;
mod values;
mod workload;

pub use arrivals::{Arrivals, Backlog, Bursts, Rhythm, SHED_AFTER_NS};
pub use error::KnobError;
pub use knob::Knob;
pub use presets::{KnobPreset, PRESETS};
pub use random_length::RandomLength;
pub use steps::Direction;
pub use values::{Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE};
