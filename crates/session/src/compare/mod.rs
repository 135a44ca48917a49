//! Compares two sides, A and B. The sides are two alternating settings or targets, two recordings, or two
//! segments on the screen. A comparison has two values of a figure, their difference, and a verdict with its
//! reason: *better*, *worse*, *no difference* or *not clear*. This module does no I/O.
//!
//! ```text
//! pairs ────────────────────────────────────────┐
//! recordings ─► runs of one setting each ───────┼─► stats: the model ─► Difference ─► table: text, Markdown, records
//! segments ─────────────────────────────────────┘                          └─► condition of --fail-if
//! ```

mod compared;
mod condition;
mod difference;
mod fit;
mod run;
mod table;
#[cfg(test)]
mod tests;

pub use compared::RunComparison;
pub use condition::{BoundedLatency, Condition, LatencyBound, MetCondition};
pub use difference::Difference;
pub use fit::{mismatches, planned_mismatches};
pub use run::Run;
pub use table::{DifferenceTable, Sides};
