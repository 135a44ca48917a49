//! What the control plane says to whoever started it.

use super::Status;

/// One message of the control plane.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What INFO said.
    Status {
        /// When.
        at_ns: u64,
        /// It.
        status: Box<Status>,
    },
    /// The server does not answer.
    Unreachable {
        /// Since when.
        at_ns: u64,
        /// Why.
        cause: String,
    },
    /// It answers again.
    Back {
        /// Since when.
        at_ns: u64,
    },
}
