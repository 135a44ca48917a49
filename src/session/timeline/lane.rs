//! One measurement over time: quantiles for each second, distributions of the last minute.

use std::collections::VecDeque;

use super::{Level, Quantiles, Series};
use crate::stats::Latency;

/// How long the window beside "now" is.
const WINDOW_S: u64 = 60;

/// One measurement over time.
#[derive(Debug, Clone)]
pub struct Lane {
    seconds: Series<Quantiles>,
    /// The last second's pieces: when each ended.
    pieces: VecDeque<(f64, Latency)>,
    /// The last minute's seconds, ascending; only since the last cut.
    recent: VecDeque<(u64, Latency)>,
    /// All of `recent` but its last.
    closed: Latency,
    minute: Latency,
    now: Latency,
}

impl Lane {
    /// An empty lane that keeps the quantiles of `kept` seconds.
    pub(super) fn new(kept: usize) -> Self {
        Self {
            seconds: Series::new(1.0, kept),
            pieces: VecDeque::new(),
            recent: VecDeque::new(),
            closed: Latency::default(),
            minute: Latency::default(),
            now: Latency::default(),
        }
    }

    /// The quantiles of each second: of all that was measured in it since the last segment border.
    pub fn seconds(&self) -> &Series<Quantiles> {
        &self.seconds
    }

    /// What the last second measured, since the last segment border.
    pub fn now(&self) -> &Latency {
        &self.now
    }

    /// What the last 60 s measured, since the last segment border.
    pub fn minute(&self) -> &Latency {
        &self.minute
    }

    /// One level in each of the newest `count` steps before `end` (a second's number), oldest first.
    pub fn level(&self, level: Level, end: u64, count: usize) -> impl Iterator<Item = Option<Option<u64>>> {
        let first = end as i128 - count as i128;
        (first..end as i128).map(move |second| {
            let second = u64::try_from(second).ok()?;
            self.seconds.get(second).map(|quantiles| quantiles.get(level))
        })
    }

    /// Adds what was measured in the `length_s` seconds before `t_s`.
    pub(super) fn push(&mut self, t_s: f64, length_s: f64, latency: &Latency) {
        let second = self.seconds.step_ending(t_s);
        self.pieces.push_back((t_s, latency.clone()));
        self.expire_pieces(t_s);
        match self.recent.iter().rposition(|(known, _)| *known <= second) {
            Some(at) if self.recent[at].0 == second => self.recent[at].1.merge(latency),
            Some(at) => self.recent.insert(at + 1, (second, latency.clone())),
            None => self.recent.push_front((second, latency.clone())),
        }
        self.expire_seconds(second);
        let of_second = self.recent.iter().find(|(known, _)| *known == second);
        let quantiles = of_second.map(|(_, latency)| Quantiles::of(latency)).unwrap_or_default();
        for (step, _) in self.seconds.shares(t_s, length_s) {
            // A tick that crosses a border counts for the second in which it ends. One that fills the second before
            // too stands for that as well; one that only reaches into it has no say in what was measured there.
            let stands_for = step == second || step as f64 >= t_s - length_s - 1e-6;
            if (stands_for || self.seconds.get(step).is_none())
                && let Some(cell) = self.seconds.entry(step)
            {
                *cell = quantiles;
            }
        }
    }

    /// Notes a longest value that arrived late for an earlier segment: it shows in the maximum of its second
    /// and in no percentile.
    pub(super) fn note_late(&mut self, t_s: f64, latency: &Latency) {
        if latency.is_empty() {
            return;
        }
        if let Some(cell) = self.seconds.entry(self.seconds.step_ending(t_s)) {
            cell.lift_max(latency.max_ns());
        }
    }

    /// Forgets the windows: a new segment begins.
    pub(super) fn cut(&mut self) {
        self.pieces.clear();
        self.recent.clear();
        self.closed = Latency::default();
        self.minute = Latency::default();
        self.now = Latency::default();
    }

    /// Lets go of what is older than its window at `now_s`.
    pub(super) fn age(&mut self, now_s: f64) {
        self.expire_pieces(now_s);
        let second = self.seconds.step_ending(now_s);
        if self.recent.front().is_some_and(|(oldest, _)| *oldest + WINDOW_S <= second) {
            self.expire_seconds(second);
        }
    }

    fn expire_pieces(&mut self, now_s: f64) {
        // Half a tick of slack: the four ticks of a second are all still in it at its end.
        while self.pieces.front().is_some_and(|(t_s, _)| *t_s <= now_s - 0.875) {
            self.pieces.pop_front();
        }
        self.now = Latency::merged(self.pieces.iter().map(|(_, latency)| latency));
    }

