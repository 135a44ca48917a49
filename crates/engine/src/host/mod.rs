//! This machine as seen by redyno itself: the cost of its own threads, how long they wait for a core, and its
//! memory.
//!
//! This module queries the operating system and judges nothing; `diagnose` interprets the figures. The only unsafe
//! code of this file is `mallopt`, which has no safe wrapper.

mod own_sockets;
mod own_thread;

pub use own_sockets::ports_to;
pub use own_thread::{Lap, OwnThread};

/// Makes the allocator get blocks of 32 KiB and more from the system, and return them when they are dropped.
///
/// A session creates and drops distributions of tens of kilobytes at every tick, and keeps small parts of them.
/// glibc would place these parts in the gaps of dropped large blocks: after eight hours a third of the memory was
/// gaps. Other C libraries keep large blocks separate by default.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: libc::c_int = 32 * 1024;
        // SAFETY: no pointers are involved; the call sets a number, which any thread may do at any time. If it
        // fails, nothing changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}
