//! The rate of frames for new data: at most ten frames a second, and fewer on a slow line.
//!
//! A slow terminal gets so few frames that it is idle half of the time. So it shows the effect of a key press at
//! once: no old frames are queued.

use std::time::{Duration, Instant};

/// The shortest time between two frames.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest time between two frames, unless the terminal needs longer for a single frame.
const LONGEST: Duration = Duration::from_secs(2);

/// When the last frame began and how long it took. From this follows when the next frame may begin.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    began: Instant,
    /// The time that the terminal needed for the last frame.
    took: Duration,
}

impl Pace {
    /// Records that a frame begins.
    pub fn begun(now: Instant) -> Self {
        Self { began: now, took: Duration::ZERO }
    }

    /// Records that the terminal has taken the whole frame.
    pub fn taken(&mut self, now: Instant) {
        self.took = now.saturating_duration_since(self.began);
    }

    /// Returns whether it is time for a frame that only shows new data.
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
