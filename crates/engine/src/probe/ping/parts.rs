//! The parts of a round trip, from the kernel's stamps. Pure, but for one reading of two clocks.
//!
//! ```text
//!   due      written   left the host            in our kernel   wait returned
//!    ├─────────┴──────────┼───────────── ─ ─ ────────┼────────────────┤
//!    │        send        │    kernel (network,      │     pickup     │
//!    │     (ours: late)   │       server)            │  (ours: late)  │
//!    └──────────────────────────── rtt ───────────────────────────────┘
//! ```
//! The kernel stamps by the wall clock, which may be stepped at any moment; everything else here is by the
//! monotonic one. The distance between the two is read when a PING is written and again when its answer is
//! read: if it changed, the stamps of that PING say nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::clock::Clock;

/// How often to read both clocks when the thread was interrupted in between.
const READINGS: usize = 4;
/// Readings closer together than this are as good as simultaneous.
const CLOSE_ENOUGH_NS: u64 = 200;
/// What rounding and the order of readings can do to a difference of two distances.
const ROUNDING_NS: u64 = 100;
/// Readings further apart say too little about parts of some microseconds.
const MOST_DOUBT_NS: u64 = 2_000;

/// How far the wall clock is ahead of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wall {
    ahead_ns: i64,
    /// By how much `ahead_ns` may be wrong, since the two clocks cannot be read at once.
    doubt_ns: u64,
}

impl Wall {
    /// Reads both clocks, again if the thread was interrupted in between.
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
        // A clock set before 1970 reads as 1970: a distance like any other, and a wrong one is noticed.
        let wall_ns = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        Self::of(before_ns, wall_ns, after_ns)
    }

    /// The wall clock read `wall_ns` at some moment between `before_ns` and `after_ns` of ours.
    fn of(before_ns: u64, wall_ns: i64, after_ns: u64) -> Self {
        Self { ahead_ns: wall_ns - before_ns as i64, doubt_ns: after_ns - before_ns }
    }

    /// A stamp of the wall clock on ours; negative before the session began.
    fn on_our_clock(self, wall_ns: i64) -> i64 {
        wall_ns - self.ahead_ns
    }

    /// Whether the wall clock was set between the two readings.
    fn differs_from(self, earlier: Self) -> bool {
        self.ahead_ns.abs_diff(earlier.ahead_ns) > self.doubt_ns + earlier.doubt_ns + ROUNDING_NS
    }
}

/// What is known of a PING when its answer is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamps {
    /// When it was due.
    pub due_ns: u64,
    /// A moment before it was written.
    pub before_write_ns: u64,
    /// Both clocks then.
    pub wall_then: Wall,
    /// The kernel's stamp of its departure.
    pub left_wall_ns: Option<i64>,
    /// The kernel's stamp of the arrival of its answer's last byte.
    pub arrived_wall_ns: Result<i64, LeftOut>,
    /// When the wait returned that the answer ended.
    pub at_ns: u64,
    /// Both clocks now.
    pub wall_now: Wall,
}

/// The parts of a round trip, which add up to it but for the doubt of the clocks' readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    /// From when the PING was due to its departure.
    pub send_ns: u64,
    /// From its departure to the arrival of its answer, both in the kernel.
    pub kernel_ns: u64,
    /// From there to the return of the wait for it.
    pub pickup_ns: u64,
}

/// Why a round trip has no parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// Bytes after the answer were read with it, and the kernel stamps the last byte of a read only.
    SharedRead,
    /// The kernel gave no stamp for the PING or for its answer.
    NoStamp,
    /// The thread was interrupted each time that it read the two clocks.
    Doubt,
    /// The wall clock was set meanwhile.
    ClockStep,
    /// The stamps contradict the order of things: an answer that came between the wake-up and the read, which is
    /// younger than the wake-up; or a wall clock that was set and set back.
    Order,
}

impl LeftOut {
    /// By which kind it is counted.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::SharedRead => "shared read",
            Self::NoStamp => "no stamp",
            Self::Doubt => "doubt",
            Self::ClockStep => "clock step",
            Self::Order => "order",
        }
    }
}

