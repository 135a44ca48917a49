//! The command palette: everything that can be done here, found by a few letters.
//!
//! ```text
//!   key table ──► actions  ─┐
//!   knobs     ──► settings ─┼─► offers ──► ranked by what was typed ──► Enter carries one out
//!   presets, workloads ─────┤
//!   themes ─────────────────┤
//!   experiments, exports ───┘
//! ```

mod config;
mod experiments;
mod exports;
mod fuzzy;
mod offers;
mod open;
mod prefill;
mod workloads;

pub use offers::{Command, Offer};
