//! What is asked of the server: weighted commands, keys, values.
//!
//! Knows no socket and no clock. A workload turns random numbers into request bytes; who sends them, and when,
//! is [`load`](crate::load)'s business.

mod key_names;
mod mix;
mod requests;
mod values;

pub use key_names::{KeyNames, KeySpan, NAMESPACE, NoRunId, RunId};
pub use mix::{Command, MAX_WEIGHT, Mix, ParseMixError};
pub use requests::Requests;
pub use values::Values;
