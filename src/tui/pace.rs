//! The rate of frames for new data: at most ten frames a second, and fewer on a slow line.
//!
//! ```text
//!   redyno ──frame──► queue of the system ──4 kB/s──► terminal
//!                     19 kB: 4.8 s of output
//! ```
//! A slow terminal gets so few frames that it is idle half of the time. So it shows the effect of a key press at
//! once: no old frames are queued. The system takes more output than the terminal has shown. How fast the queue empties
//! is known when it is full: then it takes as much as the terminal reads. From this follows how much is queued, and new
//! data wait until the queue is short. A frame for new data is sent in parts, so that the frame that a key causes waits
//! for one part at most.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The shortest time between two frames.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest time between two frames, unless the terminal needs longer for a single frame.
const LONGEST: Duration = Duration::from_secs(2);
/// A frame for new data begins only if the queue is empty after this time.
const LONGEST_QUEUE_S: f64 = 0.1;
/// The time that a slow line needs for a part of a frame.
const PART_S: f64 = 0.25;
/// The shortest and the longest time over which the line's rate is measured, in seconds. A line that takes nothing for
/// longer has stalled, which is no rate.
const MEASURED_S: (f64, f64) = (0.25, 4.0);
/// The share of the measured rate that is used, so that an error of the measurement does not fill the queue slowly.
const MARGIN: f64 = 0.8;
/// A faster line needs no queue, in bytes per second.
const FAST: f64 = 200_000.0;
/// After this time without a full queue, the measured rate is forgotten, in seconds: the line may have become faster.
const FORGOTTEN_S: f64 = 300.0;
/// The rate of a line to a terminal that has not answered quickly, while no rate is measured, in bytes per second. It is
/// never taken for quick later: a queue that fills up would hold the next key for seconds.
const ASSUMED: f64 = 3000.0;
/// The number of writes that are kept: those of some seconds, which fill the largest queue.
const MOST_WRITES: usize = 256;

/// When the last frame began and how long it took, and how much output is queued. From this follows when the next frame
/// may begin.
#[derive(Debug, Clone)]
pub struct Pace {
    began: Instant,
    /// The time that the terminal needed for the last frame.
    took: Duration,
    /// The bytes that were sent before the last frame.
    before: u64,
    line: Line,
}

impl Pace {
    /// Begins at the first frame. `is_quick` is whether the terminal is known to answer quickly.
    pub fn new(now: Instant, is_quick: bool) -> Self {
        let line = Line { assumed: (!is_quick).then_some(ASSUMED), ..Line::default() };
        Self { began: now, took: Duration::ZERO, before: 0, line }
    }

    /// Records that a frame begins.
    pub fn begin(&mut self, now: Instant) {
        self.began = now;
        self.took = Duration::ZERO;
        self.before = self.line.sent;
    }

    /// Records how many bytes the system has taken in all, and whether it takes no more at present.
    pub fn sent(&mut self, now: Instant, sent: u64, is_full: bool) {
        if !is_full {
            self.took = now.saturating_duration_since(self.began);
        }
        self.line.sent(now, sent, is_full);
    }

    /// Returns the number of bytes after which a frame begins no further row.
    pub fn part(&self) -> usize {
        self.line.rate().map_or(usize::MAX, |rate| (rate * PART_S) as usize)
    }

    /// Returns whether it is time for the next part of a frame.
    pub fn allows_part(&self, now: Instant) -> bool {
        self.line.queue_s(now) <= LONGEST_QUEUE_S
    }

    /// Returns whether it is time for a frame that only shows new data.
    pub fn allows(&self, now: Instant) -> bool {
        let took = self.took.max(self.line.time_of(self.line.sent - self.before));
        let apart = (took * 2).clamp(SHORTEST, LONGEST.max(took));
        now.saturating_duration_since(self.began) >= apart && self.allows_part(now)
    }
}

/// What is known of the line to the terminal.
#[derive(Debug, Clone, Default)]
struct Line {
    /// The last writes: when, and how many bytes.
    writes: VecDeque<(Instant, u64)>,
    sent: u64,
    /// The last moment at which the queue was full and a measurement began, and the bytes sent by then.
    full: Option<(Instant, u64)>,
    /// The rate at which the queue empties, in bytes per second, when it was measured.
    measured: Option<(Instant, f64)>,
    /// The rate while none is measured; `None` for a terminal that is known to be quick.
    assumed: Option<f64>,
}

