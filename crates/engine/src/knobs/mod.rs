//! What a person can turn: the knobs with their names, steps, limits and words, and named settings of all of them.
//!
//! ```text
//!  clients, pipeline, rate, ... ──► Knobs, one value of each ──checked──► what the engine runs by
//!   ▲ turned a step, or typed
//! ```
//! Knows nothing of how the engine obeys them.

mod adjustable;
mod arrivals;
mod knob;
mod presets;
mod steps;
mod values;
mod workload;

pub use adjustable::Adjustable;
pub use arrivals::{Arrivals, Backlog, ParseChoiceError, SHED_AFTER_NS};
pub use knob::{Knob, TurnError};
pub use presets::{PRESETS, Preset};
pub use steps::Direction;
pub use values::{KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE};
