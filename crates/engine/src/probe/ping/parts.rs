//! Splits the round trip of a PING into parts (client, network and server, client) by the kernel's
//! timestamps.
//!
//! ```text
//!   due      written   left the host            in our kernel   wait returned
//!    ├─────────┴──────────┼───────────── ─ ─ ────────┼────────────────┤
//!    │        send        │    kernel (network,      │     pickup     │
//!    │     (ours: late)   │       server)            │  (ours: late)  │
//!    └──────────────────────────── rtt ───────────────────────────────┘
//! ```
//! The kernel's timestamps use the wall clock, which may be set at any time. All other times use the
//! monotonic clock. redyno reads the difference between the two clocks when it writes a PING and when it
//! reads the reply. If the difference has changed, redyno does not use the timestamps of this PING.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::clock::Clock;

/// The largest number of attempts to read both clocks. An attempt fails if the thread is interrupted between the two
/// readings.
const READINGS: usize = 4;
/// The longest time between two clock readings, in ns, at which the two clocks count as read at the same time.
const CLOSE_ENOUGH_NS: u64 = 200;
/// The error that rounding and the order of readings can add to the difference between the two clocks.
const ROUNDING_NS: u64 = 100;
/// The longest accepted time between the readings of the two clocks: 2 µs. A longer time would falsify parts of a few
/// microseconds.
const MOST_DOUBT_NS: u64 = 2_000;

/// How far the wall clock is ahead of the session's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wall {
    ahead_ns: i64,
    /// The largest possible error of `ahead_ns`. The error is above 0 because the two clocks cannot be read at the same
    /// instant.
    doubt_ns: u64,
}

impl Wall {
    /// Reads both clocks. Repeats both readings if the thread was interrupted between the readings.
    pub(super) fn read(clock: &Clock) -> Self {
        let mut best = Self::read_once(clock);
        for _ in 1..READINGS {
            if best.doubt_ns <= CLOSE_ENOUGH_NS {
                break;
            }
            let again = Self::read_once(clock);
            if again.doubt_ns < best.doubt_ns {
                best = again;
            }
        }
        best
    }

    fn read_once(clock: &Clock) -> Self {
        let before_ns = clock.now_ns();
        let wall = SystemTime::now();
        let after_ns = clock.now_ns();
        // If the clock is set to a time before 1970, 1970 is used instead. The wrong difference to the
        // session's clock is noticed later.
        let wall_ns = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        Self::of(before_ns, wall_ns, after_ns)
    }

    /// Creates a reading of both clocks. The wall clock showed `wall_ns`, between the times `before_ns` and `after_ns`
    /// of the session's clock.
    fn of(before_ns: u64, wall_ns: i64, after_ns: u64) -> Self {
        Self { ahead_ns: wall_ns - before_ns as i64, doubt_ns: after_ns - before_ns }
    }

    /// Converts a wall-clock timestamp to the session's clock. For times before the beginning of the session, the
    /// result is negative.
    fn on_our_clock(self, wall_ns: i64) -> i64 {
        wall_ns - self.ahead_ns
    }

    /// Returns whether the wall clock was set between the reading `earlier` and this reading.
    fn differs_from(self, earlier: Self) -> bool {
        self.ahead_ns.abs_diff(earlier.ahead_ns) > self.doubt_ns + earlier.doubt_ns + ROUNDING_NS
    }
}

/// The known times of a PING when its reply is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamps {
    /// The due time of the PING, in ns.
    pub due_ns: u64,
    /// The time just before the PING was written.
    pub before_write_ns: u64,
    /// The difference between the clocks just before the PING was written.
    pub wall_then: Wall,
    /// The kernel's timestamp of the PING's departure.
    pub left_wall_ns: Option<i64>,
    /// The kernel's timestamp of the arrival of the reply's last byte.
    pub arrived_wall_ns: Result<i64, PartsUnknown>,
    /// The time when the thread's wait for the reply returned, in ns.
    pub at_ns: u64,
    /// The difference between the clocks when the reply is read.
    pub wall_now: Wall,
}

