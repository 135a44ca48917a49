//! The length of the period that the charts on the screen show: the last minutes, columns of a given length,
//! or the whole session.

use super::{Model, TimeAxis, View, Zoom, axis::grown};

/// The common lengths of a column, in seconds.
const STEPS_S: [f64; 16] =
    [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14_400.0];

/// The minimum length of a column in the view of the last minutes, and the minimum length of this view, both in
/// seconds.
const LATELY_S: (f64, f64) = (2.0, 75.0);
/// The smallest factor between two column lengths that zooming keeps apart. If a common column length is closer to the
/// column length of the last minutes, zooming skips the common length.
const SIMILAR_FACTOR: f64 = 1.5;

/// The longest period, in seconds, at which the user cannot zoom in further.
const SHORTEST_S: f64 = 10.0;

impl Model {
    /// Returns the length of a column, in seconds.
    pub(super) fn step_s(&self, columns: u16) -> f64 {
        let whole_s = grown(self.whole_s(columns));
        match self.zoom {
            Zoom::Lately => lately_s(columns).min(whole_s),
            Zoom::Step(n) => STEPS_S[n.min(STEPS_S.len() - 1)].min(whole_s),
            Zoom::Whole => whole_s,
        }
    }

    /// Returns the shortest column length with which the charts show the whole session, in seconds.
    fn whole_s(&self, columns: u16) -> f64 {
        let begins_s = self.begins_s();
        // Columns begin at multiples of their length, so the first column may lie partly before the session.
        let full = columns.saturating_sub(u16::from(begins_s > 0.0)).max(1);
        (self.known_s() - begins_s) / f64::from(full)
    }

    /// Zooms in or out by a step. The cursor stays at its place on the screen.
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
        self.keep_cursor_in_view();
        Ok(())
    }

    /// Returns the zoom that shows the next shorter period.
    fn closer(&self, shown: &TimeAxis) -> Result<Zoom, String> {
        let all_the_way = || format!("the zoom is at its maximum: the view shows {:.0} s", shown.length_s());
        let shorter = zooms(self.columns).filter(|(_, step_s)| *step_s < shown.step_s - 1e-9);
        let longest = shorter.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| shown.length_s() > SHORTEST_S);
        longest.map(|(zoom, _)| zoom).ok_or_else(all_the_way)
    }

    /// Returns the zoom that shows the next longer period.
    fn further(&self, shown: &TimeAxis) -> Result<Zoom, String> {
        let whole_s = self.whole_s(self.columns);
        let longer =
            zooms(self.columns).filter(|(_, step_s)| (shown.step_s + 1e-9..whole_s).contains(step_s));
        match longer.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((zoom, _)) => Ok(zoom),
            None if self.zoom == Zoom::Whole => Err("the whole session is shown".to_owned()),
            // This zoom shows the whole session for now, and only the last minutes as soon as the session is
            // longer.
            None if lately_s(self.columns) >= whole_s && self.zoom != Zoom::Lately => Ok(Zoom::Lately),
            None => Ok(Zoom::Whole),
        }
    }
}

/// Returns all zooms except the whole session, each with the length of its columns in seconds.
fn zooms(columns: u16) -> impl Iterator<Item = (Zoom, f64)> {
    let lately_s = lately_s(columns);
    let is_other = move |step_s: f64| !(1.0 / SIMILAR_FACTOR..SIMILAR_FACTOR).contains(&(step_s / lately_s));
    let usual = STEPS_S.into_iter().enumerate().filter(move |(_, step_s)| is_other(*step_s));
    usual.map(|(n, step_s)| (Zoom::Step(n), step_s)).chain([(Zoom::Lately, lately_s)])
}

/// Returns the length of a column in the view of the last minutes, in seconds.
fn lately_s(columns: u16) -> f64 {
    LATELY_S.0.max(LATELY_S.1 / f64::from(columns.max(1)))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            JumpTarget,
            view::tests::{SECONDS, model, shows_cursor},
        },
        *,
    };
    use crate::{
        events::EventKind,
        knobs::Knobs,
        session::{Event, Record, TimelineOptions},
    };

    #[test]
    fn zoom_goes_from_ten_seconds_to_the_whole_session_and_keeps_the_cursor_in_view() {
        let mut model = model();
        model.jump(JumpTarget::Worst).unwrap();
        let cursor_s = model.cursor_s();
        while model.zoom_by(false).is_ok() {
            assert!(shows_cursor(&model));
        }
        let axis = model.axis(60);
        assert_eq!((model.zoom, axis.from_s(), axis.to_s() >= 1000.0), (Zoom::Whole, 0.0, true));
        while model.zoom_by(true).is_ok() {
            assert!(shows_cursor(&model));
        }
        assert!(model.axis(60).length_s() <= 10.0);
        assert_eq!(model.cursor_s(), cursor_s);
    }

    /// Returns a live session of this length without measurements.
    fn lasting(length_s: f64) -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        model.push(&Record::Event(Event::new(length_s, EventKind::Reachable)));
        model
    }

    /// Returns the share of the columns that lie within the session, and the beginning of the first such column.
    fn filled(model: &Model, columns: u16) -> (f64, f64) {
        let axis = model.axis(columns);
        let end = axis.column_ending(model.known_s()).unwrap() + 1;
        (f64::from(end) / f64::from(columns), axis.from_s())
    }

    #[test]
    fn charts_are_soon_full_and_stay_full_and_a_whole_session_fills_them() {
        // The widths of charts on screens of 80x24, 120x36 and 200x60.
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
    fn the_axis_of_a_growing_session_changes_seldom_until_it_scrolls_by_columns() {
        let mut starts = Vec::new();
        for tick in 1..=1200 {
            let axis = lasting(f64::from(tick) * 0.25).axis(70);
            assert!(axis.step_s <= 2.0);
            starts.push((axis.from_s(), axis.step_s));
        }
        starts.dedup();
        // Columns grow some 40 times. Then the axis moves every two seconds, over the last 160 s.
        assert!(starts.len() < 130, "{}", starts.len());
        assert_eq!(starts.last(), Some(&(160.0, 2.0)));
    }

    #[test]
    fn zooming_out_returns_to_the_last_minutes_and_then_to_the_whole_session() {
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
