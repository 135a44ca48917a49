//! What the control plane tells of its own accord.

use std::collections::BTreeMap;

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
    /// What a setup has asked the server for, beside the load and in none of its operations.
    Asked {
        /// When its last reply was there.
        at_ns: u64,
        /// Its commands that were answered, as the server's statistics call them, and how often.
        requests: BTreeMap<String, u64>,
    },
    /// Something happened, on the server or on the way to it.
    Event {
        /// When it was noticed.
        at_ns: u64,
        /// What.
        what: Happening,
    },
}
