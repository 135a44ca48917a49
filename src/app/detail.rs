//! A recording that is looked at closely: what the file holds of the stretch in view is read again, and shown once it is
//! there.

use super::{Model, Order};
use crate::session::{
    Timeline,
    timeline::{Detail, Reading},
};

/// What of a recording is shown at its own resolution.
#[derive(Debug, Clone, Default)]
pub struct Closely {
    /// What is being read, or was last: from when to when, in seconds of the session.
    asked: Option<(f64, f64)>,
    /// What has been read: the stretch, and the session with its history.
    read: Option<((f64, f64), Box<Timeline>)>,
}

/// Figures of a moment are of the minute before it.
const BEFORE_S: f64 = 61.0;

impl Model {
    /// The instruments at the moment that is shown, as finely as the stretch in view is known.
    pub fn shown(&self) -> Reading<'_> {
        let closely = self.closely.read.as_ref().filter(|((from_s, to_s), _)| {
            let (first_s, last_s) = self.in_view();
            *from_s <= (first_s - BEFORE_S).max(0.0) && last_s <= *to_s
        });
        match (closely, self.cursor_s()) {
            (Some((_, timeline)), Some(cursor_s)) => timeline.at(cursor_s),
            _ => self.track().reading(self.view),
        }
    }

    /// From when to when the charts go.
    fn in_view(&self) -> (f64, f64) {
        let axis = self.axis(self.columns);
        (axis.from_s(), axis.to_s().min(self.known_s()))
    }

    /// Asks for the stretch in view, if the file holds more of it than is known.
    pub(super) fn look_closely(&mut self) {
        if self.playback.as_ref().is_none_or(|playback| playback.read.is_some()) {
            return;
        }
        let (from_s, to_s) = self.in_view();
        let step_s = self.axis(self.columns).step_s;
        let coarsest_s = self.timeline().resolution_s(from_s);
        let needs = (from_s - BEFORE_S).max(0.0);
        let is_asked = self.closely.asked.is_some_and(|(from_s, until_s)| from_s <= needs && to_s <= until_s);
        if coarsest_s <= step_s.max(self.timeline().resolution_s(self.known_s())) * 1.001 || is_asked {
            return;
        }
        // The cursor moves on, and the view with it.
        let beside_s = (to_s - from_s) / 2.0;
        let stretch = ((needs - beside_s).max(0.0), (to_s + beside_s).min(self.known_s()));
        self.closely.asked = Some(stretch);
        self.ask(Order::ReadAgain { from_s: stretch.0, to_s: stretch.1 });
    }

    /// A stretch has been read.
    pub(super) fn take_detail(&mut self, detail: &Detail) {
        let timeline = Box::new(detail.of(self.timeline()));
        self.closely.read = Some(((detail.from_s, detail.to_s), timeline));
    }
}
