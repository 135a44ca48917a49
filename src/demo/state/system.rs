//! What the server's thread and process cost the machine. The one place of the built-in server with unsafe code:
//! `getrusage` has no safe wrapper among our dependencies.

use std::time::Duration;

/// CPU time of the calling thread in the kernel and outside it; where the system cannot tell (macOS), of the process.
/// Zero if it tells neither.
pub fn thread_cpu() -> [Duration; 2] {
    #[cfg(target_os = "linux")]
    const WHO: libc::c_int = libc::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    const WHO: libc::c_int = libc::RUSAGE_SELF;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to memory of the right type, and it is read only if the call says it was filled.
    let usage = unsafe {
        if libc::getrusage(WHO, usage.as_mut_ptr()) != 0 {
            return [Duration::ZERO; 2];
        }
        usage.assume_init()
    };
    [usage.ru_stime, usage.ru_utime].map(|time| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    })
}

/// Bytes of this process in memory, as `/proc` tells; `None` where there is none.
pub fn resident_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Bytes of memory that the machine has, likewise.
pub fn total_memory_bytes() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemTotal:")
}

fn kilobytes(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
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
