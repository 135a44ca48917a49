//! Jumps of the cursor: to the worst moment, from event to event, from segment to segment.

use super::{Landmark, Model, View, axis::number_ending};
use crate::session::timeline::{Measure, SegmentTotal};

impl Model {
    /// Moves the cursor to a landmark, or returns the reason why there is none.
    pub(super) fn jump(&mut self, to: Landmark) -> Result<(), &'static str> {
        let now_s = self.now_s();
        let at_s = self.cursor_s().unwrap_or(now_s);
        let segments = || self.timeline().segments().iter().map(|segment| inside_s(segment, now_s));
        let happened = || {
            let events = self.timeline().events().map(|event| event.t_s);
            events.chain(self.timeline().marks().map(|mark| mark.t_s))
        };
        let (before, after) = (|t_s: &f64| *t_s < at_s - 1e-6, |t_s: &f64| *t_s > at_s + 1e-6);
        let found = match to {
            Landmark::Worst => self.worst_s().ok_or("nothing was measured yet"),
            Landmark::NextEvent => happened().filter(after).min_by(f64::total_cmp).ok_or("no later event"),
            Landmark::PreviousEvent => {
                happened().filter(before).max_by(f64::total_cmp).ok_or("no earlier event")
            }
            Landmark::NextSegment => {
                let later = self.timeline().segments().iter().find(|segment| after(&segment.start.t_s));
                later.map(|segment| inside_s(segment, now_s)).ok_or("no later segment")
            }
            Landmark::PreviousSegment => segments().rfind(before).ok_or("no earlier segment"),
            Landmark::Start => Ok(self.begins_s()),
            Landmark::End => Ok(now_s),
        };
        let t_s = found?;
        let length_s = self.axis(self.columns).length_s();
        self.put_cursor(t_s);
        // A moment more than a screen away is shown with its surroundings.
        if (t_s - at_s).abs() > length_s
            && let View::Frozen { cursor_s, .. } = self.view
        {
            self.view = View::Frozen { cursor_s, to_s: (cursor_s + length_s / 2.0).min(self.known_s()) };
        }
        Ok(())
    }

    /// Returns the time of the longest request, or without load of the longest ping, as a moment in the column that
    /// shows it.
    fn worst_s(&self) -> Option<f64> {
        let of = |measure| Some((measure, self.timeline().worst(measure)?));
        let (measure, worst) = [Measure::Service, Measure::Ping].into_iter().find_map(of)?;
        let step_s = self.step_s(self.columns);
        let starts_s = number_ending(worst.t_s, step_s) as f64 * step_s;
        let column = self.timeline().window(starts_s, starts_s + step_s, 1);
        let is_there = column.worst(measure, 0).is_some_and(|longest| longest.ns >= worst.ns);
        Some(if is_there { worst.t_s } else { starts_s })
    }
}

/// Returns a moment a second after the beginning of a segment, when there are measurements; its end if it is
/// shorter.
pub(super) fn inside_s(segment: &SegmentTotal, now_s: f64) -> f64 {
    (segment.start.t_s + 1.0).min(segment.ended_s.unwrap_or(now_s))
}

#[cfg(test)]
mod tests {
    use super::{
        super::view::tests::{model, shows_cursor},
        *,
    };

    #[test]
    fn jumps_find_the_worst_moment_events_and_segments() {
        let mut model = model();
        model.jump(Landmark::Worst).unwrap();
        assert_eq!((model.cursor_s(), shows_cursor(&model)), (Some(321.0), true));
        assert_eq!(model.shown().segment().map(|segment| segment.start.knobs.clients), Some(4));
        model.jump(Landmark::NextEvent).unwrap();
        assert_eq!(model.cursor_s(), Some(450.0));
        assert_eq!(model.jump(Landmark::NextEvent), Err("no later event"));
        model.jump(Landmark::PreviousSegment).unwrap();
        assert_eq!(model.cursor_s(), Some(401.0));
        model.jump(Landmark::NextSegment).unwrap();
        assert_eq!((model.cursor_s(), shows_cursor(&model)), (Some(501.0), true));
    }
}
