//! Wakes a worker's poll loop at a moment finer than the millisecond that poll's own timeout knows.
//!
//! On Linux a timerfd in the poll set; elsewhere the poll's timeout has to do, and a paced send can be up to a
//! millisecond late.

use std::{io, time::Duration};

use mio::{Registry, Token};

/// A one-shot timer that a poll loop watches.
#[cfg(target_os = "linux")]
pub(super) struct Alarm {
    timer: rustix::fd::OwnedFd,
    set_for_ns: Option<u64>,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// A timer that is not set, watched by `registry` under `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use std::os::fd::AsRawFd;

        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // Each expiry is a new edge, so the timer need not be read.
        registry.register(&mut mio::unix::SourceFd(&timer.as_raw_fd()), token, mio::Interest::READABLE)?;
        Ok(Self { timer, set_for_ns: None })
    }

    /// Sets it to go off at `at_ns`. What the poll's timeout has to see to itself: nothing.
    pub(super) fn set(&mut self, at_ns: u64, now_ns: u64) -> io::Result<Option<Duration>> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

        if self.set_for_ns != Some(at_ns) {
            // A time of zero would switch the timer off.
            let wait = Duration::from_nanos(at_ns.saturating_sub(now_ns).max(1));
            let it_value = Timespec { tv_sec: wait.as_secs() as _, tv_nsec: wait.subsec_nanos().into() };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            self.set_for_ns = Some(at_ns);
        }
        Ok(None)
    }
}

/// Without timerfd: nothing to hold.
#[cfg(not(target_os = "linux"))]
pub(super) struct Alarm;

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// Nothing to watch.
    pub(super) fn new(_: &Registry, _: Token) -> io::Result<Self> {
        Ok(Self)
    }

    /// What the poll's timeout has to see to itself: all of it.
    pub(super) fn set(&mut self, at_ns: u64, now_ns: u64) -> io::Result<Option<Duration>> {
        Ok(Some(Duration::from_nanos(at_ns.saturating_sub(now_ns))))
    }
}
