//! A track is the data of one node over time, as the screen shows it. The data is live or from a recording. All tracks
//! share one time axis and one cursor.
//!
//! ```text
//!   track 0 ──────────────│──────────────────── now, continues
//!   track 1 ──────────────│───────────┤ frozen
//!                       cursor
//! ```

use std::sync::Arc;

use super::View;
use crate::session::{
    Record, Timeline,
    timeline::{Excerpt, Reading, Segments},
};

/// One node of a session over time.
#[derive(Debug, Clone)]
pub struct Track {
    /// The timeline of the node so far.
    pub timeline: Timeline,
    /// A copy of the timeline at the moment when the view was frozen. `None` in a live view.
    frozen: Option<Box<Timeline>>,
    has_answered: bool,
}

impl Track {
    /// Creates a track of `timeline`.
    pub fn new(timeline: Timeline) -> Self {
        Self { timeline, frozen: None, has_answered: false }
    }

    /// Adds a record, without its results by node.
    pub(super) fn push(&mut self, record: &Record) {
        self.has_answered |= match record {
            Record::Interval(interval) => interval.ops > 0,
            Record::Ping(span) => !span.body.rtt.is_empty(),
            // A server that is not polled has figures without an answer.
            Record::Server(status) => status.body.dialect().has_keys(),
            _ => false,
        };
        self.timeline.push_whole(record);
    }

    /// Returns whether the node has answered a request of the session.
    pub fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Adds a part of a recording that was read again, with the records of this node.
    pub(super) fn refine(&mut self, stretch: &Arc<Excerpt>, node: usize) {
        self.timeline.refine(stretch, node);
    }

    /// Keeps the present state for a frozen view. Such a view shows nothing later.
    pub(super) fn freeze(&mut self) {
        self.frozen = Some(Box::new(self.timeline.clone()));
    }

    /// Drops the state that was kept for a frozen view.
    pub(super) fn unfreeze(&mut self) {
        self.frozen = None;
    }

    /// Returns all measured values at the moment that `view` shows.
    pub fn reading(&self, view: View) -> Reading<'_> {
        match view {
            View::Live => self.timeline.latest(),
            View::Frozen { cursor_s, .. } => self.shown().at(cursor_s),
        }
    }

    /// Returns the timeline up to the latest moment. In a frozen view, returns the timeline up to the moment of
    /// freezing.
    pub fn shown(&self) -> &Timeline {
        self.frozen.as_deref().unwrap_or(&self.timeline)
    }

    /// Returns the last moment that can be shown, in seconds of the session. A frozen view shows nothing after the
    /// moment of freezing.
    pub fn known_s(&self) -> f64 {
        self.shown().now_s
    }

    /// Returns the moment of freezing, in seconds of the session. Returns infinity in a live view.
    pub(super) fn shown_until_s(&self) -> f64 {
        self.frozen.as_deref().map_or(f64::INFINITY, |held| held.now_s)
    }

    /// Returns the segments up to the latest moment. In a frozen view, returns the segments up to the moment of
    /// freezing.
    pub fn segments(&self) -> &Segments {
        &self.shown().segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Key, KeyCode, Model, Msg, update},
        events::EventKind,
        knobs::Knobs,
        session::{Event, TimelineOptions},
    };

    /// Returns an event of node `n`.
    fn event(n: u16, t_s: f64) -> Record {
        Record::Event(Event::new(t_s, EventKind::Reachable)).at_node(n)
    }

    #[test]
    fn each_node_has_a_track_all_share_one_cursor_and_a_frozen_view_stops_each() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for (n, t_s) in [(0, 10.0), (1, 80.0), (0, 50.0), (7, 99.0)] {
            model.push(&event(n, t_s));
        }
        let press = |model: &mut Model, code| drop(update(model, Msg::Key(Key::plain(code))));
        press(&mut model, KeyCode::Char(' '));
        let axis = model.axis(60);
        assert_eq!(
            (model.cursor_s(), axis.column_ending(80.0)),
            (Some(80.0), axis.column_ending(model.known_s()))
        );
        assert!(
            axis.from_s() <= 0.0 && axis.column_ending(80.0).is_some(),
            "the axis ends at the end of the longest track"
        );
        let back = axis.start_s(axis.column_at(80.0, 80.0).unwrap() - 3) + 1.0;
        (0..3).for_each(|_| press(&mut model, KeyCode::Left));
        let shown = |model: &Model| -> Vec<f64> {
            model.tracks.iter().map(|track| track.reading(model.figures_view()).now_s()).collect()
        };
        assert_eq!(shown(&model), [50.0, back], "a shorter track stays at its own last moment");
        model.push(&event(0, 90.0));
        let known: Vec<_> = model.tracks.iter().map(Track::known_s).collect();
        assert_eq!(known, [50.0, 80.0], "a frozen view shows no later records");
        press(&mut model, KeyCode::Esc);
        assert_eq!(shown(&model), [90.0, 80.0]);
    }
}
