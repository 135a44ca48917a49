//! Which part of the session is shown: live or at a cursor, and how long a stretch.
//!
//! ```text
//!              ├──────── axis: columns × step ────────┤
//!   session ───┼───────────────────│──────────────────┼─────── now, goes on underneath
//!                               cursor               to
//! ```
//! One timeline grows. Freezing keeps a moment of it, and what was summed up until then
//! ([`Held`](crate::session::timeline::Held)): everything that a frozen view shows is of the time up to that moment, until it
//! is moved beyond.

use super::{
    Model, TimeAxis, Track,
    axis::{grown, number_ending},
};
use crate::session::timeline::{Measure, Reading, SegmentTotal, Segments};

/// Which moment is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum View {
    /// The latest.
    #[default]
    Live,
    /// A moment of the past. The measurement goes on.
    Frozen {
        /// The moment that figures and tables show, in seconds of the session.
        cursor_s: f64,
        /// Where the axis ends.
        to_s: f64,
    },
}

/// How long a stretch the axis shows; never more than the session is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// The last minutes, so that what a knob does is seen soon: columns of two seconds, or so many that it is more than
    /// a minute. A younger session is shown as a whole.
    #[default]
    Lately,
    /// Columns of one of the usual lengths.
    Step(usize),
    /// The whole session.
    Whole,
}

/// Lengths of a column in seconds.
const STEPS_S: [f64; 16] =
    [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14_400.0];

/// The length of a column of the last minutes, in seconds, and how long they are at the least.
const LATELY_S: (f64, f64) = (2.0, 75.0);
/// A usual length that is within this factor of that is no other.
const AS_GOOD_AS: f64 = 1.5;

/// The shortest stretch that is zoomed to, in seconds.
const SHORTEST_S: f64 = 10.0;
/// Columns that are thought to be there until the screen has told.
pub(super) const USUAL_COLUMNS: u16 = 60;

/// Where a jump goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    /// The longest service time of the session; without load the longest ping.
    Worst,
    /// The next event or mark.
    NextEvent,
    /// The one before.
    PreviousEvent,
    /// The beginning of the next segment.
    NextSegment,
    /// That of the segment before.
    PreviousSegment,
    /// The beginning of the session.
    Start,
    /// Its latest moment.
    End,
}

