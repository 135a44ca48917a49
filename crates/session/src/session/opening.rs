//! How long connections took to open.

use serde::{Deserialize, Serialize};

use crate::stats::Latency;

/// How long connections took to open, stage by stage. No latency of operations includes these times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Opening {
    /// The times from the first attempt to connect to the connected socket.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub connect: Latency,
    /// The times from the connected socket to the end of the TLS handshake.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub handshake: Latency,
    /// The times from the connected socket, or the end of the TLS handshake, to the last reply to the greeting.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub greeting: Latency,
}

impl Opening {
    /// Adds the times of `later`.
    pub(super) fn merge(&mut self, later: &Self) {
        self.connect.merge(&later.connect);
        self.handshake.merge(&later.handshake);
        self.greeting.merge(&later.greeting);
    }

    /// Returns the stages of opening a connection in their order, with their names.
    pub fn stages(&self) -> [(&'static str, &Latency); 3] {
        [("connect", &self.connect), ("handshake", &self.handshake), ("greeting", &self.greeting)]
    }

    /// Returns whether no stage of any connection was measured.
    pub fn is_empty(&self) -> bool {
        self.connect.is_empty() && self.handshake.is_empty() && self.greeting.is_empty()
    }
}
