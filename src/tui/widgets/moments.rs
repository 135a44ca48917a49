//! What happened in the stretch that the charts show: its columns, its lines through them, and what made the longest
//! request of a column so long.

use std::collections::BTreeSet;

use ratatui::layout::Rect;

use super::Lanes;
use crate::{
    app::{Kind, Occurrence},
    diagnose::{Cause, Delay},
    session::timeline::{Level, Measure, Timed, Worst},
    tui::{Ink, Paint},
};

/// One column in so many may have the line of an event.
const FEW_LINES: u16 = 5;

impl Lanes<'_> {
    /// What happened in the stretch that is shown, with its column. A cursor that is put to a moment stands in the
    /// column that ends with it, and so does an event; a segment begins with its column.
    pub(super) fn occurred(&self) -> Vec<(u16, Occurrence)> {
        let axis = self.axis;
        let known_s = self.reading.known_s();
        let mut occurred = Vec::new();
        for event in self.window.events().filter(|event| event.t_s <= known_s) {
            occurred.extend(axis.column_ending(event.t_s).map(|column| (column, Occurrence::event(event))));
        }
        for mark in self.window.marks().filter(|mark| mark.t_s <= known_s) {
            occurred.extend(axis.column_ending(mark.t_s).map(|column| (column, Occurrence::mark(mark))));
        }
        for segment in Occurrence::segments(self.reading) {
            occurred.extend(axis.column(segment.t_s).map(|column| (column, segment)));
        }
        for stall in self.window.stalls(self.levels(Measure::Service)) {
            let column = stall.column as u16;
            let cause = self.longest(column).map(|(_, cause)| cause);
            occurred.push((column, Occurrence::stall(axis.start_s(column) + axis.step_s, stall.ns, cause)));
        }
        occurred
    }

    /// What made the longest request of a column so long, or the longest ping where there was no load; and that.
    pub fn longest(&self, column: u16) -> Option<(Worst, Cause)> {
        let measure = match self.timed {
            Timed::FromDue => Measure::Response,
            Timed::FromWrite => Measure::Service,
        };
        let worst = |measure| self.window.worst(measure, column.into());
        let of_load = [measure, Measure::Service].into_iter().find_map(worst);
        let (delay, worst) = match of_load {
            Some(worst) => (Delay::of(worst, self.reading.known_segments()), worst),
            None => {
                let worst = worst(Measure::Ping)?;
                let usual_ns = Level::P50.of(self.reading.ping().minute());
                (Delay { t_s: worst.t_s, ns: worst.ns, usual_ns }, worst)
            }
        };
        self.cause(delay).map(|cause| (worst, cause))
    }

    /// What made something take long, as far as is known.
    fn cause(&self, delay: Delay) -> Option<Cause> {
        let known_s = self.reading.known_s();
        let events = self.reading.timeline().events().filter(|event| event.t_s <= known_s);
        Cause::of(delay, events)
    }

    /// Draws the moments of the event lane as lines through what `plot` leaves blank. So many events that their lines
    /// would hide the picture have none.
    pub fn lines(&self, paint: &mut Paint, plot: Rect) {
        let glyphs = paint.glyphs();
        let is_border = |occurrence: &Occurrence| occurrence.kind == Kind::Segment;
        let lined = |occurrence: &Occurrence| !matches!(occurrence.kind, Kind::Segment | Kind::Stall);
        let events: BTreeSet<u16> =
            self.occurrences.iter().filter(|(_, o)| lined(o)).map(|(column, _)| *column).collect();
        let borders = self.occurrences.iter().filter(|(_, o)| is_border(o)).map(|(column, _)| *column);
        let mut lines: Vec<_> = borders.map(|column| (column, glyphs.border_line)).collect();
        if events.len() <= usize::from(plot.width / FEW_LINES) {
            lines.extend(events.into_iter().map(|column| (column, glyphs.event_line)));
        }
        for (column, glyph) in lines {
            let x = plot.x + column;
            for y in (plot.top()..plot.bottom()).filter(|_| x < plot.right()) {
                paint.behind(x, y, glyph, Ink::Faint);
            }
        }
    }

    /// Shades what `plot` leaves blank in the seconds in which the load had no connection for a while.
    pub fn outages(&self, paint: &mut Paint, plot: Rect) {
        let (outages, glyph) = (self.reading.timeline().outages(), paint.glyphs().outage);
        for column in 0..plot.width.min(self.axis.columns) {
            if outages.touch(self.axis.start_s(column), self.axis.start_s(column + 1)) {
                (plot.top()..plot.bottom()).for_each(|y| paint.behind(plot.x + column, y, glyph, Ink::Bad));
            }
        }
    }
}
