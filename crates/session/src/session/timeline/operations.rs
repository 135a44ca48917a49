//! The history of each operation's service times, and of the time for each stage of opening a connection.

use std::collections::BTreeMap;

use super::{Reading, SegmentTotal, Timeline, by_segment::BySegment, history::History};
use crate::{
    clock::{TICK_NS, seconds},
    protocol::OTHER,
    session::{Interval, OperationInterval},
    stats::{Blend, Latency},
    workload::MAX_OPERATIONS,
};

/// The number of ticks (quarter seconds) that each history keeps in full detail: 80 s, more than the longest
/// window.
const KEPT: usize = 320;

/// One history of latencies for each part of the load: for each operation or stage by its name, or for each node or
/// agent by its number.
#[derive(Debug, Clone)]
pub(super) struct PartLanes<K> {
    pub(super) lanes: BTreeMap<K, History<BySegment>>,
    /// The history of a part without latencies.
    empty: History<BySegment>,
    /// The largest number of parts with a history.
    most: usize,
    /// The part that gets the latencies of all further parts when there are `most` parts. `None` means that these
    /// latencies are left out.
    rest: Option<K>,
}

impl PartLanes<String> {
    /// Returns a collection without histories. Time slots of its histories are at most `longest_s` seconds long.
    pub(super) fn by_name(longest_s: f64) -> Self {
        Self::new(History::new(seconds(TICK_NS), KEPT, longest_s), MAX_OPERATIONS, Some(OTHER.to_owned()))
    }
}

impl<K: Ord + Clone> PartLanes<K> {
    pub(super) fn new(empty: History<BySegment>, most: usize, rest: Option<K>) -> Self {
        Self { lanes: BTreeMap::new(), empty, most, rest }
    }

    /// Adds the service times of each part in an interval.
    pub(super) fn push(&mut self, interval: &Interval, parts: &BTreeMap<K, OperationInterval>) {
        parts.iter().for_each(|(key, part)| self.add(interval, key, &part.service));
    }

    /// Adds the latencies of one part in an interval.
    pub(super) fn add(&mut self, interval: &Interval, key: &K, latency: &Latency) {
        let has_room = self.lanes.len() < self.most || self.lanes.contains_key(key);
        let Some(key) = (if has_room { Some(key) } else { self.rest.as_ref() }) else { return };
        if !latency.is_empty() {
            let lane = self.lanes.entry(key.clone()).or_insert_with(|| self.empty.clone());
            let (t_s, length_s) = (interval.t_s, interval.timed_s());
            lane.entry(t_s, length_s).add(interval.segment, t_s, length_s, latency);
        }
    }
}

impl Timeline {
    /// Returns the total results of each operation, without warm-up and prefill.
    pub fn operations(&self) -> BTreeMap<String, OperationInterval> {
        sums(self.segments.iter(), |total| &total.commands)
    }
}

/// Returns the total of each part over the measured segments: all segments except warm-up and prefill.
pub(super) fn sums<'a, K: Ord + Clone + 'a>(
    segments: impl Iterator<Item = &'a SegmentTotal>,
    parts: fn(&Interval) -> &BTreeMap<K, OperationInterval>,
) -> BTreeMap<K, OperationInterval> {
    let mut sums: BTreeMap<K, OperationInterval> = BTreeMap::new();
    let measured = segments.filter(|segment| segment.start.aside().is_none());
    for (key, part) in measured.flat_map(|segment| parts(&segment.total)) {
        sums.entry(key.clone()).or_default().merge(part);
    }
    sums
}

impl Reading<'_> {
    /// Returns the service times of one operation in the last `length_s` seconds of the current segment. The
    /// values come from the history, so they are at most 1.6 % too long, and they cover whole time slots.
    pub fn of_operation(&self, label: &str, length_s: f64) -> Latency {
        self.of_part(&self.cells.operations, label, length_s)
    }

    /// Returns the times that one stage of opening connections took in the last `length_s` seconds.
    pub fn of_stage(&self, stage: &str, length_s: f64) -> Latency {
        self.of_part(&self.cells.openings, stage, length_s)
    }

    fn of_part(&self, parts: &PartLanes<String>, label: &str, length_s: f64) -> Latency {
        let segment = self.segment().map_or(1, |segment| segment.start.segment);
        let of = |lane: &History<BySegment>| {
            lane.of_segment(segment, self.now_s() - length_s, self.now_s(), &mut Blend::default())
        };
        parts.lanes.get(label).map(of).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        session::{Interval, Opening, OperationInterval, Record, Timeline},
        stats::fixture::repeated,
    };

    #[test]
    fn each_operation_has_its_own_windows() {
        let mut timeline = Timeline::default();
        for tick in 1..=40 {
            let part =
                |n| OperationInterval { ops: n, service: repeated(1000, n), ..OperationInterval::default() };
            let commands = [("GET".to_owned(), part(9)), ("SET".to_owned(), part(1))].into();
            let t_s = f64::from(tick) * 0.25;
            let opening = Opening { greeting: repeated(1000, 3), ..Opening::default() };
            let interval =
                Interval { t_s, length_s: 0.25, segment: 1, commands, opening, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let count = |t_s, command, length_s| timeline.at(t_s).of_operation(command, length_s).count();
        assert_eq!((count(10.0, "GET", 1.0), count(10.0, "SET", 60.0)), (36, 40));
        assert_eq!((count(5.0, "GET", 60.0), count(5.0, "PING", 60.0)), (180, 0));
        let opened = |stage| timeline.at(5.0).of_stage(stage, 1.0).count();
        assert_eq!((opened("greeting"), opened("connect"), count(5.0, "greeting", 60.0)), (12, 0, 0));
    }
}
