//! redyno's only monotonic clock, in nanoseconds since the session began.
//!
//! Every timestamp in redyno is a `u64` of nanoseconds from a [`Clock`]. The names of these variables end in
//! `_ns`. redyno uses wall-clock time only for dates that it shows or sends.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// The length of one tick, 250 ms. Workers and probes end an interval of measurement at every multiple of 250 ms. The
/// intervals of all threads therefore end at the same times.
pub const TICK_NS: u64 = SECOND_NS / 4;

/// A monotonic clock that starts at 0 when the session begins. All copies read the same time.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts a clock that reads 0 now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Returns a clock that began `ago` before now, or `None` if the machine's own clock began later.
    pub fn started_ago(ago: Duration) -> Option<Self> {
        Instant::now().checked_sub(ago).map(|origin| Self { origin })
    }

    /// Returns the nanoseconds since the session began.
    pub fn now_ns(&self) -> u64 {
        // 2^64 ns are 584 years.
        self.origin.elapsed().as_nanos() as u64
    }

    /// Returns the time until the next moment that is `after_ns` after a multiple of `every_ns`. `every_ns`
    /// must be longer than `after_ns`.
    pub fn until(&self, every_ns: u64, after_ns: u64) -> Duration {
        Duration::from_nanos(every_ns - (self.now_ns() + every_ns - after_ns) % every_ns)
    }
}

/// Returns the end of the tick that contains `now_ns`. The end is the next multiple of [`TICK_NS`], and is always later
/// than `now_ns`.
pub fn next_tick_ns(now_ns: u64) -> u64 {
    (now_ns / TICK_NS + 1) * TICK_NS
}

/// Returns the number of ticks that have ended by `at_ns`. All threads count the same ticks.
pub fn tick_of(at_ns: u64) -> u64 {
    at_ns / TICK_NS
}

/// Converts nanoseconds to seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

/// Converts seconds to nanoseconds. A negative time gives 0.
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64).max(0.0) as u64
}

/// Returns the wall-clock time in milliseconds since 1970, to show or send it. Measurements never use this time.
pub fn unix_ms() -> u64 {
    unix_ns() / 1_000_000
}

/// Returns the wall-clock time in nanoseconds since 1970, to compare it with the clocks of other machines.
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// Returns the offset of this machine's time zone from UTC, in seconds, at the time `unix_s` (seconds since
/// 1970). East of UTC, the offset is positive. Returns `None` if the system does not know the offset.
pub fn utc_offset_s(unix_s: i64) -> Option<i32> {
    let time = libc::time_t::from(unix_s);
    // SAFETY: all fields of `tm` are numbers or pointers, for which zero is a value.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call, and nothing in this process changes the environment meanwhile.
    let is_known = unsafe { !libc::localtime_r(&raw const time, &raw mut local).is_null() };
    is_known.then_some(local.tm_gmtoff).and_then(|offset_s| i32::try_from(offset_s).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_a_moment_after_a_multiple() {
        let clock = Clock::start();
        let before_ns = clock.now_ns();
        let wait_ns = clock.until(1_000_000, 300).as_nanos() as u64;
        // The clock may not have reached 300 ns yet.
        let end_ns = (before_ns + wait_ns + 999_700).next_multiple_of(1_000_000) - 999_700;
        assert!((1..=1_000_000).contains(&wait_ns) && end_ns <= clock.now_ns() + wait_ns);
    }

    #[test]
    fn a_tick_ends_at_the_next_multiple_even_on_the_border() {
        assert_eq!(next_tick_ns(0), TICK_NS);
        assert_eq!(next_tick_ns(TICK_NS - 1), TICK_NS);
        assert_eq!(next_tick_ns(TICK_NS), 2 * TICK_NS);
    }

    #[test]
    fn the_offset_of_local_time_is_less_than_a_day() {
        assert!(utc_offset_s(1_700_000_000).is_some_and(|offset_s| offset_s.abs() < 86_400));
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let clock = Clock::start();
        let first = clock.now_ns();
        assert!(clock.now_ns() >= first);
    }
}
