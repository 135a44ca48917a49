//! Applies the segments of the node with load to the timelines of other nodes. A node without load has a single segment
//! of its own. Its PINGs are measured while the load on another node changes. The statistics of its PINGs must not mix
//! two settings of this load.

use super::{Measure, Reading, Timeline, fold::push_bounded};
use crate::session::{Interval, Record, Segment};

impl Timeline {
    /// Returns the results of the load in the record, with their segment and all later segments. Returns `None` if the
    /// record has no such results. Several nodes may share this load. Call this function on the timeline of the first
    /// node.
    pub fn load_of_nodes<'a>(&self, record: &'a Record) -> Option<(&'a Interval, Vec<Segment>)> {
        let Record::Interval(interval) = record else { return None };
        let since =
            self.segments.iter().map(|of| &of.start).filter(|start| start.segment >= interval.segment);
        let segments: Vec<_> = since.cloned().collect();
        let is_known = segments.first().is_some_and(|first| first.segment == interval.segment);
        (interval.node == 0 && is_known).then_some((interval, segments))
    }

    /// Adds the results of node `node` in an interval of the whole load. An interval without results of the node counts
    /// too, because the node was idle in this time. `segments` has the interval's segment and all later segments.
    pub fn push_part(&mut self, node: u16, interval: &Interval, segments: &[Segment]) {
        self.begin_part(node, interval, segments);
        if let (true, Some(start)) = (self.has_part(), segments.first()) {
            self.push(&Record::Interval(Box::new(interval.of_node(node, start.knobs.rate.is_some()))));
        }
    }

    /// Handles the first part of the load that node `node` gets. Ends the node's segment without load, and begins
    /// `segments`.
    pub fn begin_part(&mut self, node: u16, interval: &Interval, segments: &[Segment]) {
        if !self.has_part() && interval.nodes.contains_key(&node) {
            for start in segments {
                self.segments.begin(&Segment { is_part: true, ..start.clone() });
            }
        }
    }

    /// Returns whether the node gets or has got a part of the load of all nodes.
    pub fn has_part(&self) -> bool {
        self.segments.iter().any(|own| own.start.is_part)
    }

    /// Handles a segment with new load settings on another node. Empties the probes' windows (the
    /// measurements of the last second and minute), and forgets the usual levels of the figures. If this node
    /// gets a part of the new load, the segment begins at this node too. If this node has its own load,
    /// nothing changes.
    pub fn follow_segment(&mut self, segment: &Segment) {
        if self.segments.iter().any(|own| own.start.knobs.load && !own.start.is_part) {
            return;
        }
        push_bounded(&mut self.followed, (segment.t_s, segment.segment));
        if self.has_part() {
            self.push(&Record::Segment(Segment { is_part: true, ..segment.clone() }));
        } else {
            self.watches.forget(segment.t_s);
            self.cut_windows(segment.t_s);
        }
    }

    /// Returns the number and the start of the last segment that another node has begun up to `t_s`.
    fn followed_at(&self, t_s: f64) -> Option<(u32, f64)> {
        let begun = self.followed.iter().rev().find(|(begun_s, _)| *begun_s <= t_s);
        begun.map(|(begun_s, segment)| (*segment, *begun_s))
    }

    /// Returns the number of the segment to which measurements of the probes belong now.
    pub(super) fn probed_segment(&self) -> u32 {
        let followed = self.followed.back().map(|(_, segment)| *segment);
        followed.or_else(|| self.current_segment()).unwrap_or(1)
    }

    /// Returns the number of the segment to which a probe's measurements up to `t_s` belong. A report that ends with a
    /// segment may arrive after the beginning of the next segment.
    pub fn probed_segment_at(&self, t_s: f64) -> u32 {
        let followed =
            self.followed.iter().rev().find(|(begun_s, _)| *begun_s < t_s).map(|(_, segment)| *segment);
        let own = || self.segments.start_at(t_s).map(|start| start.segment);
        followed.or_else(own).unwrap_or_else(|| self.probed_segment())
    }

    /// Empties all windows, except those of the intrinsic latency, because no load changes it.
    pub(super) fn cut_windows(&mut self, t_s: f64) {
        let cut = |measure: &Measure| *measure != Measure::Intrinsic;
        for measure in Measure::ALL.into_iter().filter(cut) {
            self.lanes[measure as usize].cut();
        }
        self.pings.cut(t_s);
    }
}

