//! How the keys are made that a workload reads.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units;

/// The making of the keys that a workload reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefilling {
    /// How many requests that takes.
    pub requests: u64,
    /// How many of them a client writes before it waits for the replies.
    pub pipeline: u32,
}

impl fmt::Display for Prefilling {
    /// `prefill of 1 M requests, 16 in flight each`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "prefill of {} requests, {} in flight each", units::setting(self.requests), self.pipeline)
    }
}
