//! Measures the offset between the clock of this process and the clock of the bus. All agents of a fleet take
//! the session's time from the bus.

use std::{collections::VecDeque, time::Duration};

use super::bus::{Bus, BusError};
use crate::clock::{Clock, TICK_NS};

/// The number of clock samples that are kept. redyno uses the sample with the smallest possible error.
const KEPT: usize = 16;
/// The assumed clock drift: two clocks move apart by at most 1/10,000 of the elapsed time (100 ppm).
const DRIFT: u64 = 10_000;
/// The interval between two clock samples.
pub(super) const MEASURE_EVERY: Duration = Duration::from_secs(1);

/// The measured offset of the bus's clock from the clock of this process.
#[derive(Debug, Default)]
pub(super) struct ClockOffset {
    samples: VecDeque<ClockSample>,
}

impl ClockOffset {
    /// Queries the time of the bus, and keeps this time as a sample.
    ///
    /// # Errors
    /// Fails if the bus does not answer.
    pub(super) fn measure(&mut self, bus: &mut Bus, clock: Clock) -> Result<(), BusError> {
        let before_ns = clock.now_ns();
        let bus_ns = bus.time_ns()?;
        self.push(before_ns, bus_ns, clock.now_ns());
        Ok(())
    }

    pub(super) fn push(&mut self, before_ns: u64, bus_ns: u64, after_ns: u64) {
        let middle_ns = before_ns + (after_ns - before_ns) / 2;
        let sample = ClockSample {
            at_ns: middle_ns,
            round_trip_ns: after_ns - before_ns,
            offset_ns: bus_ns.wrapping_sub(middle_ns) as i64,
        };
        // The offset has changed for good: this machine was suspended, or another server is the bus now.
        let is_other = |(offset_ns, error_ns): (i64, u64)| {
            offset_ns.abs_diff(sample.offset_ns) > error_ns + sample.error_ns(middle_ns)
        };
        if self.offset().is_some_and(is_other) {
            self.samples.clear();
        }
        self.samples.push_back(sample);
        if self.samples.len() > KEPT {
            self.samples.pop_front();
        }
    }

    /// Returns the offset (the bus's clock minus the clock of this process) and its largest possible error until the
    /// next sample, both in nanoseconds. The error is half of the sample's round trip plus the drift since the sample.
    pub(super) fn offset(&self) -> Option<(i64, u64)> {
        let until_ns = self.samples.back()?.at_ns + MEASURE_EVERY.as_nanos() as u64;
        let known = self.samples.iter().map(|sample| (sample.error_ns(until_ns), sample.offset_ns));
        known.min().map(|(error_ns, offset_ns)| (offset_ns, error_ns))
    }
}

/// The largest change of the correction that is applied at once, in nanoseconds. A larger change is applied
/// only if it lasts.
const STEP_NS: u64 = 100_000_000;
/// The longest time until the session and the agent notice that the clock of the bus was adjusted, in nanoseconds. The
/// session and the agent measure this clock at least once a second.
const NOTICED_WITHIN_NS: u64 = 2_500_000_000;

/// Converts an agent's own clock to times of the session. The conversion needs two values: the start of the session,
/// and the offset of the agent's own clock. Both values are measured with the clock of the bus. If the clock of the bus
/// is adjusted, the two values change at different moments. The two values contradict each other until both are new.
#[derive(Debug)]
pub(super) struct SessionTime {
    pub(super) offset: ClockOffset,
    /// The start of the session by the clock of the bus, in nanoseconds since 1970.
    zero_ns: u64,
    correction_ns: i64,
    /// The time when the two values began to contradict the current correction, by the agent's own clock.
    differs_since_ns: Option<u64>,
}

impl SessionTime {
    /// Returns the conversion with the measured offset, for a session that began at `zero_ns`.
    pub(super) fn new(offset: ClockOffset, zero_ns: u64) -> Self {
        let mut time = Self { offset, zero_ns, correction_ns: 0, differs_since_ns: None };
        time.correction_ns = time.measured_ns();
        time
    }

    /// Returns the difference between two clocks, in nanoseconds: the time since the start of the session,
    /// minus the time of this process's clock.
    pub(super) fn correction_ns(&self) -> i64 {
        self.correction_ns
    }

    /// Returns the same difference in ticks (quarter seconds).
    pub(super) fn correction_ticks(&self) -> i64 {
        (self.correction_ns as f64 / TICK_NS as f64).round() as i64
    }

    /// Queries the time of the bus. If the bus does not answer, the earlier samples remain.
    pub(super) fn measure(&mut self, bus: &mut Bus, clock: Clock) {
        drop(self.offset.measure(bus, clock));
        self.renew(clock.now_ns());
    }

    /// Takes the start of the session from an order.
    pub(super) fn begun_at(&mut self, zero_ns: u64, now_ns: u64) {
        self.zero_ns = zero_ns;
        self.renew(now_ns);
    }

    fn measured_ns(&self) -> i64 {
        self.offset.offset().map_or(0, |(offset_ns, _)| offset_ns.wrapping_sub(self.zero_ns as i64))
    }

    fn renew(&mut self, now_ns: u64) {
        let measured_ns = self.measured_ns();
        if measured_ns.abs_diff(self.correction_ns) > STEP_NS {
            let since_ns = *self.differs_since_ns.get_or_insert(now_ns);
            if now_ns.saturating_sub(since_ns) < NOTICED_WITHIN_NS {
                return;
            }
        }
        (self.correction_ns, self.differs_since_ns) = (measured_ns, None);
    }
}

