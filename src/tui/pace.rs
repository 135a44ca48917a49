//! How often frames for new data are drawn: at most ten times a second, and less often on a slow line.
//!
//! A terminal that is slow to take a frame gets frames so seldom that half of its time stays free. The next frame then answers
//! a key press without waiting behind a queue of old ones.

use std::time::{Duration, Instant};

/// The shortest time between two frames.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest time, once the terminal takes frames again.
const LONGEST: Duration = Duration::from_secs(2);

/// The past frames, from which the time of the next one follows.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    began: Instant,
    /// How long the terminal needed for the last frame.
    took: Duration,
}

impl Pace {
    /// Call this when a frame begins.
    pub fn begun(now: Instant) -> Self {
        Self { began: now, took: Duration::ZERO }
    }

    /// Call this when the terminal has taken all of the frame.
    pub fn taken(&mut self, now: Instant) {
        self.took = now.saturating_duration_since(self.began);
    }

    /// Whether a frame may be drawn only because of new data.
    pub fn allows(&self, now: Instant) -> bool {
        let apart = (self.took * 2).clamp(SHORTEST, LONGEST.max(self.took));
        now.saturating_duration_since(self.began) >= apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(took_ms: u64) -> u64 {
        let start = Instant::now();
        let mut pace = Pace::begun(start);
        pace.taken(start + Duration::from_millis(took_ms));
        let allowed = |ms: &u64| pace.allows(start + Duration::from_millis(*ms));
        (took_ms..100_000).find(allowed).unwrap() - took_ms
    }

    #[test]
    fn a_fast_terminal_gets_ten_frames_a_second_and_a_slow_one_half_of_its_time_free() {
        assert_eq!(waits(0), 100);
        assert_eq!(waits(30), 70);
        assert_eq!(waits(400), 400);
    }

    #[test]
    fn after_a_stall_the_screen_is_drawn_at_once() {
        assert_eq!(waits(1500), 500);
        assert_eq!(waits(60_000), 0);
    }
}
