//! How a probe's thread sleeps until a given time, as exactly as the system allows.
//!
//! | system | sleeps until | with |
//! |---|---|---|
//! | Linux | an absolute time of the monotonic clock | `clock_nanosleep`, timer slack of 1 ns |
//! | others | a delay from now on, too long after a preemption before the call | the standard library |

#[cfg(not(target_os = "linux"))]
pub(super) use relative::Sleeper;

#[cfg(target_os = "linux")]
pub(super) use absolute::Sleeper;

/// Turns off the kernel's rounding of this thread's timers. By default, Linux wakes a thread up to 50 µs late on
/// purpose, to save wake-ups. A probe would show this lateness as a delay of the machine or of the server.
pub(super) fn sharpen_timers() {
    #[cfg(target_os = "linux")]
    // If the call fails, the kernel's default slack remains: sleeps are less exact, nothing else changes.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(target_os = "linux")]
mod absolute {
    use rustix::{
        io::Errno,
        thread::clock_nanosleep_absolute,
        time::{ClockId, Timespec, clock_gettime},
    };

    use crate::clock::{Clock, SECOND_NS};

    /// Sleeps until given times of a [`Clock`].
    #[derive(Debug)]
    pub(in crate::probe) struct Sleeper {
        /// The time of the system's monotonic clock at which the session's clock reads 0.
        origin_ns: u64,
    }

    impl Sleeper {
        /// Creates a sleeper for times of `clock`.
        pub(in crate::probe) fn new(clock: &Clock) -> Self {
            let system = clock_gettime(ClockId::Monotonic);
            let system_ns = system.tv_sec as u64 * SECOND_NS + system.tv_nsec as u64;
            Self { origin_ns: system_ns.saturating_sub(clock.now_ns()) }
        }

        /// Sleeps until `deadline_ns`. Signals do not end the sleep early.
        pub(in crate::probe) fn sleep_until(&self, deadline_ns: u64) {
            let at_ns = self.origin_ns + deadline_ns;
            let at = Timespec { tv_sec: (at_ns / SECOND_NS) as i64, tv_nsec: (at_ns % SECOND_NS) as _ };
            while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod relative {
    use std::time::Duration;

    use crate::clock::Clock;

    /// Sleeps until given times of a [`Clock`].
    #[derive(Debug)]
    pub(in crate::probe) struct Sleeper {
        clock: Clock,
    }

    impl Sleeper {
        /// Creates a sleeper for times of `clock`.
        pub(in crate::probe) fn new(clock: &Clock) -> Self {
            Self { clock: *clock }
        }

        /// Sleeps until `deadline_ns`.
        pub(in crate::probe) fn sleep_until(&self, deadline_ns: u64) {
            std::thread::sleep(Duration::from_nanos(deadline_ns.saturating_sub(self.clock.now_ns())));
        }
    }
}
