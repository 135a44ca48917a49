//! The segments that another node has begun. A node that is only watched has a single segment of its own, but its PINGs
//! are measured while the load of another node changes. Its windows must not mix two settings of this load.

use super::{Measure, Reading, Timeline, fold::push_bounded};
use crate::session::Segment;

impl Timeline {
    /// Empties the windows of the probes and forgets the usual levels, because another node has begun a segment with new settings of the load. A
    /// node with a load of its own has its own segments, and is unchanged.
    pub fn follow_segment(&mut self, segment: &Segment) {
        if self.segments.iter().any(|own| own.start.knobs.load) {
            return;
        }
        push_bounded(&mut self.followed, (segment.t_s, segment.segment));
        self.watches.forget(segment.t_s);
        self.cut_windows();
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

    /// Empties all windows but those of the intrinsic latency, which no load changes.
    pub(super) fn cut_windows(&mut self) {
        let cut = |measure: &Measure| *measure != Measure::Intrinsic;
        for measure in Measure::ALL.into_iter().filter(cut) {
            self.lanes[measure as usize].cut();
        }
        self.pings.cut();
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
        session::{Record, Span, WatchedFigure},
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
}
