//! Bytes: request templates and the resumable reply skipper.
//!
//! Knows no socket and no clock. Nothing here materialises a reply: a load generator wants to know that a reply
//! ended, and whether it was good.

mod code;
mod request;
mod skipper;

pub use code::error_code;
pub use request::{KEY_DIGITS, Part, Template, encode_command};
pub use skipper::{ProtocolError, Reply, Skipper};
