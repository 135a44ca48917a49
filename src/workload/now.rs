//! The date: what is sent or told, and never what is measured.

use std::time::{SystemTime, UNIX_EPOCH};

/// The date in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