impl Stamps {
    /// The parts.
    ///
    /// # Errors
    /// Why they are unknown; never a guess.
    pub(super) fn parts(&self) -> Result<Parts, LeftOut> {
        let arrived_wall_ns = self.arrived_wall_ns?;
        let left_wall_ns = self.left_wall_ns.ok_or(LeftOut::NoStamp)?;
        if self.wall_now.doubt_ns.max(self.wall_then.doubt_ns) > MOST_DOUBT_NS {
            return Err(LeftOut::Doubt);
        }
        if self.wall_now.differs_from(self.wall_then) {
            return Err(LeftOut::ClockStep);
        }
        let left_ns = self.wall_now.on_our_clock(left_wall_ns);
        let arrived_ns = self.wall_now.on_our_clock(arrived_wall_ns);
        let doubt_ns = (self.wall_now.doubt_ns + ROUNDING_NS) as i64;
        let in_order = left_ns + doubt_ns >= self.before_write_ns as i64
            && arrived_wall_ns >= left_wall_ns
            && arrived_ns <= self.at_ns as i64 + doubt_ns;
        if !in_order {
            return Err(LeftOut::Order);
        }
        Ok(Parts {
            // Within the doubt of the readings either may come out below zero.
            send_ns: (left_ns - self.due_ns as i64).max(0) as u64,
            kernel_ns: (arrived_wall_ns - left_wall_ns) as u64,
            pickup_ns: (self.at_ns as i64 - arrived_ns).max(0) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026 on the wall, when ours reads 0.
    const AHEAD_NS: i64 = 1_767_225_600_000_000_000;

    fn wall(ahead_ns: i64) -> Wall {
        Wall { ahead_ns, doubt_ns: 50 }
    }

    /// Due at 10 µs, written after 11 µs, left at 13 µs, arrived at 80 µs, noticed at 95 µs.
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

    /// The wall clock is set forward by `step_ns` (back, if negative) after `after_ns` of ours.
    fn stepped(step_ns: i64, after_ns: i64) -> Result<Parts, LeftOut> {
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
        assert_eq!(parts, Parts { send_ns: 3_000, kernel_ns: 67_000, pickup_ns: 15_000 });
        let sum = parts.send_ns + parts.kernel_ns + parts.pickup_ns;
        assert_eq!(sum, stamps.at_ns - stamps.due_ns);
    }

    #[test]
    fn a_wall_clock_that_is_set_meanwhile_gives_no_parts_and_is_counted() {
        for step_ns in [-3_600_000_000_000, -50_000, -1_000, 1_000, 50_000, 3_600_000_000_000] {
            for after_ns in [12_000, 40_000, 90_000] {
                assert_eq!(stepped(step_ns, after_ns), Err(LeftOut::ClockStep), "{step_ns} at {after_ns}");
            }
        }
        assert_eq!(LeftOut::ClockStep.kind(), "clock step");
    }

    #[test]
    fn a_wall_clock_that_is_set_and_set_back_gives_no_nonsense() {
        let usual = usual();
        for stamps in [
            Stamps { left_wall_ns: Some(AHEAD_NS - 5_000_000), ..usual },
            Stamps { left_wall_ns: Some(AHEAD_NS + 5_000_000), ..usual },
            Stamps { arrived_wall_ns: Ok(AHEAD_NS + 5_000_000), ..usual },
            Stamps { arrived_wall_ns: Ok(AHEAD_NS - 5_000_000), ..usual },
        ] {
            assert_eq!(stamps.parts(), Err(LeftOut::Order), "{stamps:?}");
        }
    }

    #[test]
    fn a_reply_that_is_younger_than_the_wake_up_is_no_pickup_below_zero() {
        let late = Stamps { arrived_wall_ns: Ok(AHEAD_NS + 95_500), ..usual() };
        assert_eq!(late.parts(), Err(LeftOut::Order));
        // Within the doubt of the readings it is one of zero.
        let together = Stamps { arrived_wall_ns: Ok(AHEAD_NS + 95_100), ..usual() };
        assert_eq!(together.parts().map(|parts| parts.pickup_ns), Ok(0));
    }

    #[test]
    fn what_has_no_stamp_is_left_out() {
        let unsent = Stamps { left_wall_ns: None, ..usual() };
        assert_eq!(unsent.parts(), Err(LeftOut::NoStamp));
        let shared = Stamps { arrived_wall_ns: Err(LeftOut::SharedRead), ..usual() };
        assert_eq!(shared.parts(), Err(LeftOut::SharedRead));
        let slow = Stamps { wall_then: Wall { doubt_ns: 4_000_000, ..usual().wall_then }, ..usual() };
        assert_eq!(slow.parts(), Err(LeftOut::Doubt));
    }

    #[test]
    fn two_readings_of_clocks_that_nobody_sets_agree() {
        let clock = Clock::start();
        // An interruption between the readings is doubt, not a step.
        let slow = Wall::of(1_000, AHEAD_NS + 400_000, 500_000);
        assert!(!slow.differs_from(wall(AHEAD_NS)) && !wall(AHEAD_NS).differs_from(slow));
        let (first, second) = (Wall::read(&clock), Wall::read(&clock));
        assert!(first.ahead_ns.abs_diff(second.ahead_ns) <= first.doubt_ns + second.doubt_ns + ROUNDING_NS);
    }
}
