//! This machine as redyno sees it from inside: what our own threads cost and how long they wait for a core.
//!
//! It reads the operating system and judges nothing; what a figure means is told elsewhere.

mod own_thread;

pub use own_thread::{Lap, OwnThread};
