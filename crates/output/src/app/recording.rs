//! Plays a recording on the screen. If the user zooms in beyond the timeline's resolution, redyno reads this
//! part of the recording again.
//!
//! ```text
//!   columns finer than the cells ─► Order::Refine ─► the recording, on another thread
//!   a finer excerpt              ◄─ Delivery::Stretch ◄─┘    until then the coarse view is shown
//! ```

use std::sync::Arc;

use super::{Model, Order, Tone, playback::RereadState};
use crate::session::timeline::{Excerpt, Reread};

/// The longest period before the cursor that figures at the cursor need, in seconds.
const MINUTE_S: f64 = 60.0;
/// The share of the axis length by which the part to read extends beyond each end of the axis. The cursor can therefore
/// move beyond the axis without a delay.
const BEYOND: f64 = 0.5;
/// The share of the axis length that triggers a request of the next part. The request is sent when less than this share
/// is left beyond either end of the view.
const NEAR: f64 = 0.25;

impl Model {
    /// Requests a finer copy of the shown part of the recording. This is necessary if the columns are finer than the
    /// timeline's resolution.
    pub(super) fn request_finer_part(&mut self) {
        let Some(closer) = self.playback.as_ref().filter(|playback| playback.read.is_none()) else { return };
        let closer = closer.reread;
        let step_s = self.axis(self.columns).step_s;
        let known_to_s = |t_s| self.tracks.iter().map(|track| track.timeline.cell_s(t_s)).fold(0.0, f64::max);
        if closer == RereadState::Impossible || step_s >= known_to_s(self.around(0.0).0) {
            return;
        }
        let cell_s = Reread::cell_s_for(step_s);
        let (from_s, to_s) = self.around(NEAR);
        if matches!(closer, RereadState::RequestedLast(asked) if asked.cell_s <= cell_s && asked.holds(from_s, to_s))
        {
            return;
        }
        let (from_s, to_s) = self.around(BEYOND);
        let asked = Reread { from_s, to_s, cell_s, nodes: self.tracks.len() };
        self.set_closer(RereadState::RequestedLast(asked));
        self.request(Order::Refine(asked));
    }

    /// Shows a part of the recording that was read again, unless the view has moved to another part in the meantime.
    pub(super) fn show_reread_part(&mut self, stretch: &Arc<Excerpt>) {
        let (asked, (from_s, to_s)) = (stretch.request, self.around(0.0));
        let is_last = self
            .playback
            .as_ref()
            .is_some_and(|playback| playback.reread == RereadState::RequestedLast(asked));
        if is_last || asked.holds(from_s, to_s) {
            (0..).zip(&mut self.tracks).for_each(|(target, track)| track.refine(stretch, target));
            self.charts.refit();
        }
    }

    pub(super) fn set_closer(&mut self, closer: RereadState) {
        if let Some(playback) = &mut self.playback {
            playback.reread = closer;
        }
    }

    /// Returns the beginning and the end of the part to read, in seconds. The part contains the axis, and `share` of
    /// the axis length on both sides. The part also contains the minute before, because figures at the cursor need this
    /// minute.
    fn around(&self, share: f64) -> (f64, f64) {
        let axis = self.axis(self.columns);
        let beside_s = axis.length_s() * share;
        ((axis.from_s() - MINUTE_S - beside_s).max(0.0), (axis.to_s() + beside_s).min(self.known_s()))
    }

    /// Starts or pauses playing. At the end of the recording, playing starts again from its beginning.
    pub(super) fn toggle_play(&mut self) {
        let Some(playback) = self.playback.as_mut().filter(|playback| playback.read.is_none()) else {
            let reading = "redyno is still reading the recording; wait until redyno has finished";
            return self.show_message(Tone::Info, reading);
        };
        playback.is_playing = !playback.is_playing;
        if !playback.is_playing {
            return self.request(Order::Pause);
        }
        if self.cursor_s().is_none_or(|cursor_s| cursor_s >= self.timeline().now_s) {
            self.put_cursor(0.0);
        }
        self.play_on();
    }

    /// Continues playing from the cursor at the present speed, after a seek or a change of speed.
    pub(super) fn play_on(&mut self) {
        if let Some(playback) = self.playback.as_ref().filter(|playback| playback.is_playing) {
            let (from_s, speed) = (self.cursor_s().unwrap_or_default(), playback.speed());
            self.request(Order::Play { from_s, speed });
        }
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        let Some(playback) = &mut self.playback else { return };
        playback.change_speed(faster);
        self.play_on();
    }

    /// Moves the cursor after the recording has played to `t_s`.
    pub(super) fn played_to(&mut self, t_s: f64) {
        let now_s = self.timeline().now_s;
        let Some(playback) = self.playback.as_mut().filter(|playback| playback.is_playing) else { return };
        playback.is_playing = t_s < now_s;
        self.put_cursor(t_s);
    }

