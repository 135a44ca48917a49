//! What is asked of the server: weighted commands, keys, values.
//!
//! Knows no socket and no clock. A workload turns random numbers into request bytes; who sends them, and when,
//! is [`load`](crate::load)'s business.

mod mix;
mod requests;
mod values;

pub use mix::{Command, MAX_WEIGHT, Mix, ParseMixError};
pub use requests::Requests;
pub use values::Values;

/// What the name of every key that redyno writes begins with.
pub const KEY_PREFIX: &str = "redyno:";
