//! Jumps of the cursor: to the worst moment, from event to event, from segment to segment.

use super::{
    JumpTarget, Model, View,
    axis::{interval_at, newest},
};
use crate::session::{
    Timeline,
    timeline::{Measure, SegmentTotal, Worst, episodes},
};

/// The maximum number of minutes in the list of the worst minutes.
const WORST_MINUTES: usize = 10;

impl Model {
    /// Moves the cursor to the destination of a jump. Returns the reason if the jump has no destination.
    pub(super) fn jump(&mut self, to: JumpTarget) -> Result<(), &'static str> {
        let now_s = self.now_s();
        let at_s = self.cursor_s().unwrap_or(now_s);
        let segments = || self.track().timeline.segments.iter().map(|segment| inside_s(segment, now_s));
        // An event with a length is at its beginning, as in the row of events.
        let happened = || {
            let events = episodes(self.track().timeline.events()).into_iter().map(|event| event.from_s);
            events.chain(self.track().timeline.marks().map(|mark| mark.t_s))
        };
        let (before, after) = (|t_s: &f64| *t_s < at_s - 1e-6, |t_s: &f64| *t_s > at_s + 1e-6);
        // Events of one second are shown together, so a jump goes to the next second with an event.
        let second = |t_s: f64| interval_at(t_s, now_s, 1.0);
        let (earlier, later) =
            (|t_s: &f64| second(*t_s) < second(at_s), |t_s: &f64| second(*t_s) > second(at_s));
        let found = match to {
            JumpTarget::Worst => self.next_worst_s().ok_or("nothing was measured yet"),
            JumpTarget::NextEvent => happened().filter(later).min_by(f64::total_cmp).ok_or("no later event"),
            JumpTarget::PreviousEvent => {
                happened().filter(earlier).max_by(f64::total_cmp).ok_or("no earlier event")
            }
            JumpTarget::NextSegment => {
                let later = self.track().timeline.segments.iter().find(|segment| after(&segment.start.t_s));
                later.map(|segment| inside_s(segment, now_s)).ok_or("no later segment")
            }
            JumpTarget::PreviousSegment => segments().rfind(before).ok_or("no earlier segment"),
            JumpTarget::Start => Ok(self.begins_s()),
            JumpTarget::End => Ok(now_s),
        };
        let t_s = found?;
        let length_s = self.axis(self.columns).length_s();
        self.put_cursor(t_s);
        // If the moment is more than a screen away, the view is centred on it.
        if (t_s - at_s).abs() > length_s
            && let View::Frozen { cursor_s, .. } = self.view
        {
            self.view = View::Frozen { cursor_s, to_s: (cursor_s + length_s / 2.0).min(self.known_s()) };
        }
        Ok(())
    }

    /// Returns the worst moment. If the cursor is already at one of the worst moments, returns the next worst moment.
    fn next_worst_s(&self) -> Option<f64> {
        let moments = self.worst_moments();
        let is_here = |t_s: &f64| self.cursor_s().is_some_and(|cursor_s| (cursor_s - t_s).abs() < 1e-6);
        let next = moments.iter().position(is_here).map_or(0, |here| here + 1);
        moments.get(next).or(moments.first()).copied()
    }

    /// Returns the worst moment of each of the worst minutes, the worst first. In a frozen view, these are minutes
    /// before the moment of freezing.
    fn worst_moments(&self) -> Vec<f64> {
        let is_measured = |measure: &Measure| self.track().shown().worst(*measure).is_some();
        let Some(measure) = [Measure::Service, Measure::Ping].into_iter().find(is_measured) else {
            return Vec::new();
        };
        let (begins_s, known_s) = (self.begins_s(), self.known_s());
        let minute_s = Timeline::minutes_s(known_s - begins_s);
        let minutes = ((known_s - begins_s) / minute_s).ceil().max(1.0);
        let window = self.track().shown().window(begins_s, begins_s + minutes * minute_s, minutes as usize);
        let mut worst: Vec<_> =
            (0..minutes as usize).filter_map(|minute| window.worst(measure, minute)).collect();
        worst.sort_by_key(|worst| std::cmp::Reverse(worst.ns));
        // One coarse cell of the history may cover several minutes.
        worst.dedup_by_key(|worst| worst.t_s);
        worst.into_iter().take(WORST_MINUTES).map(|worst| self.placed(measure, worst)).collect()
    }

    /// Returns the destination of a jump to a long latency. The destination is the beginning of the second in which the
    /// latency was measured. The destination is in the column that shows the latency.
    fn placed(&self, measure: Measure, worst: Worst) -> f64 {
        let step_s = self.step_s(self.columns);
        let shows = |from_s: f64, length_s: f64| {
            let part = self.track().shown().window(from_s, from_s + length_s, 1);
            part.worst(measure, 0).is_some_and(|longest| longest.ns >= worst.ns)
        };
        let number = newest(worst.t_s, step_s);
        let columns = [number, number.saturating_sub(1)].map(|number| number as f64 * step_s);
        let from_s = columns.into_iter().find(|from_s| shows(*from_s, step_s)).unwrap_or(columns[0]);
        // The figures cover the second that begins at the cursor.
        let into_s = (worst.t_s - from_s).floor();
        let seconds = [into_s - 1.0, into_s].into_iter().filter(|into_s| (0.0..step_s).contains(into_s));
        seconds.map(|into_s| from_s + into_s).find(|second_s| shows(*second_s, 1.0)).unwrap_or(from_s)
    }
}

