//! Sweep: one knob at one value after the other, and what the load does at each.
//!
//! ```text
//!  clients 1     2     5     10      20 …                 │··│ the first moment after a turn counts for nothing
//!  ──────────┤··├───┤··├───┤··├─────┤··├───               a step ends when its figures are steady, or its time is over
//!            step 1  step 2  step 3
//! ```

mod driver;
mod plan;
mod step;
mod table;

pub use driver::Sweep;
pub use plan::SweepPlan;