impl Model {
    /// The instruments at the moment that is shown.
    pub fn shown(&self) -> Reading<'_> {
        self.track().reading(self.view)
    }

    /// The segments, as they were at the last moment that can be shown.
    pub fn segments(&self) -> &Segments {
        self.track().segments()
    }

    /// The last moment that can be shown without moving a frozen view, of all tracks.
    pub fn known_s(&self) -> f64 {
        self.tracks().iter().map(Track::known_s).fold(0.0, f64::max)
    }

    /// The latest moment of all tracks.
    fn now_s(&self) -> f64 {
        self.tracks().iter().map(|track| track.timeline().now_s()).fold(0.0, f64::max)
    }

    /// The moment at which the view is frozen.
    pub fn cursor_s(&self) -> Option<f64> {
        match self.view {
            View::Live => None,
            View::Frozen { cursor_s, .. } => Some(cursor_s),
        }
    }

    /// Where the part of the session that is shown ends, in seconds of it: where a live session was when its view was
    /// frozen; else nowhere.
    pub fn ends_s(&self) -> f64 {
        match (self.view, self.zoom) {
            (View::Frozen { to_s, .. }, Zoom::Lately | Zoom::Step(_)) if self.playback.is_none() => {
                to_s.min(self.known_s())
            }
            (View::Frozen { .. }, Zoom::Whole) if self.playback.is_none() => self.known_s(),
            _ => f64::INFINITY,
        }
    }

    /// How far the frozen view is behind the measurement, in seconds; `None` when it is live.
    pub fn behind_s(&self) -> Option<f64> {
        self.cursor_s().map(|cursor_s| self.now_s() - cursor_s)
    }

    /// The time axis of a chart that is `columns` wide.
    pub fn axis(&self, columns: u16) -> TimeAxis {
        let to_s = match (self.view, self.zoom) {
            (View::Frozen { to_s, .. }, Zoom::Lately | Zoom::Step(_)) => to_s,
            _ => self.known_s(),
        };
        TimeAxis::holding(to_s, columns, self.step_s(columns))
    }

    fn step_s(&self, columns: u16) -> f64 {
        let whole_s = grown(self.known_s() / f64::from(columns.max(1)));
        match self.zoom {
            Zoom::Lately => lately_s(columns).min(whole_s),
            Zoom::Step(n) => STEPS_S[n.min(STEPS_S.len() - 1)].min(whole_s),
            Zoom::Whole => whole_s,
        }
    }

    /// Freezes the view at the latest moment, if it is live.
    pub(super) fn freeze(&mut self) {
        if self.view == View::Live {
            let now_s = self.now_s();
            self.view = View::Frozen { cursor_s: now_s, to_s: now_s };
            self.hold();
        }
    }

    /// Keeps the latest moment of live sessions. A recording does not go on.
    fn hold(&mut self) {
        if self.playback.is_none() {
            self.tracks_mut().iter_mut().for_each(Track::hold);
        }
    }

    /// Shows the latest moment again.
    pub(super) fn go_live(&mut self) {
        self.view = View::Live;
        self.tracks_mut().iter_mut().for_each(Track::release);
    }

    /// Moves the cursor by so many columns.
    pub(super) fn scrub(&mut self, columns: i32) {
        self.freeze();
        let step_s = self.step_s(self.columns);
        let number = number_ending(self.cursor_s().unwrap_or_default(), step_s);
        let end = number.saturating_add_signed(columns.into()) + 1;
        self.put_cursor(end as f64 * step_s);
    }

    /// Moves the axis of a frozen view as little as shows the cursor in charts of another width.
    pub(super) fn keep_cursor_in_view(&mut self) {
        if let View::Frozen { cursor_s, .. } = self.view {
            self.put_cursor(cursor_s);
        }
    }

    /// Freezes the view at a moment of the session, for a picture of it.
    pub fn show_moment(&mut self, t_s: f64) {
        self.put_cursor(t_s);
    }

    /// Puts the cursor to a moment of the session, and moves the axis as little as shows it.
    pub(super) fn put_cursor(&mut self, t_s: f64) {
        self.freeze();
        let cursor_s = t_s.clamp(0.0, self.now_s());
        if cursor_s > self.known_s() {
            self.hold();
        }
        let axis = self.axis(self.columns);
        if let View::Frozen { to_s, .. } = self.view {
            let to_s = match () {
                () if cursor_s <= axis.from_s() => cursor_s + axis.length_s() - axis.step_s,
                () if cursor_s > axis.to_s() => cursor_s,
                () => to_s,
            };
            self.view = View::Frozen { cursor_s, to_s };
        }
        self.follow_recording();
    }

    /// Jumps; what to say when there is nothing of the kind.
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
            Landmark::Start => Ok(0.0),
            Landmark::End => Ok(now_s),
        };
        let t_s = found?;
        let length_s = self.axis(self.columns).length_s();
        self.put_cursor(t_s);
        // Further than a screen away, the moment is shown with what was around it.
        if (t_s - at_s).abs() > length_s
            && let View::Frozen { cursor_s, .. } = self.view
        {
            self.view = View::Frozen { cursor_s, to_s: (cursor_s + length_s / 2.0).min(self.known_s()) };
        }
        Ok(())
    }

    /// When the longest request was, or ping where there was no load: in the column that shows it, which may be the one
    /// before that in which its record ended.
    fn worst_s(&self) -> Option<f64> {
        let of = |measure| Some((measure, self.timeline().worst(measure)?));
        let (measure, worst) = [Measure::Service, Measure::Ping].into_iter().find_map(of)?;
        let step_s = self.step_s(self.columns);
        let starts_s = number_ending(worst.t_s, step_s) as f64 * step_s;
        let column = self.timeline().window(starts_s, starts_s + step_s, 1);
        let is_there = column.worst(measure, 0).is_some_and(|longest| longest.ns >= worst.ns);
        Some(if is_there { worst.t_s } else { starts_s })
    }

    /// Zooms in or out by a step, and keeps the cursor where it stands on the screen.
    pub(super) fn zoom_by(&mut self, closer: bool) -> Result<(), String> {
        let columns = self.columns;
        let before = self.axis(columns);
        self.zoom = if closer { self.closer(&before)? } else { self.further(&before)? };
        self.charts.refit();
        if let View::Frozen { cursor_s, to_s } = self.view {
            let ratio = self.axis(columns).length_s() / before.length_s();
            let to_s = if before.to_s() < to_s || to_s < cursor_s { cursor_s } else { to_s };
            let to_s = (cursor_s + (to_s - cursor_s) * ratio).min(self.known_s().max(cursor_s));
            self.view = View::Frozen { cursor_s, to_s };
        }
        Ok(())
    }
}