/// Returns the moment one second after the beginning of a segment. Measurements exist for this moment. For a segment
/// shorter than a second, returns the segment's end.
pub(super) fn inside_s(segment: &SegmentTotal, now_s: f64) -> f64 {
    (segment.start.t_s + 1.0).min(segment.ended_s.unwrap_or(now_s))
}

#[cfg(test)]
mod tests {
    use super::{
        super::view::tests::{model, shows_cursor},
        *,
    };
    use crate::{
        app::Zoom,
        events::EventKind,
        knobs::Knobs,
        probe::Ping,
        session::{Event, Interval, Mark, Record, Span, TimelineOptions},
    };

    #[test]
    fn the_next_presses_walk_the_worst_minutes_and_begin_again() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for s in 1..=240_u32 {
            let ms = match s {
                30 => 40,
                100 => 90,
                101 => 80,
                200 => 60,
                _ => 1,
            };
            let rtt = crate::stats::fixture::repeated(ms * 1_000_000, 10);
            let ping = Ping { rtt, ..Ping::default() };
            model.push(&Record::Ping(Box::new(Span::new(f64::from(s), 1.0, ping))));
        }
        model.zoom = Zoom::Whole;
        for columns in 10..200 {
            model.columns = columns;
            model.go_live();
            let walked = [(); 5].map(|()| {
                model.jump(JumpTarget::Worst).unwrap();
                model.shown().ping().now.max_ns() / 1_000_000
            });
            assert_eq!((walked[..3].to_vec(), walked[4]), (vec![90, 60, 40], 90), "{columns} columns");
        }
    }

    #[test]
    fn the_worst_minutes_of_a_frozen_view_stay_the_same() {
        let mut model = model();
        model.freeze();
        let worst = model.worst_moments();
        // So much later, the older history is coarser, and the list of the worst minutes has longer minutes.
        let interval = Interval { t_s: 99_000.0, length_s: 1.0, ops: 1, ..Interval::default() };
        let service = crate::stats::fixture::repeated(90_000_000, 10);
        model.push(&Record::Interval(Box::new(Interval { service, ..interval })));
        assert_eq!(model.worst_moments(), worst);
        model.go_live();
        assert_ne!(model.worst_moments(), worst);
    }

    #[test]
    fn a_jump_to_a_gap_goes_to_its_beginning_and_the_next_jump_to_the_next_event() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for t_s in [10.0, 20.0, 61.0, 70.0] {
            let second = Interval { t_s, length_s: 1.0, ops: 1, ..Interval::default() };
            model.push(&Record::Interval(Box::new(second)));
        }
        model.push(&Record::Event(Event::new(60.0, EventKind::NotRecorded { length_s: 40.0 })));
        model.push(&Record::Mark(Mark { t_s: 62.5, text: "here".to_owned() }));
        model.put_cursor(10.0);
        let walked = [JumpTarget::NextEvent, JumpTarget::NextEvent, JumpTarget::PreviousEvent].map(|to| {
            model.jump(to).unwrap();
            model.cursor_s()
        });
        assert_eq!(walked, [Some(20.0), Some(62.5), Some(20.0)]);
    }

    #[test]
    fn jumps_find_the_worst_moment_events_and_segments() {
        let mut model = model();
        model.jump(JumpTarget::Worst).unwrap();
        assert_eq!((model.figures_s().map(f64::floor), shows_cursor(&model)), (Some(321.0), true));
        assert_eq!(model.shown().segment().map(|segment| segment.start.knobs.clients), Some(4));
        model.jump(JumpTarget::NextEvent).unwrap();
        assert_eq!(model.cursor_s(), Some(450.0));
        assert_eq!(model.jump(JumpTarget::NextEvent), Err("no later event"));
        model.jump(JumpTarget::PreviousSegment).unwrap();
        assert_eq!(model.cursor_s(), Some(401.0));
        model.jump(JumpTarget::NextSegment).unwrap();
        assert_eq!((model.cursor_s(), shows_cursor(&model)), (Some(501.0), true));
    }
}