/// The parts of a round trip. The sum of the parts equals the round trip, apart from the error of the clock readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundTripParts {
    /// The time from the due time of the PING to its departure.
    pub send_ns: u64,
    /// The time from the departure of the PING to the arrival of its reply, according to the kernel's timestamps.
    pub kernel_ns: u64,
    /// The time from the arrival of the reply until the thread's wait for the reply returned.
    pub pickup_ns: u64,
}

/// The reason why the parts of a round trip are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartsUnknown {
    /// The read also returned bytes after the reply. The kernel's timestamp belongs to the last byte of a
    /// read, so the reply itself has no timestamp.
    SharedRead,
    /// The kernel has no timestamp for the PING or for its reply.
    NoStamp,
    /// The thread was interrupted at every reading of the two clocks.
    UncertainClock,
    /// The wall clock was set during the round trip.
    ClockStep,
    /// The timestamps are out of order. Either the reply arrived between the wake-up and the read, or the wall clock
    /// was set and set back.
    Order,
}

impl PartsUnknown {
    /// Returns the kind of the round trip for the counts.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::SharedRead => "shared read",
            Self::NoStamp => "no stamp",
            Self::UncertainClock => "doubt",
            Self::ClockStep => "clock step",
            Self::Order => "order",
        }
    }
}

