//! When an open loop asks for more than is sent: its requests wait before they are sent, or are shed.

use std::{collections::VecDeque, fmt};

use crate::{
    load::Knobs,
    session::{Interval, Record},
    units,
};

/// The stretch that is judged, in seconds: long enough that one slow command does not look like a trend.
const WINDOW_S: f64 = 2.0;
/// A send lag above this is no pause of the server that all loads meet now and then, in µs.
const LATE_US: u64 = 100_000;
/// Below this it has been caught up with, in µs.
const CAUGHT_UP_US: u64 = 50_000;
/// From this share of what was due on, what is shed tells of an overload.
const SHED: f64 = 0.01;
/// A segment as a whole was overloaded below this share of its rate.
const REACHED: f64 = 0.98;

/// That an open loop asks for more than is sent, and by how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overload {
    /// Good replies per second.
    pub ops_per_s: f64,
    /// What is due, in requests per second.
    pub rate: u32,
    /// The send lag: how late the oldest due, unsent request is, in µs.
    pub behind_us: u64,
    /// The share of the due requests that were shed.
    pub shed: f64,
    /// Where the send lag goes; `None` for a segment as a whole.
    pub trend: Option<Trend>,
}

/// Where the send lag goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// More is due than is sent.
    Growing,
    /// As much is sent as is due.
    Steady,
    /// The backlog is being worked off.
    Shrinking,
}

impl Overload {
    /// The verdict on the `total` of a segment with these knobs.
    pub fn of(knobs: &Knobs, total: &Interval) -> Option<Self> {
        let rate = knobs.rate.filter(|_| knobs.load && total.length_s > 0.0)?;
        let shed = total.shed as f64 / total.due.max(1) as f64;
        let overload =
            Self { ops_per_s: total.ops_per_s, rate, behind_us: total.behind_us, shed, trend: None };
        let is_slow = total.ops_per_s < REACHED * f64::from(rate) && total.behind_us >= LATE_US;
        (is_slow || shed >= SHED).then_some(overload)
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} of {}", units::count(self.ops_per_s), units::rate(f64::from(self.rate)))?;
        if self.shed >= SHED {
            write!(f, ", {} shed", units::percent(self.shed))?;
        }
        if self.behind_us >= CAUGHT_UP_US {
            write!(f, ", {} behind", units::latency(self.behind_us.saturating_mul(1000)))?;
            f.write_str(match self.trend {
                Some(Trend::Growing) => ", growing",
                Some(Trend::Steady) => ", steady",
                Some(Trend::Shrinking) => ", catching up",
                None => " at the most",
            })?;
        }
        Ok(())
    }
}

/// Watches whether the load asks for too much now.
#[derive(Debug, Clone, Default)]
pub struct OverloadWatch {
    segment: Option<(u32, u32)>,
    /// The last two seconds of this segment: length, replies, requests that were due, those shed, send lag.
    window: VecDeque<Part>,
    overload: Option<Overload>,
}

#[derive(Debug, Clone)]
struct Part {
    length_s: f64,
    ops: u64,
    due: u64,
    shed: u64,
    behind_us: u64,
}

