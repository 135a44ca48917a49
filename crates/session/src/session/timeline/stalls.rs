//! Finds stalls in charts: columns in which replies took much longer than usual with the same load settings.

use super::{Level, Quantiles, Window};

/// The length of the shortest stall, in nanoseconds: a delay that users notice.
const SHORTEST_NS: u64 = 200_000_000;
/// A stall is at least this many times as long as the median of its segment. A load that is always slow therefore has
/// no stalls.
const TIMES_THE_MEDIAN: u64 = 10;

/// One stall, in one or more chart columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The chart column with the longest service time during the stall.
    pub column: usize,
    /// The longest service time, in nanoseconds.
    pub ns: u64,
}

impl Window<'_> {
    /// Returns the stalls in chart columns with these service times. In a stall the maximum is at least 200 ms, and at
    /// least 10 times the segment's median. Stalls in neighbouring columns count as one stall.
    pub fn stalls(&self, service: &[Option<Quantiles>]) -> Vec<Stall> {
        let mut stalls: Vec<Stall> = Vec::new();
        let mut last = None;
        for (column, levels) in service.iter().enumerate() {
            let longest = levels.as_ref().and_then(|levels| levels.get(Level::Max));
            let Some(ns) = longest.filter(|ns| self.is_stall(column, *ns)) else { continue };
            match stalls.last_mut().filter(|_| last.is_some_and(|last| last + 1 == column)) {
                Some(stall) if stall.ns >= ns => {}
                Some(stall) => *stall = Stall { column, ns },
                None => stalls.push(Stall { column, ns }),
            }
            last = Some(column);
        }
        stalls
    }

    fn is_stall(&self, column: usize, ns: u64) -> bool {
        if ns < SHORTEST_NS {
            return false;
        }
        let segment = self.session.segments.holding_at(self.end_s(column) - 1e-6);
        let median = segment.and_then(|segment| segment.total.service.percentile(0.5));
        median.is_none_or(|median| ns >= median.saturating_mul(TIMES_THE_MEDIAN))
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, Record, Segment, Timeline, timeline::Measure},
        stats::fixture::latency_of,
    };

    fn stalls(longest_ns: impl Fn(u32) -> u64, usual_ns: u64) -> Vec<Stall> {
        let mut timeline = Timeline::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        timeline.push(&Record::Segment(Segment::new(0.0, 1, knobs)));
        for second in 1..=20 {
            let latencies = iter::repeat_n(usual_ns, 100).chain([longest_ns(second)]);
            let (t_s, service) = (f64::from(second), latency_of(latencies));
            let interval =
                Interval { t_s, length_s: 1.0, segment: 1, ops: 101, service, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let window = timeline.window(0.0, 20.0, 20);
        window.stalls(&window.levels(Measure::Service))
    }

    #[test]
    fn a_stall_is_found_at_its_longest_and_a_server_that_is_always_slow_has_none() {
        let once = |second| match second {
            7 => 400_000_000,
            8 => 1_000_000_000,
            15 => 300_000_000,
            _ => 900_000,
        };
        let columns: Vec<_> = stalls(once, 300_000).iter().map(|stall| (stall.column, stall.ns)).collect();
        assert_eq!(columns, [(7, 1_000_000_000), (14, 300_000_000)]);
        assert_eq!(stalls(|_| 900_000_000, 250_000_000), []);
    }
}