impl Reading<'_> {
    /// Returns the number and the start of the segment whose PINGs are shown at this moment.
    pub(super) fn probed_segment(&self) -> (u32, f64) {
        let listed = || self.segment().map(|segment| &segment.start);
        let own = || listed().or_else(|| self.timeline.segments.start_at(self.now_s()));
        let followed = self.timeline.followed_at(self.now_s());
        followed.or_else(|| own().map(|start| (start.segment, start.t_s))).unwrap_or((1, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        probe::Ping,
        session::{OperationInterval, Span, WatchedFigure},
        stats::fixture::repeated,
    };

    #[test]
    fn the_windows_of_a_watched_node_hold_one_setting_of_the_load_at_any_moment() {
        let mut timeline = Timeline::default();
        timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        timeline.follow_segment(&Segment::new(0.0, 1, Knobs::default()));
        for tick in 1..=80_u32 {
            if tick == 41 {
                timeline.follow_segment(&Segment::new(10.0, 2, Knobs::default()));
            }
            let ns = if tick > 40 { 5_000_000 } else { 100_000 };
            let ping = Ping { rtt: repeated(ns, 10), ..Ping::default() };
            timeline.push(&Record::Ping(Box::new(Span::new(f64::from(tick) * 0.25, 0.25, ping))));
        }
        let seen = |reading: Reading| {
            let minute = &reading.ping().minute;
            (minute.count(), minute.min_ns() > 1_000_000, reading.pings_minute().answered)
        };
        let usual = timeline.watches.usual_level(&WatchedFigure::PingP50).map(|(_, usual)| usual.level);
        assert!(usual.is_some_and(|us| us > 1000.0), "{usual:?}");
        assert_eq!(seen(timeline.latest()), (400, true, 400));
        assert_eq!(seen(timeline.at(15.0)), (200, true, 200));
        assert_eq!(seen(timeline.at(9.0)), (360, false, 360));
    }

    #[test]
    fn idle_time_and_changes_before_the_first_part_count_for_a_node() {
        let start = |t_s, number| Segment::new(t_s, number, Knobs { load: true, ..Knobs::default() });
        let interval = |t_s, segment, parts: &[(u16, u64)]| {
            let part = |ops| OperationInterval { ops, ..Default::default() };
            let nodes = parts.iter().map(|(node, ops)| (*node, part(*ops))).collect();
            Record::Interval(Box::new(Interval {
                t_s,
                length_s: 0.25,
                segment,
                nodes,
                ..Interval::default()
            }))
        };
        let (mut first, mut second) = (Timeline::default(), Timeline::default());
        second.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        for segment in [start(0.0, 1), start(0.1, 2)] {
            first.push(&Record::Segment(segment.clone()));
            second.follow_segment(&segment);
        }
        let ticks = [
            interval(0.25, 1, &[(0, 1), (1, 1)]),
            interval(0.5, 2, &[(1, 3)]),
            interval(0.75, 2, &[]),
            interval(1.0, 2, &[(0, 2)]),
        ];
        for record in &ticks {
            let (all, segments) = first.load_of_nodes(record).unwrap();
            second.push_part(1, all, &segments);
        }
        let seen = second.segments.iter().map(|of| (of.start.segment, of.total.ops, of.total.length_s));
        assert_eq!(seen.collect::<Vec<_>>(), [(1, 1, 0.25), (2, 3, 0.75)]);
        assert_eq!(second.current_segment(), Some(2));
    }

    #[test]
    fn a_node_has_the_segments_of_a_load_from_its_first_part_of_the_load_on() {
        let start = |t_s, number, load| {
            Segment::new(t_s, number, Knobs { load, rate: Some(900), ..Knobs::default() })
        };
        let interval = |t_s, segment, parts: &[(u16, u64)]| {
            let part = |ops| OperationInterval { ops, service: repeated(9000, ops), ..Default::default() };
            let nodes = parts.iter().map(|(node, ops)| (*node, part(*ops))).collect();
            Interval { t_s, length_s: 0.25, segment, ops: 300, nodes, ..Interval::default() }
        };
        let mut timeline = Timeline::default();
        let ping = Ping { rtt: repeated(9000, 7), ..Ping::default() };
        timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        timeline.push(&Record::Ping(Box::new(Span::new(0.2, 0.2, ping))));
        let of_all = [start(0.1, 1, true), start(5.0, 2, true), start(9.0, 3, false)];
        timeline.follow_segment(&of_all[0]);
        timeline.push_part(1, &interval(0.25, 1, &[(0, 300)]), &of_all[0..=0]);
        assert!(!timeline.has_part());
        timeline.push_part(1, &interval(0.5, 1, &[(0, 200), (1, 100)]), &of_all[0..=0]);
        timeline.follow_segment(&of_all[1]);
        timeline.push_part(1, &interval(5.25, 2, &[(1, 50)]), &of_all[1..=1]);
        timeline.push_part(1, &interval(5.5, 2, &[(0, 300)]), &of_all[1..=1]);
        timeline.follow_segment(&of_all[2]);
        let seen = timeline.segments.iter().map(|of| (of.start.segment, of.total.ops, of.total.length_s));
        assert_eq!(seen.collect::<Vec<_>>(), [(1, 100, 0.25), (2, 50, 0.5), (3, 0, 0.0)]);
        let first = timeline.segments.iter().next().unwrap();
        assert_eq!((first.pings.count(), first.start.rate_due()), (7, None), "its PINGs are kept");
        assert_eq!(timeline.lane(Measure::Ping).minute().count(), 0);
    }
}
