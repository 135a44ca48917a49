//! This machine as redyno sees it from inside: what our own threads cost and how long they wait for a core, and what
//! becomes of our memory.
//!
//! It asks the operating system and judges nothing; `diagnose` knows what a figure means. The one place of this
//! file with unsafe code is `mallopt`, which has no safe wrapper.

mod own_sockets;
mod own_thread;

pub use own_sockets::ports_to;
pub use own_thread::{Lap, OwnThread};

/// Has blocks of 32 KiB and more come from the system and go back to it when they are dropped.
///
/// A session makes and drops distributions of tens of kilobytes at every tick, and keeps small pieces of them. glibc
/// would put the pieces into the gaps that the large ones leave: after eight hours a third of the memory was gaps.
/// Other C libraries keep large blocks apart of their own accord.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: libc::c_int = 32 * 1024;
        // SAFETY: no pointers; it sets a number, which any thread may do at any time. Refused, nothing changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}
