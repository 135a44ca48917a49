//! Computes the figures for the summary of a session, over the time under load.

use std::collections::BTreeMap;

use super::{Event, Record, SessionEnd, Summary};
use crate::events::{EventKind, SearchResult, SweepBest};

/// Adds up the records of a session to a [`Summary`].
#[derive(Debug, Clone, Default)]
pub struct Tally {
    summary: Summary,
    found: Option<SearchResult>,
    best: Option<SweepBest>,
    /// The way in which the summary counts each segment, by the segment's number.
    segments: BTreeMap<u32, Weight>,
    /// The good replies and the length in seconds of each segment with load, by the segment's number.
    paces: BTreeMap<u32, (u64, f64)>,
}

/// The minimum length of a segment that can be the fastest segment, in seconds. The minimum is one second, minus the
/// inaccuracy of ticks (quarter seconds).
const LASTING_S: f64 = 0.95;

/// The way in which the summary counts a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Load,
    /// The segment has no load, and receives only the last replies of the previous segment.
    Rest,
    /// The summary leaves the segment out, because the segment is a warm-up or a prefill.
    Aside,
}

impl Tally {
    /// Adds the next record to the summary.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) => {
                let part = match (segment.aside().is_some(), segment.knobs.load) {
                    (true, _) => Weight::Aside,
                    (false, true) => Weight::Load,
                    (false, false) => Weight::Rest,
                };
                self.segments.insert(segment.segment, part);
            }
            Record::Interval(interval) => match self.segments.get(&interval.segment) {
                Some(Weight::Aside) => {}
                part => {
                    self.summary.add(interval, part == Some(&Weight::Load));
                    let (ops, length_s) = self.paces.entry(interval.segment).or_default();
                    *ops += interval.in_rate();
                    *length_s += interval.load_s();
                }
            },
            Record::Event(Event { what: EventKind::FirstError { error, message }, .. }) => {
                self.summary.first_errors.entry(error.clone()).or_insert_with(|| message.clone());
            }
            Record::Event(Event { what: EventKind::Found { found }, .. }) => self.found = Some(found.clone()),
            Record::Event(Event { what: EventKind::BestStep { best }, .. }) => self.best = Some(best.clone()),
            _ => {}
        }
    }

    /// Returns the end record of a session that ends at `t_s`.
    pub fn end(&self, t_s: f64) -> SessionEnd {
        let lasting = self.paces.values().filter(|(_, length_s)| *length_s >= LASTING_S);
        let peak_ops_per_s = lasting.map(|(ops, length_s)| *ops as f64 / length_s).reduce(f64::max);
        let (found, best) = (self.found.clone(), self.best.clone());
        SessionEnd { t_s, node: 0, summary: self.summary.clone(), peak_ops_per_s, found, best }
    }

    /// Returns whether the summary includes this segment. Warm-ups and prefills are not included.
    pub fn counts(&self, segment: u32) -> bool {
        self.segments.get(&segment) != Some(&Weight::Aside)
    }

    /// Returns the summary so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, Segment},
    };

    #[test]
    fn only_time_under_load_counts() {
        let mut tally = Tally::default();
        for (segment, load, ops) in [(1, false, 0), (2, true, 300), (3, false, 2)] {
            let knobs = Knobs { load, ..Knobs::default() };
            tally.push(&Record::Segment(Segment::new(0.0, segment, knobs)));
            let interval = Interval { length_s: 2.0, segment, ops, ..Interval::default() };
            tally.push(&Record::Interval(Box::new(interval)));
        }
        let summary = tally.summary();
        assert_eq!((summary.length_s, summary.ops, summary.ops_per_s), (2.0, 302, 151.0));
        assert_eq!(tally.end(9.0).peak_ops_per_s, Some(150.0));
    }

    #[test]
    fn the_warm_up_is_left_out() {
        let mut tally = Tally::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        for (segment, warmup) in [(1, true), (2, false)] {
            tally.push(&Record::Segment(Segment { warmup, ..Segment::new(0.0, segment, knobs.clone()) }));
            tally.push(&Record::Interval(Box::new(Interval {
                length_s: 1.0,
                segment,
                ops: 7,
                ..Interval::default()
            })));
        }
        assert_eq!((tally.summary().ops, tally.summary().length_s), (7, 1.0));
    }

    #[test]
    fn the_first_message_of_a_kind_is_kept() {
        let mut tally = Tally::default();
        for message in ["first", "second"] {
            let what = EventKind::FirstError { error: "OOM".to_owned(), message: message.to_owned() };
            tally.push(&Record::Event(Event::new(1.0, what)));
        }
        assert_eq!(tally.summary().first_errors["OOM"], "first");
    }
}
