//! What the control plane tells of its own accord.

use super::Status;

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
    /// The server cannot be reached. Sent when that begins, and again when the cause changes.
    Unreachable {
        /// When it was noticed.
        at_ns: u64,
        /// Why, in one line.
        cause: String,
    },
    /// The server is there and refuses INFO (`NOPERM`, `BUSY`). Sent when that begins, and when the cause changes.
    Mute {
        /// When it refused.
        at_ns: u64,
        /// Why, in one line.
        cause: String,
    },
    /// After `Unreachable` or `Mute`: it answers INFO again. The `Status` follows.
    Back {
        /// When the reply was there.
        at_ns: u64,
    },
    /// Something happened on the server; the README lists the names.
    Event {
        /// When it was noticed.
        at_ns: u64,
        /// What kind of thing.
        name: &'static str,
        /// What exactly, in words.
        detail: String,
    },
}
