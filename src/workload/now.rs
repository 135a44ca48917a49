//! The date as a placeholder has it: what is sent, and never what is measured.

use std::time::{SystemTime, UNIX_EPOCH};

/// The date in milliseconds since 1970.
pub(super) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
