//! A sweep measures the load at one value of a knob after another.
//!
//! ```text
//!  clients 1     2     5     10      20 …                 │··│ the first moment after a change is not counted
//!  ──────────┤··├───┤··├───┤··├─────┤··├───               a step ends when its figures are steady, or its time is over
//!            step 1  step 2  step 3
//! ```

mod driver;
mod plan;
mod step;
mod table;

pub use driver::Sweep;
pub use plan::SweepPlan;
