//! A script changes knobs and parameters at given times while the load runs.
//!
//! ```text
//!  at 30s clients 100                        # settings, as in an A/B: knobs, presets, parameters
//!  at 45s rate 10k, pipeline 4
//!  from 60s to 120s rate 10k..50k            # a ramp in 20 equal steps of at least a second
//!  from 60s to 120s value size 64..4k in 4   # a ramp in 4 steps
//!  at 130s config maxmemory 1073741824
//!  at 140s mark the cache is full
//!  at 150s load off
//!  at 160s end
//! ```
//! Times are relative to the start of the script. A script begins with the session, unless the user starts the script
//! later. The lines of a script are sorted by time. A knob that a line does not name is not changed.

mod line;
mod play;
mod ramp;
mod text;

pub use play::Script;