impl Stamps {
    /// Computes the parts.
    ///
    /// # Errors
    /// Fails if the parts are unknown, and returns the reason. Unknown parts are never estimated.
    pub(super) fn parts(&self) -> Result<RoundTripParts, PartsUnknown> {
        let arrived_wall_ns = self.arrived_wall_ns?;
        let left_wall_ns = self.left_wall_ns.ok_or(PartsUnknown::NoStamp)?;
        if self.wall_now.doubt_ns.max(self.wall_then.doubt_ns) > MOST_DOUBT_NS {
            return Err(PartsUnknown::UncertainClock);
        }
        if self.wall_now.differs_from(self.wall_then) {
            return Err(PartsUnknown::ClockStep);
        }
        let left_ns = self.wall_now.on_our_clock(left_wall_ns);
        let arrived_ns = self.wall_now.on_our_clock(arrived_wall_ns);
        let doubt_ns = (self.wall_now.doubt_ns + ROUNDING_NS) as i64;
        let in_order = left_ns + doubt_ns >= self.before_write_ns as i64
            && arrived_wall_ns >= left_wall_ns
            && arrived_ns <= self.at_ns as i64 + doubt_ns;
        if !in_order {
            return Err(PartsUnknown::Order);
        }
        Ok(RoundTripParts {
            // Because of the reading error, a part may come out below zero.
            send_ns: (left_ns - self.due_ns as i64).max(0) as u64,
            kernel_ns: (arrived_wall_ns - left_wall_ns) as u64,
            pickup_ns: (self.at_ns as i64 - arrived_ns).max(0) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The difference between the clocks. The wall clock is in 2026 when the session's clock reads 0.
    const AHEAD_NS: i64 = 1_767_225_600_000_000_000;

    fn wall(ahead_ns: i64) -> Wall {
        Wall { ahead_ns, doubt_ns: 50 }
    }

    /// Returns the times of a PING that was due at 10 µs, written after 11 µs and left at 13 µs. The reply arrived at
    /// 80 µs and was noticed at 95 µs.
    fn usual() -> Stamps {
        Stamps {
            due_ns: 10_000,
            before_write_ns: 11_000,
            wall_then: wall(AHEAD_NS),
            left_wall_ns: Some(AHEAD_NS + 13_000),
            arrived_wall_ns: Ok(AHEAD_NS + 80_000),
            at_ns: 95_000,
            wall_now: wall(AHEAD_NS + 20),
        }
    }

    /// Simulates a wall clock that is set by `step_ns` (forward, or back if negative) after `after_ns` of the session's
    /// clock.
    fn stepped(step_ns: i64, after_ns: i64) -> Result<RoundTripParts, PartsUnknown> {
        let stamp = |at_ns: i64| AHEAD_NS + at_ns + if at_ns > after_ns { step_ns } else { 0 };
        let usual = usual();
        Stamps {
            left_wall_ns: Some(stamp(13_000)),
            arrived_wall_ns: Ok(stamp(80_000)),
            wall_now: wall(AHEAD_NS + step_ns),
            ..usual
        }
        .parts()
    }

    #[test]
    fn the_parts_add_up_to_the_round_trip() {
        let stamps = Stamps { wall_now: wall(AHEAD_NS), ..usual() };
        let parts = stamps.parts().unwrap();
        assert_eq!(parts, RoundTripParts { send_ns: 3_000, kernel_ns: 67_000, pickup_ns: 15_000 });
        let sum = parts.send_ns + parts.kernel_ns + parts.pickup_ns;
        assert_eq!(sum, stamps.at_ns - stamps.due_ns);
    }

    #[test]
    fn a_wall_clock_that_is_set_during_a_round_trip_gives_no_parts_and_is_counted() {
        for step_ns in [-3_600_000_000_000, -50_000, -1_000, 1_000, 50_000, 3_600_000_000_000] {
            for after_ns in [12_000, 40_000, 90_000] {
                assert_eq!(
                    stepped(step_ns, after_ns),
                    Err(PartsUnknown::ClockStep),
                    "{step_ns} at {after_ns}"
                );
            }
        }
        assert_eq!(PartsUnknown::ClockStep.kind(), "clock step");
    }

    #[test]
    fn a_wall_clock_that_is_set_and_set_back_gives_no_parts() {
        let usual = usual();
        for stamps in [
            Stamps { left_wall_ns: Some(AHEAD_NS - 5_000_000), ..usual },
            Stamps { left_wall_ns: Some(AHEAD_NS + 5_000_000), ..usual },
            Stamps { arrived_wall_ns: Ok(AHEAD_NS + 5_000_000), ..usual },
            Stamps { arrived_wall_ns: Ok(AHEAD_NS - 5_000_000), ..usual },
        ] {
            assert_eq!(stamps.parts(), Err(PartsUnknown::Order), "{stamps:?}");
        }
    }

    #[test]
    fn a_reply_that_arrives_after_the_wake_up_gives_no_negative_pickup() {
        let late = Stamps { arrived_wall_ns: Ok(AHEAD_NS + 95_500), ..usual() };
        assert_eq!(late.parts(), Err(PartsUnknown::Order));
        // Within the error of the readings the part is zero.
        let together = Stamps { arrived_wall_ns: Ok(AHEAD_NS + 95_100), ..usual() };
        assert_eq!(together.parts().map(|parts| parts.pickup_ns), Ok(0));
    }

    #[test]
    fn round_trips_without_a_timestamp_are_left_out() {
        let unsent = Stamps { left_wall_ns: None, ..usual() };
        assert_eq!(unsent.parts(), Err(PartsUnknown::NoStamp));
        let shared = Stamps { arrived_wall_ns: Err(PartsUnknown::SharedRead), ..usual() };
        assert_eq!(shared.parts(), Err(PartsUnknown::SharedRead));
        let slow = Stamps { wall_then: Wall { doubt_ns: 4_000_000, ..usual().wall_then }, ..usual() };
        assert_eq!(slow.parts(), Err(PartsUnknown::UncertainClock));
    }

    #[test]
    fn two_readings_agree_if_the_clocks_are_not_set() {
        let clock = Clock::start();
        // An interruption between the readings is an error of reading, not a clock step.
        let slow = Wall::of(1_000, AHEAD_NS + 400_000, 500_000);
        assert!(!slow.differs_from(wall(AHEAD_NS)) && !wall(AHEAD_NS).differs_from(slow));
        let (first, second) = (Wall::read(&clock), Wall::read(&clock));
        assert!(first.ahead_ns.abs_diff(second.ahead_ns) <= first.doubt_ns + second.doubt_ns + ROUNDING_NS);
    }
}
