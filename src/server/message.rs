//! What the control plane tells of its own accord.

use super::Status;
use crate::happening::Happening;

/// One piece of news. `at_ns` is when it was known, on the session's clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// An INFO was answered.
    Status {
        /// When the reply was there.
        at_ns: u64,
        /// What it said.
        status: Box<Status>,
    },
    /// Something happened, on the server or on the way to it.
    Event {
        /// When it was noticed.
        at_ns: u64,
        /// What.
        what: Happening,
    },
}
