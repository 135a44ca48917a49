//! One kind of latency over time: its history in the whole session, and its exact distributions in the last
//! second and the last minute.

use std::{collections::VecDeque, sync::OnceLock};

use super::{History, by_segment::BySegment};
use crate::clock::{TICK_NS, seconds};
use crate::stats::Latency;

/// The length of the longer window in seconds. The window "now" is one second.
const WINDOW_S: u64 = 60;

/// One latency measurement over time.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The distributions of the whole session, by time and segment.
    pub(super) cells: History<BySegment>,
    /// The distributions of the last second, each with its end and its length in seconds.
    pieces: VecDeque<(f64, f64, Latency)>,
    /// The distributions of the last minute by second, oldest first. The distributions are only from the current
    /// segment.
    recent: VecDeque<(u64, Latency)>,
    /// The sum of all entries of `recent` except the last. The sum is computed when it is needed.
    closed: OnceLock<Latency>,
    minute: OnceLock<Latency>,
    now: OnceLock<Latency>,
}

impl Lane {
    /// Returns an empty measurement. Its history becomes coarser after `kept` ticks (quarter seconds), with time slots
    /// of at most `longest_s` seconds.
    pub(super) fn new(kept: usize, longest_s: f64) -> Self {
        Self {
            cells: History::new(seconds(TICK_NS), kept, longest_s),
            pieces: VecDeque::new(),
            recent: VecDeque::new(),
            closed: OnceLock::new(),
            minute: OnceLock::new(),
            now: OnceLock::new(),
        }
    }

    /// Returns the latencies of the current segment in the last second.
    pub fn now(&self) -> &Latency {
        self.now.get_or_init(|| Latency::merged(self.pieces.iter().map(|(.., latency)| latency)))
    }

    /// Returns the latencies of the current segment in the last 60 s.
    pub fn minute(&self) -> &Latency {
        self.minute.get_or_init(|| {
            let Some((_, current)) = self.recent.back() else { return Latency::default() };
            // Sixty merges per second are cheap. Sixty merges for each tick (quarter second) and for each
            // frame of the screen would be expensive.
            let closed = self.closed.get_or_init(|| {
                Latency::merged(self.recent.iter().rev().skip(1).map(|(_, latency)| latency))
            });
            Latency::merged([closed, current])
        })
    }

    /// Adds latencies that were measured in the `length_s` seconds before `t_s`. `segment` is the current segment.
    pub(super) fn push(&mut self, segment: u32, t_s: f64, length_s: f64, latency: &Latency) {
        self.cells.entry(t_s, length_s).add(segment, t_s, length_s, latency);
        let second = second_ending(t_s);
        self.pieces.push_back((t_s, length_s, latency.clone()));
        self.now.take();
        self.minute.take();
        match self.recent.iter().rposition(|(known, _)| *known <= second) {
            Some(at) if self.recent[at].0 == second => {
                if at + 1 < self.recent.len() {
                    self.closed.take();
                }
                self.recent[at].1.merge(latency);
            }
            before => {
                self.closed.take();
                self.recent.insert(before.map_or(0, |at| at + 1), (second, latency.clone()));
            }
        }
        self.age(t_s);
    }

    /// Adds late replies of an earlier segment, `segment`. The windows of the last second and the last minute exclude
    /// these replies.
    pub(super) fn push_late(&mut self, segment: u32, t_s: f64, length_s: f64, latency: &Latency) {
        if length_s > 0.0 || !latency.is_empty() {
            self.cells.entry(t_s, length_s).add(segment, t_s, length_s, latency);
        }
    }

    /// Empties the windows, because a new segment begins.
    pub(super) fn cut(&mut self) {
        self.pieces.clear();
        self.recent.clear();
        self.closed.take();
        self.minute.take();
        self.now.take();
    }

