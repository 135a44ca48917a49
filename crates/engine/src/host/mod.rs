//! Samples the figures of this machine: its cores, memory, disks and network. Some figures describe redyno's own
//! process: its connections, its memory, and the CPU time of its threads. The waits of its threads for a core are also
//! included. If a server runs on the machine, the figures also describe the server's process and sockets.
//!
//! ```text
//! /proc, /sys ─► Draft: one part after the other ─► Sample ─► LocalServer: its process, its sockets ─► Sample
//! ```
//! If a part cannot be read, the sample contains the reason instead of the figures of this part. This module only
//! queries the operating system. The module `diagnose` interprets the figures. The only unsafe code of this file is
//! in system calls that have no safe wrapper.

mod cpu;
mod disks;
#[cfg(test)]
mod fixture;
mod local_server;
mod memory;
mod network;
mod own_sockets;
mod own_thread;
mod pace;
mod processes;
mod sample;
mod sample_builder;
mod sampler;
mod sock_diag;
mod threads;
mod tree;
mod waits;

pub use local_server::LocalServer;
pub use own_sockets::ports_to;
pub use own_thread::{Lap, OwnThread};
pub use sample::{HostSample, Process};
pub use sampler::Sampler;

/// Makes the allocator request each block of 32 KiB or more from the operating system. The allocator returns such a
/// block as soon as the block is freed. Also makes all threads share two areas for smaller blocks.
///
/// At every tick, a session allocates latency distributions of tens of kilobytes. The session frees these distributions
/// and keeps only small parts of them. By default, glibc places these small parts into the gaps of freed large blocks.
/// The memory becomes fragmented: after eight hours, a third of it was unused. Other C libraries place large blocks
/// separately.
///
/// By default, glibc has eight areas for each core, and each area keeps its own free memory. With a hundred nodes, this
/// free memory was 15 MB. The threads of the load do not allocate while they measure.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: libc::c_int = 32 * 1024;
        const AREAS: libc::c_int = 2;
        // SAFETY: no pointers are involved; the calls set numbers, which any thread may do at any time. If
        // they fail, nothing changes.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
            libc::mallopt(libc::M_ARENA_MAX, AREAS);
        }
    }
}

/// Lets the calling thread run before all ordinary threads of this machine, if the system permits it. For threads that
/// need little CPU time and must not be late. Linux divides the cores among terminal sessions: beside eight busy loops
/// of another terminal session on two cores, all threads of a process waited up to 4.1 s for a core.
pub fn run_first() {
    #[cfg(target_os = "linux")]
    {
        let (policy, priority) = (libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, 1 as libc::c_int);
        // SAFETY: the kernel reads one number, the priority; 0 is the calling thread. If the call fails, nothing
        // changes. musl has no function for it.
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    }
}
