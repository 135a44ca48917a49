//! The frame rate of the screen for new data: at most five frames a second, and fewer on a slow connection.
//!
//! ```text
//!   redyno ──frame──► system's send queue ──4 kB/s──► terminal
//!                     19 kB: 4.8 s of output
//! ```
//! A slow terminal gets so few frames that it is idle half of the time. redyno queues no old frames, so the terminal
//! shows the effect of a key press at once. The system accepts output before the terminal has shown it. When the
//! system's send queue is full, the system accepts output exactly as fast as the terminal reads it. redyno therefore
//! measures the rate of the connection while the queue is full. From this rate, redyno computes the length of the
//! queue. Frames for new data wait until the queue is short. redyno sends such a frame in parts. A frame for a key
//! press therefore waits for at most one part.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The shortest time between two frames.
const SHORTEST: Duration = Duration::from_millis(200);
/// The longest time between two frames, unless a single frame takes longer.
const LONGEST: Duration = Duration::from_secs(2);
/// The longest send queue at which a frame for new data begins, in seconds. The queue will be empty after this time.
const LONGEST_QUEUE_S: f64 = 0.1;
/// The time that a slow connection needs for one part of a frame, in seconds.
const PART_S: f64 = 0.25;
/// The shortest and the longest time over which the rate of the connection is measured, in seconds. A connection that
/// accepts nothing for a longer time has stalled, and has no rate.
const MEASURED_S: (f64, f64) = (0.25, 4.0);
/// The factor for the measured rate. With this margin, a measurement error does not slowly fill the queue.
const MARGIN: f64 = 0.8;
/// The lowest rate of a connection that counts as fast, in bytes per second.
const FAST: f64 = 200_000.0;
/// The time in seconds after which a measured rate is dropped, if the queue has not been full again. The connection may
/// have become faster in the meantime.
const FORGOTTEN_S: f64 = 300.0;
/// The assumed rate of a connection, in bytes per second. redyno assumes this rate if the terminal has not answered
/// quickly. Later, a measured rate replaces the assumed rate. redyno never treats a connection with an assumed rate as
/// fast, because a full queue would delay the effect of the next key by seconds.
const ASSUMED: f64 = 3000.0;
/// The number of writes that are kept. The number is enough to fill the largest queue.
const MOST_WRITES: usize = 256;

/// Decides when the next frame may begin, from the start and duration of the last frame and the length of the send
/// queue.
#[derive(Debug, Clone)]
pub struct FramePace {
    began: Instant,
    /// The time that the terminal needed for the last frame.
    took: Duration,
    /// The bytes that were sent before the last frame.
    before: u64,
    line: OutputRate,
}

impl FramePace {
    /// Creates the pace before the first frame. `is_quick` is true if the terminal has answered a query quickly.
    pub fn new(now: Instant, is_quick: bool) -> Self {
        let line = OutputRate { assumed: (!is_quick).then_some(ASSUMED), ..OutputRate::default() };
        Self { began: now, took: Duration::ZERO, before: 0, line }
    }

    /// Registers the start of a frame.
    pub fn begin(&mut self, now: Instant) {
        self.began = now;
        self.took = Duration::ZERO;
        self.before = self.line.sent;
    }

    /// Registers the total number of bytes that the system has accepted, and whether the send queue of the
    /// system is full.
    pub fn sent(&mut self, now: Instant, sent: u64, is_full: bool) {
        if !is_full {
            self.took = now.saturating_duration_since(self.began);
        }
        self.line.sent(now, sent, is_full);
    }

    /// Returns the number of bytes after which a frame must not begin another row.
    pub fn part(&self) -> usize {
        self.line.rate().map_or(usize::MAX, |rate| (rate * PART_S) as usize)
    }

    /// Returns whether the next part of a frame may be sent now.
    pub fn allows_part(&self, now: Instant) -> bool {
        self.line.queue_s(now) <= LONGEST_QUEUE_S
    }

    /// Returns whether a frame that only shows new data may begin now.
    pub fn allows(&self, now: Instant) -> bool {
        let took = self.took.max(self.line.time_of(self.line.sent - self.before));
        let apart = (took * 2).clamp(SHORTEST, LONGEST.max(took));
        now.saturating_duration_since(self.began) >= apart && self.allows_part(now)
    }
}

/// The connection to the terminal: its rate, and the output in the send queue.
#[derive(Debug, Clone, Default)]
struct OutputRate {
    /// The time and the number of bytes of each recent write.
    writes: VecDeque<(Instant, u64)>,
    sent: u64,
    /// The start of the present measurement, and the number of bytes sent before. The queue was full at this start.
    full: Option<(Instant, u64)>,
    /// The time of the last measurement, and the measured rate in bytes per second.
    measured: Option<(Instant, f64)>,
    /// The assumed rate before the first measurement, in bytes per second. `None` for a terminal that answers quickly.
    assumed: Option<f64>,
}

impl OutputRate {
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
        // Between two moments with a full queue, the system accepts as many bytes as the terminal reads.
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

    /// Returns the time that the connection needs for this many bytes. Returns 0 while the rate is unknown.
    fn time_of(&self, bytes: u64) -> Duration {
        self.rate().map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate))
    }

    /// Returns the time until the queue is empty, in seconds. Returns 0 while the rate is unknown.
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
        let mut pace = FramePace::new(start, true);
        pace.sent(start + Duration::from_millis(took_ms), 10, false);
        let allowed = |ms: &u64| pace.allows(start + Duration::from_millis(*ms));
        (took_ms..100_000).find(allowed).unwrap() - took_ms
    }

    #[test]
    fn a_fast_terminal_gets_five_frames_a_second_and_a_slow_one_is_idle_half_of_the_time() {
        assert_eq!(waits(0), 200);
        assert_eq!(waits(30), 170);
        assert_eq!(waits(400), 400);
    }

    #[test]
    fn after_a_stall_the_screen_is_drawn_at_once() {
        assert_eq!(waits(1500), 500);
        assert_eq!(waits(60_000), 0);
    }

    /// A send queue of the system that a terminal reads slowly.
    struct SlowQueue {
        /// The size of the queue, in bytes.
        room: f64,
        /// The rate at which the terminal reads, in bytes per second.
        rate: f64,
        queued: f64,
    }

    /// Sends a frame of 12 kB, and then frames of 1500 bytes for `seconds` seconds, as the pace allows. Returns the
    /// largest number of queued bytes after the first ten seconds.
    fn most_queued(mut slow: SlowQueue, is_quick: bool, seconds: u64) -> f64 {
        let start = Instant::now();
        let (mut pace, mut pending, mut sent, mut most) =
            (FramePace::new(start, is_quick), 12_000.0_f64, 0.0_f64, 0.0_f64);
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
    fn a_slow_connection_queues_at_most_one_frame_and_a_fast_one_is_not_delayed() {
        let slow = || SlowQueue { room: 19_000.0, rate: 4000.0, queued: 0.0 };
        // A terminal may answer quickly at first, and turn out to be slow as soon as the queue is full.
        for (is_quick, seconds) in [(true, 290), (false, 1000)] {
            let most = most_queued(slow(), is_quick, seconds);
            assert!(most <= 2000.0, "{is_quick}: {most} bytes are {} s", most / 4000.0);
        }
        let start = Instant::now();
        let mut line = OutputRate::default();
        (0..100_u32).for_each(|n| line.sent(start + SHORTEST * n, u64::from(n) * 3000, false));
        assert_eq!(line.queue_s(start + SHORTEST * 100), 0.0);
    }
}
