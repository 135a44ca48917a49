//! The part of the session that the screen shows: the present or the moment of the cursor, and the period
//! that the time axis covers.
//!
//! ```text
//!              ├──────── axis: columns × step ────────┤
//!   session ───┼───────────────────│──────────────────┼─────── now, continues
//!                               cursor               to
//! ```
//! The timeline of a track grows during the session. When the user freezes the view, the track keeps a copy of its
//! timeline. A frozen view shows nothing later until the user moves the cursor forward.

use super::{
    Model, TimeAxis, Track, View, Zoom,
    axis::{interval_at, newest},
};
use crate::session::timeline::{Reading, Segments};

impl Model {
    /// Returns all measured values at the moment that is shown.
    pub fn shown(&self) -> Reading<'_> {
        let shown = self.track().reading(self.figures_view());
        if self.node == 0 { shown } else { shown.beside(self.tracks[0].reading(self.figures_view())) }
    }

    /// Returns the segments up to the latest moment. In a frozen view, returns the segments up to the moment of
    /// freezing.
    pub fn segments(&self) -> &Segments {
        self.track().segments()
    }

    /// Returns the last moment that can be shown, over the tracks of all nodes, in seconds of the session. A frozen
    /// view shows nothing after the moment of freezing.
    pub fn known_s(&self) -> f64 {
        self.tracks.iter().map(Track::known_s).fold(0.0, f64::max)
    }

    /// Returns the time of the first measurement, in seconds of the session. The second and later files of a
    /// recording begin at a time above 0.
    pub(super) fn begins_s(&self) -> f64 {
        self.track().timeline.begins_s().min(self.known_s())
    }

    /// Returns the latest moment of all tracks.
    pub(super) fn now_s(&self) -> f64 {
        self.tracks.iter().map(|track| track.timeline.now_s).fold(0.0, f64::max)
    }

    /// Returns the moment of the cursor, if the view is frozen.
    pub fn cursor_s(&self) -> Option<f64> {
        match self.view {
            View::Live => None,
            View::Frozen { cursor_s, .. } => Some(cursor_s),
        }
    }

    /// Returns the time after which nothing is shown, in seconds of the session. In a frozen view of a live session,
    /// this is the end of the view. Otherwise, the time is infinite.
    pub fn ends_s(&self) -> f64 {
        match (self.view, self.zoom) {
            (View::Frozen { to_s, .. }, Zoom::Lately | Zoom::Step(_)) if self.playback.is_none() => {
                to_s.min(self.known_s())
            }
            (View::Frozen { .. }, Zoom::Whole) if self.playback.is_none() => self.known_s(),
            _ => f64::INFINITY,
        }
    }

    /// Returns the moment shown, in seconds of the session. The moment is the cursor, or the latest moment of a live
    /// view.
    pub fn moment_s(&self) -> f64 {
        self.cursor_s().unwrap_or_else(|| self.shown().now_s())
    }

    /// Returns the end of the second that begins at the cursor, in seconds of the session. If the cursor's column is
    /// shorter, returns the end of this column. Returns `None` in a live view. The figures cover the second before this
    /// moment.
    pub fn figures_s(&self) -> Option<f64> {
        let length_s = self.step_s(self.columns).min(1.0);
        self.cursor_s().map(|cursor_s| (cursor_s + length_s).min(self.known_s().max(cursor_s)))
    }

    /// Returns the view at the moment of the figures.
    pub(super) fn figures_view(&self) -> View {
        match (self.view, self.figures_s()) {
            (View::Frozen { to_s, .. }, Some(cursor_s)) => View::Frozen { cursor_s, to_s },
            (view, _) => view,
        }
    }

    /// Returns whether the moment `t_s` is after the second that begins at the cursor.
    pub fn is_after_cursor(&self, t_s: f64) -> bool {
        self.cursor_s().zip(self.figures_s()).is_some_and(|(from_s, to_s)| t_s > from_s && t_s >= to_s)
    }

    /// Returns the time from the cursor of a frozen view to the latest measurement, in seconds. Returns `None` when the
    /// view is live.
    pub fn behind_s(&self) -> Option<f64> {
        self.cursor_s().map(|cursor_s| self.now_s() - cursor_s)
    }

    /// Returns the time axis of a chart of `columns` columns.
    pub fn axis(&self, columns: u16) -> TimeAxis {
        let to_s = match (self.view, self.zoom) {
            (View::Frozen { to_s, .. }, Zoom::Lately | Zoom::Step(_)) => to_s,
            _ => self.known_s(),
        };
        TimeAxis::holding(to_s, self.begins_s(), columns, self.step_s(columns))
    }

    /// Freezes a live view at the latest moment.
    pub(super) fn freeze(&mut self) {
        if self.view == View::Live {
            let now_s = self.now_s();
            self.view = View::Frozen { cursor_s: now_s, to_s: now_s };
            self.freeze_tracks();
        }
    }

    /// Keeps the state of live sessions at the latest moment, for a frozen view. Recordings do not grow, so their state
    /// is not kept.
    fn freeze_tracks(&mut self) {
        if self.playback.is_none() {
            self.tracks.iter_mut().for_each(Track::freeze);
            self.held = Some(Box::new(self.watched.clone()));
        }
    }

    /// Makes the view live. The view then shows the latest moment again.
    pub(super) fn go_live(&mut self) {
        self.view = View::Live;
        self.tracks.iter_mut().for_each(Track::unfreeze);
        self.held = None;
    }

    /// Moves the cursor by this many columns.
    pub(super) fn scrub(&mut self, columns: i32) {
        self.freeze();
        let (known_s, step_s) = (self.known_s(), self.step_s(self.columns));
        let number = interval_at(self.cursor_s().unwrap_or_default(), known_s, step_s);
        let number = number.saturating_add_signed(columns.into());
        if number > newest(known_s, step_s) {
            // The column after the moment of freezing is shown as far as it is known by now.
            self.freeze_tracks();
        }
        self.put_cursor(number as f64 * step_s);
    }

    /// Moves the axis of a frozen view as little as needed to contain the cursor. Call this function after the width of
    /// the charts has changed.
    pub(super) fn keep_cursor_in_view(&mut self) {
        if let View::Frozen { cursor_s, .. } = self.view {
            self.put_cursor(cursor_s);
        }
    }

    /// Freezes the view with the cursor at this moment, and moves the axis as little as needed to show the cursor.
    pub fn put_cursor(&mut self, t_s: f64) {
        self.freeze();
        let cursor_s = t_s.clamp(self.begins_s(), self.now_s());
        if cursor_s > self.known_s() {
            self.freeze_tracks();
        }
        let axis = self.axis(self.columns);
        if let View::Frozen { to_s, .. } = self.view {
            let number = interval_at(cursor_s, self.known_s(), axis.step_s);
            let end = match () {
                () if number < axis.end - u64::from(axis.columns) => Some(number + u64::from(axis.columns)),
                () if number >= axis.end => Some(number + 1),
                () => None,
            };
            let to_s = end.map_or(to_s, |end| end as f64 * axis.step_s);
            self.view = View::Frozen { cursor_s, to_s };
        }
        self.follow_recording();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        app::JumpTarget,
        events::EventKind,
        knobs::Knobs,
        probe::Ping,
        session::{Event, Interval, Record, Segment, ServerIdentity, SessionStart, Span, TimelineOptions},
        stats::fixture::latency_of,
    };

    /// A zoom with columns of a second.
    pub(in crate::app) const SECONDS: Zoom = Zoom::Step(3);

    /// Returns a session of 1000 s with a new segment every 100 s and a long latency at 321 s.
    pub(in crate::app) fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for s in 1_u32..=1000 {
            let t_s = f64::from(s);
            let segment = (s - 1) / 100 + 1;
            if s % 100 == 1 {
                let knobs = Knobs { load: true, clients: segment, ..Knobs::default() };
                model.push(&Record::Segment(Segment::new(t_s - 1.0, segment, knobs)));
            }
            let service = latency_of([if s == 321 { 70_000_000 } else { 100_000 }]);
            let interval = Interval { t_s, length_s: 1.0, segment, ops: 1, service, ..Interval::default() };
            model.push(&Record::Interval(Box::new(interval)));
            if s == 450 {
                let event = Event::new(t_s, EventKind::Forked { held_us: None });
                model.push(&Record::Event(event));
            }
        }
        model
    }

    /// Returns whether the axis shows the cursor.
    pub(in crate::app) fn shows_cursor(model: &Model) -> bool {
        let axis = model.axis(model.columns);
        model.cursor_s().is_some_and(|cursor_s| axis.column_at(cursor_s, model.known_s()).is_some())
    }

    #[test]
    fn a_later_file_of_a_recording_is_shown_from_where_it_begins() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let session = SessionStart { from_s: 900.0, ..SessionStart::now(ServerIdentity::default()) };
        model.push(&Record::Session(session));
        for s in 901..=1000 {
            let interval = Interval { t_s: f64::from(s), length_s: 1.0, ops: 1, ..Interval::default() };
            model.push(&Record::Interval(Box::new(interval)));
        }
        for zoom in [Zoom::Whole, Zoom::Lately] {
            model.zoom = zoom;
            let axis = model.axis(model.columns);
            assert!((890.0..=900.0).contains(&axis.from_s()) && axis.to_s() >= 1000.0, "{zoom:?}: {axis:?}");
        }
        model.scrub(-1000);
        assert_eq!(model.cursor_s(), Some(900.0));
        assert!(shows_cursor(&model));
        model.jump(JumpTarget::End).unwrap();
        model.jump(JumpTarget::Start).unwrap();
        let axis = model.axis(model.columns);
        assert!((890.0..=900.0).contains(&axis.from_s()) && axis.to_s() >= 1000.0, "{axis:?}");
    }

    #[test]
    fn a_short_later_file_fills_the_axis_from_the_left() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let session = SessionStart { from_s: 900.3, ..SessionStart::now(ServerIdentity::default()) };
        model.push(&Record::Session(session));
        let ping = Record::Ping(Box::new(Span::new(905.0, 1.0, Ping::default())));
        model.push(&ping);
        model.push(&ping.at_node(1));
        let axis = model.axis(model.columns);
        assert!((900.0..=900.3).contains(&axis.from_s()), "{axis:?}");
    }

    #[test]
    fn scrubbing_goes_column_by_column_and_stops_at_both_ends() {
        let mut model = model();
        model.zoom = SECONDS;
        model.scrub(-1);
        assert_eq!(model.cursor_s(), Some(998.0), "the cursor moves back by one column");
        model.scrub(-100);
        assert_eq!(model.cursor_s(), Some(898.0));
        assert!(shows_cursor(&model));
        let axis = model.axis(model.columns);
        assert_eq!(axis.column(898.0), Some(0), "the axis moves as little as needed");
        model.scrub(10);
        assert_eq!((model.cursor_s(), model.axis(model.columns)), (Some(908.0), axis));
        model.scrub(-5000);
        assert_eq!((model.cursor_s(), shows_cursor(&model)), (Some(0.0), true));
        model.scrub(5000);
        assert_eq!((model.cursor_s(), shows_cursor(&model)), (Some(1000.0), true));
    }

    #[test]
    fn a_smaller_screen_still_shows_the_cursor() {
        let mut model = model();
        model.zoom = SECONDS;
        model.scrub(-50);
        assert!(shows_cursor(&model));
        model.columns = 20;
        assert!(!shows_cursor(&model));
        model.keep_cursor_in_view();
        assert!(shows_cursor(&model));
        assert_eq!(model.cursor_s(), Some(949.0));
    }
}