impl Model {
    /// The next shorter stretch.
    fn closer(&self, shown: &TimeAxis) -> Result<Zoom, String> {
        let all_the_way = || format!("zoomed in all the way: {:.0} s across", shown.length_s());
        let shorter = zooms(self.columns).filter(|(_, step_s)| *step_s < shown.step_s - 1e-9);
        let longest = shorter.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| shown.length_s() > SHORTEST_S);
        longest.map(|(zoom, _)| zoom).ok_or_else(all_the_way)
    }

    /// The next longer one.
    fn further(&self, shown: &TimeAxis) -> Result<Zoom, String> {
        let whole_s = self.known_s() / f64::from(self.columns.max(1));
        let longer =
            zooms(self.columns).filter(|(_, step_s)| (shown.step_s + 1e-9..whole_s).contains(step_s));
        match longer.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((zoom, _)) => Ok(zoom),
            None if self.zoom == Zoom::Whole => Err("the whole session is shown".to_owned()),
            // That shows the whole for now, and the last minutes when there are more.
            None if lately_s(self.columns) >= whole_s && self.zoom != Zoom::Lately => Ok(Zoom::Lately),
            None => Ok(Zoom::Whole),
        }
    }
}

/// All zooms but that of the whole session, each with the length of a column.
fn zooms(columns: u16) -> impl Iterator<Item = (Zoom, f64)> {
    let lately_s = lately_s(columns);
    let is_other = move |step_s: f64| !(1.0 / AS_GOOD_AS..AS_GOOD_AS).contains(&(step_s / lately_s));
    let usual = STEPS_S.into_iter().enumerate().filter(move |(_, step_s)| is_other(*step_s));
    usual.map(|(n, step_s)| (Zoom::Step(n), step_s)).chain([(Zoom::Lately, lately_s)])
}

/// The length of a column where the last minutes are shown.
fn lately_s(columns: u16) -> f64 {
    LATELY_S.0.max(LATELY_S.1 / f64::from(columns.max(1)))
}

