//! How often a frame of data is drawn: ten times a second at the most, and less often on a line that is slow.
//!
//! A terminal that needs long to take a frame gets them so far apart that half of its time stays free. What a person
//! types is then answered by the next frame, instead of standing behind a queue of old ones.

use std::time::{Duration, Instant};

/// Between two frames, at the least.
const SHORTEST: Duration = Duration::from_millis(100);
/// And at the most, once the line takes frames again.
const LONGEST: Duration = Duration::from_secs(2);

/// The frames of the past, as far as they tell when the next is due.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    began: Instant,
    /// How long the terminal needed for the last frame.
    took: Duration,
}

impl Pace {
    /// A frame begins.
    pub fn begun(now: Instant) -> Self {
        Self { began: now, took: Duration::ZERO }
    }

    /// The terminal has taken all of it.
    pub fn taken(&mut self, now: Instant) {
        self.took = now.saturating_duration_since(self.began);
    }

    /// Whether a frame may be drawn for data alone.
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
