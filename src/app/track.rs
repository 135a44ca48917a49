//! A track is the data of one node over time, as the screen shows it. The data is live or from a recording. All tracks
//! share one time axis and one cursor.
//!
//! ```text
//!   track 0 ──────────────│──────────────────── now, continues
//!   track 1 ──────────────│───────────┤ frozen
//!                       cursor
//! ```

use std::{slice, sync::Arc};

use super::{Model, View};
use crate::session::{
    Record, Timeline, TimelineOptions,
    timeline::{Excerpt, Reading, Segments},
};

/// The largest number of nodes that are shown. A recording may have more nodes.
const MOST_TRACKS: usize = 128;
/// With more nodes, the results of the load by node are added once a second, and not at every tick (quarter second).
const MOST_BY_TICK: usize = 16;

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

impl Model {
    /// Adds a record of the session to the track of its node. The first record of another node begins a new track.
    pub(super) fn take(&mut self, record: &Arc<Record>) {
        let next = self.tracks.len();
        let new = match &**record {
            Record::Session(session) => session.nodes.len().min(MOST_TRACKS - 1).saturating_sub(next - 1),
            record => {
                usize::from(next < MOST_TRACKS && record.node().is_some_and(|node| usize::from(node) == next))
            }
        };
        if matches!(**record, Record::Session(_)) {
            self.by_second = next + new > MOST_BY_TICK;
        }
        let options = TimelineOptions { nodes: next + new, ..self.options };
        self.tracks.extend((0..new).map(|_| Track::new(Timeline::new(options))));
        // The track of a node that joins later begins with the session record of this node.
        if new == 1
            && let Some(mut session) = self.tracks[0].timeline.session().cloned()
            && session.follow(record)
        {
            self.tracks[next].push(&Record::Session(session.of_node(next as u16)));
            if self.held.is_some() {
                self.tracks[next].freeze();
            }
        }
        // The records of a file cover whole seconds already. Merged again, they would arrive a second late.
        let seconds = match &self.playback {
            Some(_) => vec![Arc::clone(record)],
            None => self.seconds.push(record),
        };
        let by_node = if self.by_second { &seconds } else { slice::from_ref(record) };
        by_node.iter().for_each(|record| self.take_parts(record));
        for (node, track) in (0..).zip(&mut self.tracks) {
            match &**record {
                Record::Session(session) => track.push(&Record::Session(session.of_node(node))),
                // Measurements of this machine are in the first track only.
                Record::Wake(_) | Record::Intrinsic(_) if node > 0 => {}
                record if record.is_of(node) => track.push(record),
                Record::Segment(segment) if segment.node == 0 => track.timeline.follow_segment(segment),
                _ => {}
            }
        }
        seconds.iter().for_each(|record| drop(self.watched.push(record)));
    }

    /// Adds the results of the load by node: to the track of the node with the load, and to the track of each node that
    /// answered a part.
    pub(super) fn take_parts(&mut self, record: &Record) {
        let Record::Interval(interval) = record else { return };
        if let Some(track) = self.tracks.get_mut(usize::from(interval.node)) {
            track.timeline.push_by_node(interval);
        }
        if self.tracks.len() > 1
            && let Some((interval, segments)) = self.tracks[0].timeline.load_of_nodes(record)
        {
            for (node, track) in (0..).zip(&mut self.tracks).skip(1) {
                track.timeline.push_part(node, interval, &segments);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Key, KeyCode, Msg, update},
        events::EventKind,
        knobs::Knobs,
        session::{Event, Interval, OperationInterval, Segment, ServerIdentity, SessionStart},
        stats::fixture::repeated,
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

    #[test]
    fn with_many_nodes_the_results_by_node_are_added_each_second_and_none_is_lost() {
        let seen = |others: usize, ticks: u32, ends: bool| {
            let mut model = Model::new(Knobs::default(), TimelineOptions::default());
            let nodes = vec![ServerIdentity::default(); others].into();
            model.push(&Record::Session(SessionStart {
                nodes,
                ..SessionStart::now(ServerIdentity::default())
            }));
            model.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
            for tick in 1..=ticks {
                let part =
                    |ops| OperationInterval { ops, service: repeated(1000, ops), ..Default::default() };
                let nodes = [(0, part(5)), (3, part(2))].into();
                let (t_s, length_s) = (f64::from(tick) * 0.25, 0.25);
                let interval = Interval { t_s, length_s, segment: 1, ops: 7, nodes, ..Interval::default() };
                model.push(&Record::Interval(Box::new(interval)));
            }
            let own: u64 = model.tracks[3].timeline.segments.iter().map(|segment| segment.total.ops).sum();
            let nodes = if ends { model.into_timeline() } else { model.timeline().clone() }.nodes();
            let ops = |node| nodes.get(&node).map_or(0, |part| part.ops);
            (own, ops(0), ops(3))
        };
        assert_eq!(seen(15, 6, false), (12, 30, 12));
        assert_eq!(seen(16, 6, false), (8, 20, 8));
        assert_eq!(seen(16, 6, true), (8, 30, 12));
    }
}