/// Where the cursor shows a segment: a moment after its beginning there is something of it to see.
pub(super) fn inside_s(segment: &SegmentTotal, now_s: f64) -> f64 {
    (segment.start.t_s + 1.0).min(segment.ended_s.unwrap_or(now_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        happening::Happening,
        load::Knobs,
        session::{Event, Interval, Record, Segment, TimelineOptions},
        stats::fixture::latency_of,
    };

    /// Columns of a second.
    const SECONDS: Zoom = Zoom::Step(3);

    /// 1000 s with a segment every 100 s and a long latency at 321 s.
    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for s in 1_u32..=1000 {
            let t_s = f64::from(s);
            let segment = (s - 1) / 100 + 1;
            if s % 100 == 1 {
                let knobs = Knobs { load: true, clients: segment, ..Knobs::default() };
                model.push(&Record::Segment(Segment {
                    t_s: t_s - 1.0,
                    segment,
                    knobs,
                    warmup: false,
                    config: None,
                }));
            }
            let service = latency_of([if s == 321 { 70_000_000 } else { 100_000 }]);
            let interval = Interval { t_s, length_s: 1.0, segment, ops: 1, service, ..Interval::default() };
            model.push(&Record::Interval(Box::new(interval)));
            if s == 450 {
                let event = Event::new(t_s, Happening::Forked { held_us: None });
                model.push(&Record::Event(event));
            }
        }
        model
    }

    fn shows_cursor(model: &Model) -> bool {
        let axis = model.axis(model.columns);
        model.cursor_s().is_some_and(|cursor_s| axis.column_ending(cursor_s).is_some())
    }

    #[test]
    fn scrubbing_goes_column_by_column_and_stops_at_both_ends() {
        let mut model = model();
        model.zoom = SECONDS;
        model.scrub(-1);
        assert_eq!(model.cursor_s(), Some(999.0));
        model.scrub(-100);
        assert_eq!(model.cursor_s(), Some(899.0));
        assert!(shows_cursor(&model));
        let axis = model.axis(model.columns);
        assert_eq!(axis.column_ending(899.0), Some(0), "the axis moves as little as needed");
        model.scrub(10);
        assert_eq!((model.cursor_s(), model.axis(model.columns)), (Some(909.0), axis));
        model.scrub(-5000);
        assert_eq!((model.cursor_s(), shows_cursor(&model)), (Some(1.0), true));
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
        assert_eq!(model.cursor_s(), Some(950.0));
    }

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

    #[test]
    fn zoom_goes_from_ten_seconds_to_the_whole_session_and_keeps_the_cursor_in_view() {
        let mut model = model();
        model.jump(Landmark::Worst).unwrap();
        while model.zoom_by(false).is_ok() {
            assert!(shows_cursor(&model));
        }
        let axis = model.axis(60);
        assert_eq!((model.zoom, axis.from_s(), axis.to_s() >= 1000.0), (Zoom::Whole, 0.0, true));
        while model.zoom_by(true).is_ok() {
            assert!(shows_cursor(&model));
        }
        assert!(model.axis(60).length_s() <= 10.0);
        assert_eq!(model.cursor_s(), Some(321.0));
    }

    /// A live session of which nothing but its length is known.
    fn lasting(length_s: f64) -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        model.push(&Record::Event(Event::new(length_s, Happening::Reachable)));
        model
    }

    /// Which share of the columns shows something of the session, and from when on.
    fn filled(model: &Model, columns: u16) -> (f64, f64) {
        let axis = model.axis(columns);
        let end = axis.column_ending(model.known_s()).unwrap() + 1;
        (f64::from(end) / f64::from(columns), axis.from_s())
    }

    #[test]
    fn charts_are_full_soon_and_stay_so_and_a_whole_session_spans_them() {
        // What the screens of 80x24, 120x36 and 200x60 have.
        for (columns, full_s) in [(32, 36.0), (70, 36.0), (110, 45.0), (144, 45.0)] {
            for length_s in [full_s, 70.0, 100.0, 3_600.0, 28_800.0, 1e6] {
                let mut model = lasting(length_s);
                assert!(filled(&model, columns).0 >= 0.95, "{columns} columns after {length_s} s");
                model.zoom = Zoom::Whole;
                let (share, from_s) = filled(&model, columns);
                assert!(share >= 0.95 && from_s <= 0.0, "{columns} columns of {length_s} s: {share}");
            }
            let first = lasting(0.25).axis(columns);
            assert_eq!((first.step_s, first.column_ending(0.25)), (0.25, Some(0)));
        }
    }

    #[test]
    fn a_session_that_goes_on_is_drawn_anew_at_few_of_its_ticks_until_it_moves_by_the_column() {
        let mut starts = Vec::new();
        for tick in 1..=1200 {
            let axis = lasting(f64::from(tick) * 0.25).axis(70);
            assert!(axis.step_s <= 2.0);
            starts.push((axis.from_s(), axis.step_s));
        }
        starts.dedup();
        // Some 40 times longer columns, then every two seconds of the last 160.
        assert!(starts.len() < 130, "{}", starts.len());
        assert_eq!(starts.last(), Some(&(160.0, 2.0)));
    }

    #[test]
    fn zooming_out_comes_back_to_the_last_minutes_and_then_to_the_whole() {
        let mut model = lasting(3600.0);
        for (closer, expected) in [(true, SECONDS), (false, Zoom::Lately), (false, Zoom::Step(5))] {
            model.zoom_by(closer).unwrap();
            assert_eq!(model.zoom, expected);
        }
        while model.zoom_by(false).is_ok() {}
        assert_eq!(model.zoom, Zoom::Whole);
        let mut young = lasting(10.0);
        assert_eq!((young.zoom_by(false), young.zoom), (Ok(()), Zoom::Whole));
        assert!(young.zoom_by(false).is_err());
    }
}
