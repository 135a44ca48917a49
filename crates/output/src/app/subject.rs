//! The subject of the charts on the Overview screen: either redyno's load, or the server with all its clients.

use super::{AxisScale, Model};
use crate::session::timeline::Timed;

/// The subject of the Overview's charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subject {
    /// The load: its throughput and latency.
    #[default]
    Load,
    /// The server: the commands of all clients, and the latency of PING.
    Server,
}

/// After the load is switched off, the charts continue to show the load for a while. The charts switch to the server
/// when the time under load fills less than this share of the time axis.
const LEAST: f64 = 0.25;

impl Model {
    /// Returns the subject of the charts. The subject is the load if the load is on at the end of the time axis, or was
    /// on for long enough before. Otherwise, the subject is the server. The position of the cursor has no influence.
    pub fn subject(&self) -> Subject {
        let axis = self.axis(self.columns);
        let (from_s, to_s) = (axis.from_s(), axis.to_s().min(self.ends_s()).min(self.known_s()));
        let segments = self.segments();
        if segments.start_at(to_s).map_or(self.in_force().load, |start| start.knobs.load) {
            return Subject::Load;
        }
        let (mut loaded_s, mut ended_s) = (0.0, to_s);
        for start in segments.starts().rev() {
            if start.knobs.load {
                loaded_s += (ended_s - start.t_s.max(from_s)).max(0.0);
            }
            ended_s = start.t_s.min(to_s);
        }
        if loaded_s > 0.0 && loaded_s >= (to_s - from_s) * LEAST { Subject::Load } else { Subject::Server }
    }

    /// Computes the axes of the charts, and keeps these axes for the next picture.
    pub(super) fn keep_axes(&mut self) {
        let axis = self.axis(self.columns);
        let window = axis.window(self.track().shown(), self.ends_s());
        let latency = match self.subject() {
            Subject::Load => window.latency(self.charts.timed),
            Subject::Server => window.levels_of_pings(),
        };
        let load = window.load();
        let shown = self.shown();
        let segments = shown.known_segments();
        let latency = self.charts.latency_axis(&latency, &axis, segments);
        let throughput = self.charts.throughput_axis(&load, &axis, segments, self.figures_s());
        drop(shown);
        self.charts.latency = latency.or(self.charts.latency);
        self.charts.throughput = throughput.or(self.charts.throughput);
    }

    /// Switches the throughput's axis between linear and logarithmic.
    pub(super) fn turn_spread(&mut self) {
        self.charts.scale = match self.charts.scale {
            AxisScale::Linear => AxisScale::Log,
            AxisScale::Log => AxisScale::Linear,
        };
        self.charts.refit();
    }

    /// Switches the latencies between response times and service times. Response times begin when a request is due.
    /// Service times begin when the request is written.
    pub(super) fn turn_timed(&mut self) {
        self.charts.timed = match self.charts.timed {
            Timed::FromDue => Timed::FromWrite,
            Timed::FromWrite => Timed::FromDue,
        };
        self.charts.refit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Playback, Zoom},
        knobs::Knobs,
        session::{Interval, Record, Segment, TimelineOptions},
    };

    fn model(turns: &[(f64, bool)], to_s: f64) -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for (segment, (t_s, load)) in (1..).zip(turns) {
            let knobs = Knobs { load: *load, ..Knobs::default() };
            model.push(&Record::Segment(Segment::new(*t_s, segment, knobs)));
        }
        model.push(&Record::Interval(Box::new(Interval {
            t_s: to_s,
            length_s: 0.25,
            ..Interval::default()
        })));
        model
    }

    #[test]
    fn the_subject_is_the_server_before_the_load_and_some_time_after_it() {
        assert_eq!(Model::new(Knobs::default(), TimelineOptions::default()).subject(), Subject::Server);
        assert_eq!(model(&[(0.0, false)], 9.0).subject(), Subject::Server);
        assert_eq!(model(&[(0.0, false), (9.0, true)], 9.25).subject(), Subject::Load);
        let ended = |to_s| model(&[(0.0, false), (10.0, true), (20.0, false)], to_s).subject();
        assert_eq!((ended(30.0), ended(39.0), ended(41.0)), (Subject::Load, Subject::Load, Subject::Server));
    }

    #[test]
    fn parts_before_the_listed_segments_have_their_own_settings() {
        let turns: Vec<_> = (0..500).map(|n| (f64::from(n) * 10.0, n != 499)).collect();
        let mut model = Model { playback: Some(Playback::new("x".to_owned())), ..model(&turns, 9000.0) };
        model.zoom = Zoom::Whole;
        assert_eq!(model.subject(), Subject::Load, "half of the session");
        model.put_cursor(55.0);
        assert!(model.in_force().load && model.knobs_shown().load);
    }

    #[test]
    fn the_cursor_of_a_frozen_view_does_not_change_the_subject() {
        let mut frozen = model(&[(0.0, false), (10.0, true)], 30.0);
        frozen.put_cursor(5.0);
        assert_eq!(frozen.subject(), Subject::Load);
    }
}
