//! How long connections took to open, stage by stage: no operations, and timed beside them.
//!
//! ```text
//! connect ──► TLS handshake ──► greeting ──► the first request may go
//! ```

use crate::protocol::Step;

/// What the connections that opened took, in nanoseconds a stage each.
#[derive(Debug, Default)]
pub struct Openings {
    /// From the first attempt to the socket's connection.
    pub connects: Vec<u64>,
    /// From there to the end of the TLS handshake; empty without TLS.
    pub handshakes: Vec<u64>,
    /// From there to the last reply to the greeting.
    pub greetings: Vec<u64>,
    /// The commands of greetings that were answered.
    pub answered: Vec<Step>,
}

impl Openings {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.connects.clear();
        self.handshakes.clear();
        self.greetings.clear();
        self.answered.clear();
    }
}
