//! Service times by operation over time.

use std::collections::BTreeMap;

use super::{Reading, by_segment::BySegment, history::History};
use crate::{
    clock::{TICK_NS, seconds},
    protocol::OTHER,
    session::Interval,
    stats::{Blend, Latency},
    workload::MAX_OPERATIONS,
};

/// So many ticks are kept as fine as they came: 80 s, enough for the longest window.
const KEPT: usize = 320;

/// One lane for each operation, by its label.
#[derive(Debug, Clone)]
pub(super) struct OperationLanes {
    lanes: BTreeMap<String, History<BySegment>>,
    /// No cell becomes longer than this.
    longest_s: f64,
}

impl OperationLanes {
    /// No lane yet; cells of those to come never become longer than `longest_s` seconds.
    pub(super) fn new(longest_s: f64) -> Self {
        Self { lanes: BTreeMap::new(), longest_s }
    }

    pub(super) fn push(&mut self, interval: &Interval) {
        let (t_s, length_s) = (interval.t_s, interval.length_s);
        for (label, part) in interval.commands.iter().filter(|(_, part)| !part.service.is_empty()) {
            let is_known = self.lanes.contains_key(label) || self.lanes.len() < MAX_OPERATIONS;
            let label = if is_known { label } else { OTHER };
            let empty = || History::new(seconds(TICK_NS), KEPT).no_coarser(self.longest_s);
            let cells = self.lanes.entry(label.to_owned()).or_insert_with(empty);
            cells.entry(t_s, length_s).add(interval.segment, t_s, length_s, &part.service);
        }
    }
}

impl Reading<'_> {
    /// The service time of one operation in the `length_s` seconds before this moment, in the segment that holds. It is
    /// as fine as the history is: at most 1.6 % too long, and of whole cells where they are longer than a tick.
    pub fn of_operation(&self, label: &str, length_s: f64) -> Latency {
        let segment = self.segment().map_or(1, |segment| segment.start.segment);
        let mut blend = Blend::default();
        let now_s = self.now_s();
        let lane = self.cells.operations.lanes.get(label);
        let cells = lane.into_iter().flat_map(|lane| lane.between(now_s - length_s, now_s));
        cells.for_each(|cell| cell.value.blend(segment, &mut blend));
        blend.take()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        session::{Interval, OperationInterval, Record, Timeline},
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
            let interval = Interval { t_s, length_s: 0.25, segment: 1, commands, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let count = |t_s, command, length_s| timeline.at(t_s).of_operation(command, length_s).count();
        assert_eq!((count(10.0, "GET", 1.0), count(10.0, "SET", 60.0)), (36, 40));
        assert_eq!((count(5.0, "GET", 60.0), count(5.0, "PING", 60.0)), (180, 0));
    }
}
