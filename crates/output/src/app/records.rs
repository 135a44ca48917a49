//! Adds the records of a session to the tracks of its nodes.

use std::{slice, sync::Arc};

use super::{Model, track::Track};
use crate::session::{Record, Timeline, TimelineOptions};

/// The largest number of nodes that are shown. A recording may have more nodes.
const MOST_TRACKS: usize = 128;
/// With more nodes, the results of the load by node and the PINGs of all nodes but the first are added once a second,
/// and not at every tick (quarter second).
const MOST_BY_TICK: usize = 16;

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
        by_node.iter().for_each(|record| self.take_by_node(record));
        match &**record {
            Record::Session(session) => {
                for (node, track) in (0..).zip(&mut self.tracks) {
                    track.push(&Record::Session(session.of_node(node)));
                }
            }
            record if record.is_of(0) => self.tracks[0].push(record),
            _ => {}
        }
        seconds.iter().for_each(|record| drop(self.watched.push(record)));
    }

    /// Adds the results of the load by node: to the track of the node with the load, and to the track of each node that
    /// answered a part. Adds the other records to the tracks of all nodes but the first.
    pub(super) fn take_by_node(&mut self, record: &Record) {
        if let Record::Interval(interval) = record {
            if let Some(track) = self.tracks.get_mut(usize::from(interval.node)) {
                track.timeline.push_by_node(interval);
            }
            if let Some((interval, segments)) =
                self.tracks[0].timeline.load_of_nodes(record).filter(|_| self.tracks.len() > 1)
            {
                for (node, track) in (0..).zip(&mut self.tracks).skip(1) {
                    track.timeline.push_part(node, interval, &segments);
                }
            }
        }
        for (node, track) in (0..).zip(&mut self.tracks).skip(1) {
            match record {
                // Measurements of this machine are in the first track only.
                Record::Session(_) | Record::Wake(_) | Record::Intrinsic(_) => {}
                record if record.is_of(node) => track.push(record),
                Record::Segment(segment) if segment.node == 0 => track.timeline.follow_segment(segment),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        probe::Ping,
        session::{Interval, OperationInterval, Segment, ServerIdentity, SessionStart, Span},
        stats::fixture::repeated,
    };

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

    #[test]
    fn with_many_nodes_the_pings_of_all_but_the_first_are_added_each_second() {
        let answered = |others: usize| {
            let mut model = Model::new(Knobs::default(), TimelineOptions::default());
            let nodes = vec![ServerIdentity::default(); others].into();
            model.push(&Record::Session(SessionStart {
                nodes,
                ..SessionStart::now(ServerIdentity::default())
            }));
            model.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
            for (tick, node) in (1..=6).flat_map(|tick| [(tick, 0), (tick, 3)]) {
                let ping = Ping { rtt: repeated(1000, 5), ..Ping::default() };
                let span = Span::new(f64::from(tick) * 0.25, 0.25, ping);
                model.push(&Record::Ping(Box::new(span)).at_node(node));
            }
            [0, 3].map(|node| model.tracks[node].timeline.latest().pings_minute().answered)
        };
        assert_eq!(answered(15), [30, 30]);
        assert_eq!(answered(16), [30, 20]);
    }
}