impl Line {
    fn sent(&mut self, now: Instant, sent: u64, is_full: bool) {
        if sent > self.sent {
            self.writes.push_back((now, sent - self.sent));
            self.sent = sent;
            if self.writes.len() > MOST_WRITES {
                self.writes.pop_front();
            }
        }
        if !is_full {
            self.measured = self.measured.filter(|(at, _)| (now - *at).as_secs_f64() < FORGOTTEN_S);
            return;
        }
        // From one moment with a full queue to another, the line takes what the terminal reads.
        let (from, sent_then) = *self.full.get_or_insert((now, sent));
        let length_s = (now - from).as_secs_f64();
        let rate = (sent - sent_then) as f64 / length_s.max(MEASURED_S.0) * MARGIN;
        if length_s > MEASURED_S.1 {
            self.full = Some((now, sent));
        } else if length_s >= MEASURED_S.0 && rate > 0.0 {
            self.measured = Some((now, rate)).filter(|(_, rate)| *rate < FAST);
            self.full = Some((now, sent));
        }
    }

    fn rate(&self) -> Option<f64> {
        self.measured.map(|(_, rate)| rate).or(self.assumed)
    }

    /// Returns how long the line needs for this many bytes; 0 while its rate is unknown.
    fn time_of(&self, bytes: u64) -> Duration {
        self.rate().map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate))
    }

    /// Returns how long the queue needs to become empty, in seconds; 0 while the rate is unknown.
    fn queue_s(&self, now: Instant) -> f64 {
        let Some(rate) = self.rate() else { return 0.0 };
        let (mut queued, mut before) = (0.0_f64, now);
        for (at, bytes) in &self.writes {
            queued =
                (queued - rate * at.saturating_duration_since(before).as_secs_f64()).max(0.0) + *bytes as f64;
            before = *at;
        }
        (queued / rate - now.saturating_duration_since(before).as_secs_f64()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(took_ms: u64) -> u64 {
        let start = Instant::now();
        let mut pace = Pace::new(start, true);
        pace.sent(start + Duration::from_millis(took_ms), 10, false);
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

    /// A queue of the system that a terminal reads slowly.
    struct Slow {
        /// The size of the queue, in bytes.
        room: f64,
        /// Bytes per second.
        rate: f64,
        queued: f64,
    }

    /// Sends frames of 1500 bytes as the pace allows, after a first one of 12 kB. Returns the most bytes that were queued
    /// between the tenth and the last of `seconds` when a frame could begin.
    fn most_queued(mut slow: Slow, is_quick: bool, seconds: u64) -> f64 {
        let start = Instant::now();
        let (mut pace, mut pending, mut sent, mut most) =
            (Pace::new(start, is_quick), 12_000.0_f64, 0.0_f64, 0.0_f64);
        for ms in (0..seconds * 1000).step_by(40) {
            let now = start + Duration::from_millis(ms);
            slow.queued = (slow.queued - slow.rate * 0.04).max(0.0);
            if pending <= 0.0 {
                if ms > 10_000 {
                    most = most.max(slow.queued);
                }
                if !pace.allows(now) {
                    continue;
                }
                pace.begin(now);
                pending = 1500.0;
            }
            let taken = pending.min(slow.room - slow.queued);
            (pending, sent, slow.queued) = (pending - taken, sent + taken, slow.queued + taken);
            pace.sent(now, sent as u64, pending > 0.0);
        }
        most
    }

    #[test]
    fn on_a_slow_line_at_most_a_frame_is_queued_and_a_fast_one_is_not_held_up() {
        let slow = || Slow { room: 19_000.0, rate: 4000.0, queued: 0.0 };
        // A terminal that was quick at first, while its line had room, is slow once the queue is full.
        for (is_quick, seconds) in [(true, 290), (false, 1000)] {
            let most = most_queued(slow(), is_quick, seconds);
            assert!(most <= 2000.0, "{is_quick}: {most} bytes are {} s", most / 4000.0);
        }
        let start = Instant::now();
        let mut line = Line::default();
        (0..100_u32).for_each(|n| line.sent(start + SHORTEST * n, u64::from(n) * 3000, false));
        assert_eq!(line.queue_s(start + SHORTEST * 100), 0.0);
    }
}
