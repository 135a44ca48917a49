//! The axis of a session: this process's clock beside the clock of the bus.

use std::collections::VecDeque;

use super::bus::{Bus, BusError};
use crate::clock::Clock;

/// How many samples are kept; the one with the shortest round trip is used.
const KEPT: usize = 16;

/// The offset of the bus's clock from this process's.
#[derive(Debug, Default)]
pub(super) struct Axis {
    /// Round trip, and offset, in nanoseconds.
    samples: VecDeque<(u64, i64)>,
}

impl Axis {
    /// Asks the bus for its time.
    ///
    /// # Errors
    /// When the bus does not answer.
    pub(super) fn measure(&mut self, bus: &mut Bus, clock: Clock) -> Result<(), BusError> {
        let before_ns = clock.now_ns();
        let bus_ns = bus.time_ns()?;
        self.push(before_ns, bus_ns, clock.now_ns());
        Ok(())
    }

    fn push(&mut self, before_ns: u64, bus_ns: u64, after_ns: u64) {
        let middle_ns = before_ns + (after_ns - before_ns) / 2;
        self.samples.push_back((after_ns - before_ns, bus_ns.wrapping_sub(middle_ns) as i64));
        if self.samples.len() > KEPT {
            self.samples.pop_front();
        }
    }

    /// Returns the bus's clock minus this process's, and the largest possible error, in nanoseconds: half of the shortest
    /// round trip.
    pub(super) fn offset(&self) -> Option<(i64, u64)> {
        self.samples.iter().min().map(|(round_trip_ns, offset_ns)| (*offset_ns, round_trip_ns / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts_and_its_half_is_the_error() {
        let mut axis = Axis::default();
        assert_eq!(axis.offset(), None);
        axis.push(1000, 1_000_600, 2000);
        axis.push(3000, 1_003_025, 3050);
        axis.push(5000, 1_009_000, 9000);
        assert_eq!(axis.offset(), Some((1_000_000, 25)));
        (0..KEPT as u64).for_each(|n| axis.push(n, 5_000_000 + n, n + 100));
        assert_eq!(axis.offset(), Some((4_999_950, 50)), "old samples do not count: clocks drift");
    }
}
