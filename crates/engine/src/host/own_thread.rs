//! Measures the CPU time of the calling thread since the thread's last query, and how long the thread waited for a
//! core.
//!
//! ```text
//!  running ███   ██████     ██   CPU time: the thread's own clock
//!  ready      ░░░      ░       ░ run-queue delay: it could have run, and no core was free (Linux)
//!  asleep                 ...
//! ```
//! A query takes about a microsecond for two system calls. One call reads the thread's clock. The other call reads a
//! `/proc` file that stays open. A thread that measures itself at the end of its tick (250 ms) gets the figures of
//! exactly this tick. A separate measuring thread would be late whenever no core is free.

use std::{os::unix::fs::FileExt, time::Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::clock::SECOND_NS;

/// The CPU use of a thread between two queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lap {
    /// The time between the two queries in ns. This time includes the queries themselves, so that the CPU time never
    /// exceeds this time.
    pub length_ns: u64,
    /// The CPU time in ns, user and system together.
    pub cpu_ns: u64,
    /// How long the thread was ready to run but waited for a core, in ns. Only Linux with scheduler
    /// statistics reports this delay. Otherwise the value is `None`.
    pub run_delay_ns: Option<u64>,
    /// The core on which the thread runs at the end. The value is `None` on all systems except Linux.
    pub core: Option<u16>,
}

/// A thread that measures itself. An `OwnThread` must stay on the thread that created it.
pub struct OwnThread {
    queue: RunQueue,
    since: Instant,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
}

impl OwnThread {
    /// Starts to measure the calling thread. The first lap (the time until the next query) begins now.
    pub fn current() -> Self {
        let (queue, since) = (RunQueue::of_this_thread(), Instant::now());
        Self { since, cpu_ns: cpu_ns(), run_delay_ns: queue.delay_ns(), queue }
    }

    /// Returns how long the thread has waited for a core since it began, in ns. Only the time in which the thread was
    /// ready to run counts. Returns `None` if the system does not report this time. Must be called on the thread that
    /// is measured. The current lap continues.
    pub fn run_delay_ns(&self) -> Option<u64> {
        self.queue.delay_ns()
    }

    /// Ends the lap, returns the CPU use of the thread in this lap, and begins the next lap. Must be called on the
    /// thread that is measured.
    pub fn lap(&mut self) -> Lap {
        let now = Instant::now();
        let (cpu_ns, run_delay_ns) = (cpu_ns(), self.queue.delay_ns());
        let lap = Lap {
            length_ns: self.since.elapsed().as_nanos() as u64,
            cpu_ns: cpu_ns.saturating_sub(self.cpu_ns),
            run_delay_ns: run_delay_ns
                .zip(self.run_delay_ns)
                .map(|(now_ns, before_ns)| now_ns.saturating_sub(before_ns)),
            core: core(),
        };
        (self.since, self.cpu_ns, self.run_delay_ns) = (now, cpu_ns, run_delay_ns);
        lap
    }
}

/// Returns the CPU time of the calling thread since it began, in ns.
pub(super) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

/// Returns the core on which the calling thread runs.
#[cfg(target_os = "linux")]
fn core() -> Option<u16> {
    u16::try_from(rustix::thread::sched_getcpu()).ok()
}

#[cfg(not(target_os = "linux"))]
fn core() -> Option<u16> {
    None
}

/// The kernel's counter of a thread's time in the run queue.
struct RunQueue(Option<std::fs::File>);

impl RunQueue {
    fn of_this_thread() -> Self {
        // Only Linux with scheduler statistics has this file. On other systems, the delay is unknown.
        Self(std::fs::File::open("/proc/thread-self/schedstat").ok())
    }

    fn delay_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        run_delay_of(&text[..length])
    }
}

/// Parses the second of the three numbers in a `schedstat` file. The numbers are the time on a core (ns), the time in
/// the run queue (ns), and how often the thread got a core.
fn run_delay_of(schedstat: &[u8]) -> Option<u64> {
    std::str::from_utf8(schedstat).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works until the thread's own clock has advanced by 2 ms.
    fn work() {
        let until_ns = cpu_ns() + 2_000_000;
        while cpu_ns() < until_ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_lap_holds_the_work_of_its_own_thread_only() {
        let mut own = OwnThread::current();
        std::thread::spawn(work).join().unwrap();
        let waited = own.lap();
        work();
        let worked = own.lap();
        assert!(waited.cpu_ns < 2_000_000, "another thread's work is not ours: {waited:?}");
        assert!(worked.cpu_ns >= 2_000_000, "{worked:?}");
        let used_ns = worked.cpu_ns + worked.run_delay_ns.unwrap_or(0);
        assert!(used_ns <= worked.length_ns, "what was used is a part: {worked:?}");
    }

    #[test]
    fn the_run_queue_delay_is_the_second_number() {
        assert_eq!(run_delay_of(b"72611292 40443195 15\n"), Some(40_443_195));
        assert_eq!(run_delay_of(b"0 0 0\n"), Some(0));
        assert_eq!(run_delay_of(b""), None);
        assert_eq!(run_delay_of(b"12 x 3"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_reports_the_run_queue_delay_and_it_never_shrinks() {
        let mut own = OwnThread::current();
        work();
        let first = own.run_delay_ns.expect("this kernel keeps scheduler statistics");
        let lap = own.lap();
        assert_eq!(lap.run_delay_ns.map(|ns| ns + first), own.run_delay_ns);
    }
}
