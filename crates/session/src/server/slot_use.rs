//! The use of a slot of a cluster.

use serde::{Deserialize, Serialize};

/// The use of one slot since the previous poll that asked for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotUse {
    /// The slot.
    pub slot: u16,
    /// Its keys.
    pub keys: u64,
    /// The share of a core that its commands used.
    pub cpu: f64,
    /// Bytes per second that clients sent for it.
    pub bytes_in_per_s: f64,
    /// Bytes per second that clients got for it.
    pub bytes_out_per_s: f64,
}