/// A sample of the bus's clock.
#[derive(Debug)]
struct ClockSample {
    /// This process's clock at the middle of the round trip.
    at_ns: u64,
    round_trip_ns: u64,
    /// The bus's clock minus the clock of this process.
    offset_ns: i64,
}

impl ClockSample {
    /// Returns the largest possible error of the sample's offset at `at_ns`.
    fn error_ns(&self, at_ns: u64) -> u64 {
        self.round_trip_ns / 2 + at_ns.saturating_sub(self.at_ns) / DRIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    #[test]
    fn the_shortest_round_trip_is_used_unless_it_is_old() {
        let mut axis = ClockOffset::default();
        assert_eq!(axis.offset(), None);
        axis.push(1000, 1_000_600, 2000);
        axis.push(3000, 1_003_025, 3050);
        axis.push(5000, 1_009_000, 9000);
        assert_eq!(axis.offset(), Some((1_000_000, 25 + 100_000)), "100 us are the drift of a second");
        axis.push(10 * SECOND_NS, 10 * SECOND_NS + 1_300_000, 10 * SECOND_NS + 200_000);
        let (offset_ns, error_ns) = axis.offset().unwrap();
        assert_eq!((offset_ns, error_ns), (1_200_000, 200_000), "the former ones may be wrong by 1.1 ms");
    }

    #[test]
    fn a_clock_that_stopped_is_noticed_at_once() {
        let mut axis = ClockOffset::default();
        (0..5).for_each(|n| axis.push(n * SECOND_NS, n * SECOND_NS + 50, n * SECOND_NS + 100));
        axis.push(5 * SECOND_NS, 65 * SECOND_NS + 500_000, 5 * SECOND_NS + 1_000_000);
        assert_eq!(axis.offset(), Some((60 * SECOND_NS as i64, 600_000)));
    }

    #[test]
    fn a_clock_of_the_bus_that_is_set_changes_no_time_of_the_session() {
        for step_ns in [3600 * SECOND_NS as i64, -60 * SECOND_NS as i64] {
            for order_comes_first in [true, false] {
                let zero_ns = 1_700_000_000 * SECOND_NS;
                let stepped_ns = zero_ns.wrapping_add_signed(step_ns);
                let mut offset = ClockOffset::default();
                offset.push(0, zero_ns + 50, 100);
                let mut time = SessionTime::new(offset, zero_ns);
                let measure = |time: &mut SessionTime| {
                    time.offset.push(SECOND_NS, stepped_ns + SECOND_NS + 50, SECOND_NS + 100);
                    time.renew(SECOND_NS);
                };
                if !order_comes_first {
                    measure(&mut time);
                    assert_eq!(time.correction_ns(), 0);
                }
                time.begun_at(stepped_ns, SECOND_NS * 3 / 2);
                assert_eq!(time.correction_ns(), 0);
                if order_comes_first {
                    measure(&mut time);
                }
                assert_eq!((time.correction_ns(), time.differs_since_ns), (0, None));
            }
        }
    }

    #[test]
    fn a_difference_that_stays_is_believed() {
        let mut offset = ClockOffset::default();
        offset.push(0, 50, 100);
        let mut time = SessionTime::new(offset, 0);
        let corrections = [1, 2, 3, 4].map(|second| {
            let now_ns = second * SECOND_NS;
            time.offset.push(now_ns, now_ns + 9 * SECOND_NS + 50, now_ns + 100);
            time.renew(now_ns);
            time.correction_ns()
        });
        assert_eq!(corrections, [0, 0, 0, 9 * SECOND_NS as i64], "this process was suspended for 9 s");
    }

    /// Tests clocks that are 3 s apart and drift by 100 ppm in both directions. A round trip to the bus takes 0.1 to 3
    /// ms, and the request takes longer than the reply.
    #[test]
    fn the_axis_of_drifting_clocks_is_within_the_stated_error() {
        let own_ns = |at_ns: u64, apart_ns: u64, ppm: i64| {
            (apart_ns + at_ns).saturating_add_signed(at_ns as i64 / 1_000_000 * ppm)
        };
        let bus_ns = |at_ns: u64| 1_700_000_000 * SECOND_NS + at_ns;
        for (apart_ns, ppm) in [(0, 100), (3 * SECOND_NS, -100), (7 * SECOND_NS, 0)] {
            let own = |at_ns: u64| own_ns(at_ns, apart_ns, ppm);
            let (mut axis, mut worst_ns) = (ClockOffset::default(), 0);
            for second in 0..600_u64 {
                let at_ns = second * SECOND_NS;
                let there_ns = 100_000 * (1 + second * 7 % 23);
                axis.push(own(at_ns), bus_ns(at_ns + there_ns), own(at_ns + there_ns + 50_000));
                for later_ms in [4, 500, 990] {
                    let now_ns = at_ns + later_ms * 1_000_000;
                    let (offset_ns, error_ns) = axis.offset().unwrap();
                    let wrong_ns = own(now_ns).wrapping_add_signed(offset_ns).abs_diff(bus_ns(now_ns));
                    assert!(wrong_ns <= error_ns, "{wrong_ns} ns of {error_ns} ns after {second} s");
                    worst_ns = worst_ns.max(error_ns);
                }
            }
            assert!(worst_ns < 2_000_000, "{worst_ns}");
        }
    }
}
