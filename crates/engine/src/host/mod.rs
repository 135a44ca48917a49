//! What redyno's own process uses of this machine: the CPU time of its threads, how long they wait for a core, its
//! connections and its memory.
//!
//! This module only queries the operating system; the module `diagnose` interprets the figures. The only unsafe code of
//! this file is `mallopt`, which has no safe wrapper.

mod own_sockets;
mod own_thread;
mod sample;

pub use own_sockets::ports_to;
pub use own_thread::{Lap, OwnThread};
pub use sample::{Process, Sample};

/// Makes the allocator request each block of 32 KiB or more from the operating system, and return the block as soon as
/// it is freed.
///
/// At every tick, a session allocates and frees latency distributions of tens of kilobytes, and keeps small parts of
/// them. By default, glibc places these small parts where large blocks were freed, which fragments the memory: after
/// eight hours, a third of it was unused. Other C libraries place large blocks separately by default.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: libc::c_int = 32 * 1024;
        // SAFETY: no pointers are involved; the call sets a number, which any thread may do at any time. If it
        // fails, nothing changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}
