//! This machine as redyno sees it from inside: what our own threads cost and how long they wait for a core, and what
//! becomes of our memory.
//!
//! It asks the operating system and judges nothing; [`diagnose`](crate::diagnose) knows what a figure means.

mod heap;
mod own_sockets;
mod own_thread;

pub use heap::return_large_blocks;
pub(crate) use own_sockets::connections_to;
pub use own_thread::{Lap, OwnThread};
