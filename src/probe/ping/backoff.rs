//! How long to wait before the next attempt to connect.

use std::time::Duration;

use rand::RngExt;

/// The pause after the first failure: 10 ms at the most.
const FIRST: Duration = Duration::from_millis(10);
/// The longest pause: 1 s.
const LONGEST: Duration = Duration::from_secs(1);

/// Pauses that double from 10 ms to 1 s, each shortened at random by up to half, so that many probes that lost
/// the same server do not come back to it at once.
#[derive(Debug)]
pub(super) struct Backoff {
    pause: Duration,
}

impl Backoff {
    /// At the beginning.
    pub(super) fn new() -> Self {
        Self { pause: FIRST }
    }

    /// The next pause.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST);
        rand::rng().random_range(pause / 2..=pause)
    }

    /// Back to the beginning: the connection has proved good.
    pub(super) fn reset(&mut self) {
        self.pause = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_second_and_start_anew_after_success() {
        let mut backoff = Backoff::new();
        let mut upper = FIRST;
        for _ in 0..12 {
            let pause = backoff.next();
            assert!(pause >= upper / 2 && pause <= upper, "{pause:?} of {upper:?}");
            upper = (upper * 2).min(LONGEST);
        }
        assert_eq!(upper, LONGEST);
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }
}
