//! What the server's thread and process cost the machine.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// CPU time of the calling thread in the kernel and outside it; where the system cannot tell (macOS), of the process.
/// Zero if it tells neither.
pub fn thread_cpu() -> [Duration; 2] {
    #[cfg(target_os = "linux")]
    const WHO: UsageWho = UsageWho::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    const WHO: UsageWho = UsageWho::RUSAGE_SELF;
    let duration = |time: TimeVal| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000);
    getrusage(WHO).map_or([Duration::ZERO; 2], |usage| [usage.system_time(), usage.user_time()].map(duration))
}

/// Bytes of this process in memory, as `/proc` tells; `None` where there is none.
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kb: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kb * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_grows_with_work() {
        let total = |times: [Duration; 2]| times.iter().sum::<Duration>();
        let before = total(thread_cpu());
        let mut sum = 0_u64;
        // Bounded by work and not by time: one turn is far below a microsecond.
        for n in 0..500_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_add(n));
            if n % 1_000_000 == 0 && total(thread_cpu()) > before {
                return;
            }
        }
        panic!("no CPU time was counted");
    }
}
