//! What makes the keys that a workload reads: steps that are run once for every key, before anything is measured.

use serde::{Deserialize, Serialize};

/// Steps that make keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prefill {
    /// Commands, written as the steps of an operation are; each is run once for every key of the set that it draws first.
    pub steps: Vec<String>,
}

impl Prefill {
    /// Whether there is nothing to be made.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