    /// Updates the panel of a recording, which shows the knobs at the cursor.
    pub(super) fn follow_recording(&mut self) {
        if self.playback.is_some() {
            let in_force = self.in_force().clone();
            self.panel.follow(in_force);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Delivery, Effect, JumpTarget, Msg, Notice, Playback, Zoom, update},
        session::{Interval, Record, TimelineOptions, timeline::LoadCell},
    };

    fn interval(s: u32) -> Record {
        let ops = u64::from(s % 10 + 1) * 100;
        let own = Interval { t_s: s.into(), length_s: 1.0, segment: 1, ops, ..Interval::default() };
        Record::Interval(Box::new(own))
    }

    /// Returns a model with a recording of one hour, completely read.
    fn model() -> Model {
        let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
        (1..=3600).for_each(|s| model.push(&interval(s)));
        update(&mut model, Msg::Delivery(Delivery::Notice(0, Notice::Ended)));
        model
    }

    /// Returns the parts that the next picture requests.
    fn asked(model: &mut Model) -> Vec<Reread> {
        let effects = update(model, Msg::Columns(120));
        let refine = |effect| match effect {
            Effect::Order(Order::Refine(asked)) => asked,
            other => panic!("{other:?}"),
        };
        effects.into_iter().map(refine).collect()
    }

    fn read(asked: Reread) -> Msg {
        let mut stretch = Excerpt::new(asked);
        (1..=3600).for_each(|s| stretch.push(&interval(s)));
        Msg::Delivery(Delivery::Stretch(Arc::new(stretch)))
    }

    /// Returns whether the throughput of each second is shown.
    fn shows_seconds(model: &Model) -> bool {
        let axis = model.axis(120);
        let load = axis.window(model.timeline(), model.ends_s()).load();
        let is_true = |(n, cell): (u16, &Option<LoadCell>)| {
            let s = (axis.start_s(n) + axis.step_s / 2.0).ceil() as u32;
            cell.as_ref().and_then(LoadCell::ops_per_s) == Some(f64::from(s % 10 + 1) * 100.0)
        };
        (0..).zip(&load).all(is_true)
    }

    /// Returns a model with columns of half a second around minute 20.
    fn zoomed() -> Model {
        let mut model = model();
        assert_eq!(asked(&mut model), [], "the first view needs no records");
        model.put_cursor(1200.0);
        model.zoom = Zoom::Step(2);
        model.put_cursor(1200.0);
        model
    }

    #[test]
    fn a_zoom_into_the_past_of_an_hour_shows_its_seconds_once_they_are_read_again() {
        let mut model = zoomed();
        let [first] = asked(&mut model)[..] else { panic!("no request for the period") };
        assert!(first.holds(1200.0 - 60.0, 1200.0 + 60.0) && first.cell_s <= 0.25, "{first:?}");
        assert_eq!(asked(&mut model), [], "once");
        assert!(!shows_seconds(&model), "the coarse view stays until the records arrive");
        update(&mut model, read(first));
        assert!(shows_seconds(&model));
        model.scrub(-4);
        let cursor_s = model.cursor_s().unwrap();
        let now = model.shown().ops_per_s().unwrap();
        assert_eq!(now, f64::from(cursor_s.ceil() as u32 % 10 + 1) * 100.0, "{cursor_s}");
        assert_eq!(asked(&mut model), [], "all records near the cursor have arrived");
    }

    #[test]
    fn the_next_part_is_read_before_the_cursor_reaches_it() {
        let mut model = zoomed();
        let [first] = asked(&mut model)[..] else { panic!("no request for the period") };
        update(&mut model, read(first));
        let mut reads = 0;
        while model.cursor_s().unwrap() < 1500.0 {
            model.scrub(1);
            if let [next] = asked(&mut model)[..] {
                assert!(shows_seconds(&model), "during the read");
                update(&mut model, read(next));
                reads += 1;
            }
            assert!(shows_seconds(&model), "{:?}", model.cursor_s());
        }
        assert!((2..30).contains(&reads), "{reads}");
    }

    #[test]
    fn a_part_that_arrives_late_does_not_replace_the_part_that_is_shown() {
        let mut model = zoomed();
        let [here] = asked(&mut model)[..] else { panic!("no request for the period") };
        update(&mut model, read(here));
        model.put_cursor(300.0);
        let [there] = asked(&mut model)[..] else { panic!("no request for another period") };
        model.put_cursor(1200.0);
        let [again] = asked(&mut model)[..] else { panic!("no second request for the first period") };
        update(&mut model, read(there));
        assert!(shows_seconds(&model));
        update(&mut model, read(again));
        assert!(shows_seconds(&model));
    }

    #[test]
    fn a_recording_that_cannot_be_read_again_gets_one_request() {
        let mut model = zoomed();
        let [first] = asked(&mut model)[..] else { panic!("no request for the period") };
        let refused = Delivery::Refused(Order::Refine(first), "it is a pipe".to_owned());
        update(&mut model, Msg::Delivery(refused));
        assert_eq!(model.message().unwrap().text, "it is a pipe");
        model.jump(JumpTarget::Start).unwrap();
        assert_eq!(asked(&mut model), []);
    }
}
