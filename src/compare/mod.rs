//! What was measured at two times, side by side: may it be compared, how far apart is each figure, is that more than noise, and
//! does it cross a threshold. Pure.
//!
//! ```text
//! recordings ─► runs of one setting each ─┬─► fit: why they may not be compared
//!                                         ├─► table: figures, differences, verdicts
//!                                         └─► conditions: what must not be
//! ```

mod condition;
mod fit;
mod run;
mod table;
#[cfg(test)]
mod tests;

pub use condition::{Condition, ConditionError, Crossed};
pub use fit::misfits;
pub use run::{Run, RunError};
pub use table::{Compared, Outcome, Table};
