//! The pause before the next attempt to connect to a server, after a failed attempt.

use std::time::Duration;

use rand::{Rng, RngExt};

/// The longest pause after the first failure: 10 ms.
const FIRST: Duration = Duration::from_millis(10);
/// The longest pause: 1 s.
const LONGEST: Duration = Duration::from_secs(1);

/// Pauses between attempts to connect. The pauses double from 10 ms to 1 s. Each pause is shortened by a random part,
/// at most a half. Connections that were lost at the same time therefore reconnect at different times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackOff {
    failures: u32,
}

impl BackOff {
    /// Creates the pauses of a connection before its first failed attempt.
    pub const fn new() -> Self {
        Self { failures: 0 }
    }

    /// Returns the next pause.
    pub fn next(&mut self, random: &mut impl Rng) -> Duration {
        // 2^7 times the first pause is already longer than the longest pause.
        let pause = (FIRST * (1 << self.failures.min(7))).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        random.random_range(pause / 2..=pause)
    }

    /// Returns whether an attempt to connect has failed since the last success.
    #[inline]
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Resets the pauses, because the connection works. Returns whether an attempt to connect had failed since the last
    /// success.
    pub fn reset(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_second_and_start_anew_after_success() {
        let mut back_off = BackOff::new();
        let mut upper = FIRST;
        for _ in 0..12 {
            let pause = back_off.next(&mut rand::rng());
            assert!(pause >= upper / 2 && pause <= upper, "{pause:?} of {upper:?}");
            upper = (upper * 2).min(LONGEST);
        }
        assert_eq!(upper, LONGEST);
        assert!(back_off.reset());
        assert!(back_off.next(&mut rand::rng()) <= FIRST);
    }
}