    fn expire_seconds(&mut self, second: u64) {
        let before = (self.recent.front().map(|(s, _)| *s), self.recent.len());
        while self.recent.front().is_some_and(|(oldest, _)| *oldest + WINDOW_S <= second) {
            self.recent.pop_front();
        }
        let last = self.recent.len().saturating_sub(1);
        // Sixty merges a second are cheap; sixty for every tick and frame would not be.
        if before != (self.recent.front().map(|(s, _)| *s), self.recent.len()) || self.closed_is_stale() {
            self.closed = Latency::merged(self.recent.iter().take(last).map(|(_, latency)| latency));
        }
        self.minute = self.closed.clone();
        if let Some((_, current)) = self.recent.back() {
            self.minute.merge(current);
        }
    }

    /// Whether `closed` does not stand for all seconds but the last.
    fn closed_is_stale(&self) -> bool {
        let closed: u64 = self.recent.iter().rev().skip(1).map(|(_, latency)| latency.count()).sum();
        closed != self.closed.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Recorder;

    fn of(ns: u64, n: usize) -> Latency {
        let mut recorder = Recorder::new();
        (0..n).for_each(|_| recorder.record(ns));
        recorder.latency()
    }

    #[test]
    fn a_second_is_the_sum_of_its_ticks() {
        let mut lane = Lane::new(100);
        lane.push(1.25, 0.25, &of(1000, 30));
        lane.push(1.5, 0.25, &of(9000, 10));
        let cell = *lane.seconds().get(1).unwrap();
        assert_eq!((cell.get(Level::P50).map(|ns| ns / 100), cell.get(Level::Max)), (Some(10), Some(9000)));
        assert_eq!(lane.now().count(), 40);
        assert_eq!(lane.seconds().get(0), None);
    }

    #[test]
    fn a_tick_that_crosses_a_border_leaves_the_second_before_as_it_was() {
        let mut lane = Lane::new(100);
        for tick in 1..=4 {
            lane.push(f64::from(tick) * 0.25 + 0.01, 0.25, &of(1000, 3000));
        }
        lane.push(1.26, 0.25, &of(9000, 3000));
        let cell = lane.seconds().get(0).unwrap();
        assert_eq!(cell.get(Level::P50).map(|ns| ns / 100), Some(10));
        assert_eq!(lane.seconds().get(1).unwrap().get(Level::P999).map(|ns| ns / 100), None);
    }

    #[test]
    fn windows_end_at_a_cut_and_after_their_time() {
        let mut lane = Lane::new(100);
        for tick in 1..=400 {
            lane.push(f64::from(tick) * 0.25, 0.25, &of(1000, 1));
        }
        assert_eq!((lane.now().count(), lane.minute().count()), (4, 240));
        lane.age(130.0);
        assert_eq!((lane.now().count(), lane.minute().count()), (0, 120));
        lane.cut();
        lane.push(130.25, 0.25, &of(1000, 3));
        assert_eq!((lane.now().count(), lane.minute().count()), (3, 3));
    }

    #[test]
    fn a_tick_that_comes_late_is_counted_in_its_own_second() {
        let mut lane = Lane::new(100);
        lane.push(2.25, 0.25, &of(1000, 1));
        lane.push(2.0, 0.25, &of(5000, 2));
        lane.push(2.5, 0.25, &of(1000, 1));
        assert_eq!(lane.seconds().get(1).unwrap().get(Level::Max), Some(5000));
        assert_eq!(lane.seconds().get(2).unwrap().get(Level::Max), Some(1000));
        assert_eq!(lane.minute().count(), 4);
    }

    #[test]
    fn a_late_reply_of_an_earlier_segment_shows_in_the_maximum_only() {
        let mut lane = Lane::new(100);
        lane.push(1.0, 0.25, &of(1000, 100));
        lane.note_late(1.0, &of(70_000, 1));
        let cell = lane.seconds().get(0).unwrap();
        assert_eq!(cell.get(Level::Max), Some(70_000));
        assert_eq!(lane.minute().max_ns(), 1000);
    }

    #[test]
    fn an_interval_of_several_seconds_fills_them_all() {
        let mut lane = Lane::new(100);
        lane.push(10.0, 5.0, &of(1000, 100));
        let filled: Vec<_> = (0..12).filter(|second| lane.seconds().get(*second).is_some()).collect();
        assert_eq!(filled, [5, 6, 7, 8, 9]);
    }
}
