//! What is asked of the server: weighted commands, keys, values.
//!
//! Knows no socket and no clock. A workload turns random numbers into request bytes; who sends them, and when,
//! is [`load`](crate::load)'s business.

mod mix;

pub use mix::{Command, Mix, ParseMixError};
