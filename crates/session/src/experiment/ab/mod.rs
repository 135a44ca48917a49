//! The A/B experiment alternates between two settings of a target, or between two targets. The experiment ends when one
//! side is clearly better, or when there is clearly no difference.
//!
//! ```text
//!  A ───────┤ B ───────────────┤ A ───────────────┤ B …          A B B A A B B A …
//!     part  │··│ part │ part   │··│ part │ part   │              ·· the first second after a switch is not counted
//!     └── pair 1 ─┘     └── pair 2 ───┘     └── pair 3 …
//! ```
//! A pair consists of the part before a switch and the part after the switch. The time between these parts is short, so
//! a slow drift of the machine changes a pair little. In two consecutive pairs, the drift has opposite signs.

mod alternation;
mod driver;
mod pair;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
mod verdict;

pub use alternation::AbPlan;
pub use driver::Ab;
pub use pair::{Pair, Side};