impl OverloadWatch {
    /// The verdict that stands.
    pub fn overload(&self) -> Option<Overload> {
        self.overload
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) => {
                let rate = segment.knobs.rate.filter(|_| segment.knobs.load);
                *self = Self { segment: rate.map(|rate| (segment.segment, rate)), ..Self::default() };
            }
            Record::Interval(interval) if !interval.drain => self.push_interval(interval),
            Record::End(_) => *self = Self::default(),
            _ => {}
        }
    }

    fn push_interval(&mut self, interval: &Interval) {
        let Some((_, rate)) = self.segment.filter(|(segment, _)| *segment == interval.segment) else {
            return;
        };
        let &Interval { length_s, ops, due, shed, behind_us, .. } = interval;
        self.window.push_back(Part { length_s, ops, due, shed, behind_us });
        let mut length_s: f64 = self.window.iter().map(|part| part.length_s).sum();
        while let Some(oldest) = self.window.front()
            && length_s - oldest.length_s >= WINDOW_S
        {
            length_s -= oldest.length_s;
            self.window.pop_front();
        }
        self.overload = self.judge(rate, length_s);
    }

    fn judge(&self, rate: u32, length_s: f64) -> Option<Overload> {
        let sum = |count: fn(&Part) -> u64| self.window.iter().map(count).sum::<u64>() as f64;
        let (first_us, behind_us) = (self.window.front()?.behind_us, self.window.back()?.behind_us);
        // What a fiftieth of the window changes is noise.
        let slack_us = (length_s * 1e6 / 50.0) as u64;
        let trend = match behind_us {
            now if now > first_us + slack_us => Trend::Growing,
            now if now + slack_us < first_us => Trend::Shrinking,
            _ => Trend::Steady,
        };
        let shed = sum(|part| part.shed) / sum(|part| part.due).max(1.0);
        let is_late = match self.overload {
            Some(_) => behind_us >= CAUGHT_UP_US,
            // A backlog that shrinks from the start was made by a pause of the server.
            None => behind_us >= LATE_US && trend != Trend::Shrinking && self.window.len() > 1,
        };
        let ops_per_s = sum(|part| part.ops) / length_s.max(f64::EPSILON);
        (is_late || shed >= SHED).then_some(Overload { ops_per_s, rate, behind_us, shed, trend: Some(trend) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Segment;

    fn watch(knobs: Knobs) -> OverloadWatch {
        let mut watch = OverloadWatch::default();
        watch.push(&Record::Segment(Segment::new(0.0, 3, knobs)));
        watch
    }

    fn at(rate: u32) -> Knobs {
        Knobs { load: true, rate: Some(rate), ..Knobs::default() }
    }

    /// What is said after a quarter of a second with so much answered and such a lag.
    fn tick(watch: &mut OverloadWatch, ops: u64, shed: u64, behind_us: u64) -> Option<String> {
        let interval = Interval {
            segment: 3,
            length_s: 0.25,
            ops,
            due: 250_000,
            shed,
            behind_us,
            ..Interval::default()
        };
        watch.push(&Record::Interval(Box::new(interval)));
        watch.overload().map(|overload| overload.to_string())
    }

    #[test]
    fn a_lag_that_grows_is_an_overload_until_it_has_been_caught_up_with() {
        let mut watch = watch(at(1_000_000));
        let said: Vec<_> = (1..=4).map(|n| tick(&mut watch, 22_000, 0, n * 228_000)).collect();
        assert_eq!(said[0], None, "one tick is no trend");
        assert_eq!(said[3].as_deref(), Some("88.0 k of 1.00 M/s, 912 ms behind, growing"));
        let said: Vec<_> = (0..12).map(|n| tick(&mut watch, 400_000, 0, 912_000 - n * 80_000)).collect();
        assert!(said[6].as_ref().unwrap().ends_with("432 ms behind, catching up"), "{said:?}");
        assert_eq!(said[11], None);
    }

    #[test]
    fn the_backlog_of_one_pause_is_none_and_neither_is_a_closed_loop() {
        let mut watch = watch(at(1_000_000));
        tick(&mut watch, 250_000, 0, 300);
        let after: Vec<_> = [40_000, 30_000, 400].map(|us| tick(&mut watch, 250_000, 0, us)).to_vec();
        assert_eq!(after, [None, None, None]);
        let mut closed = super::tests::watch(Knobs { load: true, ..Knobs::default() });
        assert_eq!([1, 2, 3].map(|n| tick(&mut closed, 100, 0, n * 1_000_000)), [None, None, None]);
    }

    #[test]
    fn what_is_shed_is_told_though_nothing_waits() {
        let mut watch = watch(at(1_000_000));
        let said = tick(&mut watch, 100_000, 150_000, 9000);
        assert_eq!(said.as_deref(), Some("400 k of 1.00 M/s, 60 % shed"));
    }

    #[test]
    fn a_segment_as_a_whole_tells_its_worst() {
        let total = Interval {
            length_s: 10.0,
            ops: 880_000,
            ops_per_s: 88_000.0,
            due: 10_000_000,
            behind_us: 9_100_000,
            ..Interval::default()
        };
        let said = Overload::of(&at(1_000_000), &total).map(|overload| overload.to_string());
        assert_eq!(said.as_deref(), Some("88.0 k of 1.00 M/s, 9.10 s behind at the most"));
    }
}