    /// Removes the latencies that are too old for their window at `now_s`.
    pub(super) fn age(&mut self, now_s: f64) {
        if forget_earlier(&mut self.pieces, now_s, |(t_s, length_s, _)| (*t_s, *length_s)) {
            self.now.take();
        }
        let second = second_ending(now_s);
        while self.recent.front().is_some_and(|(oldest, _)| *oldest + WINDOW_S <= second) {
            self.recent.pop_front();
            self.closed.take();
            self.minute.take();
        }
    }
}

/// Removes the measurements that ended more than a second before `now_s`. `time` returns the end and the length of a
/// measurement. A measurement of a whole second stays until the next one arrives, which may be a tick (quarter second)
/// late. Returns whether any was removed.
pub(super) fn forget_earlier<T>(
    recent: &mut VecDeque<T>,
    now_s: f64,
    time: impl Fn(&T) -> (f64, f64),
) -> bool {
    let all = recent.len();
    while let Some((t_s, length_s)) = recent.front().map(&time) {
        // The limit has half a tick (an eighth of a second) of slack. At the end of a second, the window thus
        // contains all four ticks of this second.
        let kept_s = if recent.len() > 1 { 0.875 } else { 0.625 + length_s.max(seconds(TICK_NS)) };
        if t_s > now_s - kept_s {
            break;
        }
        recent.pop_front();
    }
    recent.len() < all
}

/// Returns the number of the second in which a measurement ended at `t_s`. A measurement that ends exactly at
/// a full second belongs to the second before.
fn second_ending(t_s: f64) -> u64 {
    (t_s - 1e-6).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    #[test]
    fn windows_are_emptied_by_a_new_segment_and_after_their_time() {
        let mut lane = Lane::new(100, f64::INFINITY);
        for tick in 1..=400 {
            lane.push(1, f64::from(tick) * 0.25, 0.25, &repeated(1000, 1));
        }
        assert_eq!((lane.now().count(), lane.minute().count()), (4, 240));
        lane.age(130.0);
        assert_eq!((lane.now().count(), lane.minute().count()), (0, 120));
        lane.cut();
        lane.push(2, 130.25, 0.25, &repeated(1000, 3));
        assert_eq!((lane.now().count(), lane.minute().count()), (3, 3));
    }

    #[test]
    fn a_whole_second_is_the_present_one_until_the_next_arrives() {
        let mut lane = Lane::new(100, f64::INFINITY);
        let now = |lane: &mut Lane, now_s| {
            lane.age(now_s);
            lane.now().count()
        };
        lane.push(1, 1.0, 1.0, &repeated(1000, 7));
        assert_eq!([1.75, 2.0, 2.25].map(|now_s| now(&mut lane, now_s)), [7, 7, 7]);
        lane.push(1, 2.0, 1.0, &repeated(1000, 9));
        assert_eq!([2.25, 3.5, 3.75].map(|now_s| now(&mut lane, now_s)), [9, 9, 0]);
    }

    #[test]
    fn a_late_tick_is_counted_in_its_own_second() {
        let mut lane = Lane::new(100, f64::INFINITY);
        lane.push(1, 2.25, 0.25, &repeated(1000, 1));
        lane.push(1, 2.0, 0.25, &repeated(5000, 2));
        lane.push(1, 2.5, 0.25, &repeated(1000, 1));
        assert_eq!((lane.minute().count(), lane.recent.len()), (4, 2));
    }

    #[test]
    fn a_late_reply_of_an_earlier_segment_is_in_the_history_and_in_no_window() {
        let mut lane = Lane::new(100, f64::INFINITY);
        lane.push(2, 1.0, 0.25, &repeated(1000, 100));
        lane.push_late(1, 1.0, 0.0, &repeated(70_000, 1));
        let cell = lane.cells.between(0.0, 1.0).next().unwrap();
        assert_eq!(cell.value.worst.map(|worst| worst.ns), Some(70_000));
        assert_eq!(lane.minute().max_ns(), 1000);
    }
}
