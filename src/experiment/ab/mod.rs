//! A/B: two settings in alternation, or two targets, until it is clear which is better, or that neither is.
//!
//! ```text
//!  A ───────┤ B ───────────────┤ A ───────────────┤ B …          A B B A A B B A …
//!     part  │··│ part │ part   │··│ part │ part   │              ·· the first second after a switch counts for nothing
//!     └── pair 1 ─┘     └── pair 2 ───┘     └── pair 3 …
//! ```
//! A pair is the part before a switch and the part after it, so that a slow drift of the machine hardly shows in one, and
//! with either sign in two that follow each other.

mod alternation;
mod block;
mod driver;
mod figure;
mod pair;
#[cfg(test)]
mod simulated;
mod table;
mod verdict;
mod versus;

pub use driver::{Ab, Plan};
pub use figure::{Figure, Level, OfOperation};
pub use pair::{Pair, Part, Quantity, Side};
pub use table::Row;
pub use verdict::Verdict;
pub use versus::Versus;
