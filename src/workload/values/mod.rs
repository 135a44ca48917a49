//! Values: of which sizes they are and what stands in them, and where they are cut from.
//!
//! ```text
//!  ValueKind (data) ── in a step ──► used by operations ── the knob's size, a seed ──► Values: one pool for each content
//!                                                                                       └── a random number ──► Cut
//! ```

mod cutting;
mod pool;
mod used;

pub(super) use cutting::Cut;
pub use cutting::Values;
