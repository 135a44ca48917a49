//! The time axis below the charts: a row with segments, events and marks, and a row with the times.
//!
//! Each event has a sign at its moment, and if there is room a short label.
//!
//! ```text
//!  ───┴seg 2 50×1───────────┴seg 3 clients 200──────
//!      ◆KEYS 14 ms    △fork   ✕load lost  ●back
//! ```
//! An event that lasts has a bar from its sign to its end: `▲save━━━━━━`. If two events need the same cell, the more
//! important event is shown. Signs have precedence over labels. A label that does not fit is shortened.
//!
//! This module also draws the lines of events through the charts, and finds the causes of the longest
//! requests.

use std::collections::BTreeSet;

use ratatui::layout::Rect;

use super::ChartContext;
use crate::{
    app::{Occurrence, OccurrenceKind},
    diagnose::{Cause, Delay},
    session::{
        Timeline,
        timeline::{Level, Measure, Timed, Worst, episodes},
    },
    tui::{Glyphs, Ink, Paint, row},
};

/// The minimum distance between the beginnings of two labels, in columns.
const LABEL_EVERY: f64 = 10.0;
/// Round times for labels, in seconds.
const ROUND_S: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0,
    28_800.0, 86_400.0,
];

/// Draws the axis. With three rows in `area`, the axis shows segments, events and times. With fewer rows, segments
/// and events share the first row.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &ChartContext) {
    if area.is_empty() {
        return;
    }
    paint.rule(row(area, 0), "");
    let plot = |n| lanes.plot(row(area, n));
    if area.height < 3 {
        event_lane(paint, plot(0), lanes, |_| true);
    } else {
        event_lane(paint, plot(0), lanes, |kind| kind == OccurrenceKind::Segment);
        event_lane(paint, plot(1), lanes, |kind| kind != OccurrenceKind::Segment);
        // The name ends at the first column, and does not touch the sign of an event.
        if paint.at(plot(1).x, plot(1).y) == Some(" ") {
            paint.text(Rect { x: area.x + 1, ..row(area, 1) }, "events", Ink::Text);
        }
    }
    if area.height > 1 {
        times(paint, plot(area.height - 1), lanes);
    }
}

/// Draws times of the wall clock, or times of the session if the wall clock is unknown. Each text begins in the
/// column of its time.
fn times(paint: &mut Paint, area: Rect, lanes: &ChartContext) {
    let axis = lanes.axis;
    let usual = ROUND_S.into_iter().find(|round_s| *round_s >= axis.step_s * LABEL_EVERY - 1e-9);
    let every_s = usual.unwrap_or_else(|| (axis.step_s * LABEL_EVERY / 86_400.0).ceil() * 86_400.0);
    let timeline = lanes.reading.timeline;
    // The times are round numbers on the clock that is shown.
    let starts_s = timeline.wall_clock().map_or(0.0, |clock| clock.starts_s() % every_s);
    let first = ((axis.from_s() + starts_s) / every_s - 1e-9).ceil().max(0.0);
    let round = (0..=u64::from(axis.columns)).map(|n| (first + n as f64) * every_s - starts_s);
    for t_s in round.skip_while(|t_s| *t_s < 0.0).take_while(|t_s| *t_s < axis.to_s()) {
        let Some(column) = axis.column(t_s).filter(|column| *column < area.width) else { continue };
        let text = timeline.time_text(t_s);
        let room = Rect { x: area.x + column, width: area.width - column, ..area };
        if text.len() <= room.width.into() {
            paint.text(room, &text, Ink::Faint);
        }
    }
}

/// Draws the events that `shown` selects, in one row.
pub fn event_lane(
    paint: &mut Paint,
    plot: Rect,
    lanes: &ChartContext,
    shown: impl Fn(OccurrenceKind) -> bool,
) {
    let placed: Vec<_> = lanes.occurrences.iter().filter(|(_, occurrence)| shown(occurrence.kind)).collect();
    bars(paint, plot, lanes, &placed);
    let row = event_row(plot.width.into(), &placed, paint.glyphs());
    for (x, cell) in (plot.left()..plot.right()).zip(row) {
        if let Some((character, ink)) = cell {
            paint.dot(x, plot.y, character, ink);
        }
    }
}

/// Draws a bar for each event that lasts longer than a column, from its sign to its end. The most important events
/// are drawn last.
fn bars(paint: &mut Paint, plot: Rect, lanes: &ChartContext, placed: &[&(u16, Occurrence)]) {
    let mut order: Vec<_> =
        placed.iter().filter(|(_, occurrence)| occurrence.until_s > occurrence.t_s).collect();
    order.sort_by_key(|(_, occurrence)| std::cmp::Reverse(occurrence.kind));
    let now_s = lanes.reading.known_s();
    for (column, occurrence) in order {
        let last = lanes.axis.column_ending(occurrence.until_s.min(now_s)).unwrap_or(plot.width);
        let columns = column.saturating_add(1)..last.saturating_add(1).min(plot.width);
        let glyph = paint.glyphs().lasting;
        columns.for_each(|column| paint.dot(plot.x + column, plot.y, glyph, ink(occurrence.kind)));
    }
}

/// Returns the ink of an event.
pub fn ink(kind: OccurrenceKind) -> Ink {
    match kind {
        OccurrenceKind::Lost | OccurrenceKind::Error => Ink::Bad,
        OccurrenceKind::Stall | OccurrenceKind::Slow | OccurrenceKind::Eviction => Ink::Warn,
        OccurrenceKind::Back => Ink::Good,
        OccurrenceKind::Mark | OccurrenceKind::Segment => Ink::Strong,
        OccurrenceKind::Fork | OccurrenceKind::Other => Ink::Text,
    }
}

/// Returns the sign of an event.
pub fn sign(kind: OccurrenceKind, glyphs: &Glyphs) -> char {
    match kind {
        OccurrenceKind::Lost | OccurrenceKind::Error => glyphs.lost,
        OccurrenceKind::Stall | OccurrenceKind::Slow => glyphs.slow,
        OccurrenceKind::Mark => glyphs.mark,
        OccurrenceKind::Fork => glyphs.fork,
        OccurrenceKind::Eviction => glyphs.eviction,
        OccurrenceKind::Back => glyphs.back,
        OccurrenceKind::Segment => glyphs.border,
        OccurrenceKind::Other => glyphs.event,
    }
}

type EventRow = Vec<Option<(char, Ink)>>;

fn event_row(width: usize, placed: &[&(u16, Occurrence)], glyphs: &Glyphs) -> EventRow {
    let mut row: EventRow = vec![None; width];
    let mut order: Vec<_> = placed.to_vec();
    order.sort_by_key(|(_, occurrence)| occurrence.kind);
    let mut signed = Vec::new();
    for (column, occurrence) in order {
        let Some(cell) = row.get_mut(usize::from(*column)) else { continue };
        if cell.is_none() {
            *cell = Some((sign(occurrence.kind, glyphs), ink(occurrence.kind)));
            signed.push((usize::from(*column), occurrence));
        }
    }
    for (column, occurrence) in signed {
        let ink = if occurrence.kind == OccurrenceKind::Segment { Ink::Text } else { ink(occurrence.kind) };
        let place = words(occurrence.kind, &occurrence.word)
            .into_iter()
            .find_map(|word| Some((room(&row, column, &word)?, word)));
        if let Some((first, word)) = place {
            word.chars().zip(first..).for_each(|(character, at)| row[at] = Some((character, ink)));
        }
    }
    row
}

/// The maximum length of an event's label. A longer label cannot be read at a glance.
const LONGEST: usize = 24;

/// Returns a label and its shorter forms, the longest first. A shorter form has only the parts before a comma. The last
/// form is only the first word. The shortest form for a segment includes its number.
fn words(kind: OccurrenceKind, word: &str) -> Vec<String> {
    let commas = word.rmatch_indices(", ").map(|(at, _)| &word[..at]);
    let blanks = word.match_indices(' ').map(|(at, _)| at);
    let last = blanks.take(if kind == OccurrenceKind::Segment { 2 } else { 1 }).last();
    let words = std::iter::once(word).chain(commas).chain(last.map(|at| &word[..at]));
    words.filter(|word| word.chars().count() <= LONGEST).map(str::to_owned).collect()
}

/// Returns the column in which to write a label. The label is after the sign at `column` if there is room, or before
/// the sign, with a blank between the label and its neighbour. Returns `None` if there is no room.
fn room(row: &EventRow, column: usize, word: &str) -> Option<usize> {
    let length = word.chars().count();
    let is_free = |from: usize, to: usize| row[from..to].iter().all(Option::is_none);
    let behind = column + 1;
    if behind + length <= row.len() && is_free(behind, (behind + length + 1).min(row.len())) {
        return Some(behind);
    }
    let before = column.checked_sub(length)?;
    is_free(before.saturating_sub(1), column).then_some(before)
}

/// The largest distance of events with a common line at the first event, in columns. Many lines would hide the chart.
const EVENT_LINE_GAP: u16 = 5;

/// The largest distance of the intervals that are compared for the cause of a long request, in seconds.
const BESIDE_S: f64 = 4.0;

impl ChartContext<'_> {
    /// Returns the column that contains the moment `t_s`.
    pub(super) fn column(&self, t_s: f64) -> Option<u16> {
        self.axis.column_at(t_s, self.known_s)
    }

    /// Returns the events in the period shown, with their columns.
    pub(super) fn occurred(&self) -> Vec<(u16, Occurrence)> {
        let axis = self.axis;
        let mut occurred = Vec::new();
        for episode in episodes(self.window.events()) {
            // An event that began before the axis and still lasts is shown from the left end of the axis on.
            let begins_s = if episode.until_s > axis.from_s() {
                episode.from_s.max(axis.from_s())
            } else {
                episode.from_s
            };
            let words = self.reading.words();
            let occurrence = |column| (column, Occurrence::episode(&episode).worded(words));
            occurred.extend(self.column(begins_s).map(occurrence));
        }
        for mark in self.window.marks() {
            occurred.extend(self.column(mark.t_s).map(|column| (column, Occurrence::mark(mark))));
        }
        occurred.extend(Occurrence::segments(self.reading, &axis));
        for stall in self.window.stalls(self.levels(Measure::Service)) {
            let column = stall.column as u16;
            let cause = self.longest(column).map(|(_, cause)| cause);
            occurred.push((column, Occurrence::stall(axis.start_s(column) + axis.step_s, stall.ns, cause)));
        }
        occurred
    }

    /// Returns the longest request of a column, with its cause. Without load, returns the longest ping.
    pub fn longest(&self, column: u16) -> Option<(Worst, Cause)> {
        let measure = match self.timed {
            Timed::FromDue => Measure::Response,
            Timed::FromWrite => Measure::Service,
        };
        let worst = |measure| self.window.worst(measure, column.into());
        let of_load = [measure, Measure::Service].into_iter().find_map(|it| Some((it, worst(it)?)));
        let Some((measure, worst)) = of_load else {
            let worst = worst(Measure::Ping)?;
            let usual_ns = Level::P50.of(&self.reading.ping().minute);
            let delay = Delay { t_s: worst.t_s, ns: worst.ns, usual_ns };
            return self.cause(Measure::Ping, delay, self.reading.timeline).map(|cause| (worst, cause));
        };
        let delay = Delay::of(worst, self.reading.known_segments());
        let is_of = |part: &&&Timeline| {
            let own = self.axis.window(part, self.ends_s).worst(measure, column.into());
            own.is_some_and(|own| own.ns == worst.ns)
        };
        let Some(node) = self.parts.iter().find(is_of) else {
            return self.cause(measure, delay, self.reading.timeline).map(|cause| (worst, cause));
        };
        let cause = self.cause(measure, delay, node)?;
        let address = node.session().map_or("", |session| &session.target.address);
        Some((worst, Cause { what: format!("{} on {address}", cause.what), ..cause }))
    }

    /// Returns the cause of a long latency among the events of a node, if known.
    fn cause(&self, measure: Measure, delay: Delay, node: &Timeline) -> Option<Cause> {
        let from_s = (delay.t_s - BESIDE_S).floor();
        let beside = node.window(from_s, from_s + 2.0 * BESIDE_S, 8 * BESIDE_S as usize);
        let columns = (0..8 * BESIDE_S as usize).filter_map(|column| beside.worst(measure, column));
        let mut longer_s: Vec<_> =
            columns.filter(|worst| worst.ns > delay.ns).map(|worst| worst.t_s).collect();
        longer_s.dedup();
        Cause::beside(delay, node.events(), &longer_s)
    }

    /// Draws vertical lines through blank cells of `plot`. Each segment has a line at its beginning. Each group of
    /// other events that are close together has one line.
    pub fn lines(&self, paint: &mut Paint, plot: Rect) {
        let glyphs = paint.glyphs();
        let is_border = |occurrence: &Occurrence| occurrence.kind == OccurrenceKind::Segment;
        let lined = |occurrence: &Occurrence| {
            !matches!(occurrence.kind, OccurrenceKind::Segment | OccurrenceKind::Stall)
        };
        let events: BTreeSet<u16> =
            self.occurrences.iter().filter(|(_, o)| lined(o)).map(|(column, _)| *column).collect();
        let borders = self.occurrences.iter().filter(|(_, o)| is_border(o)).map(|(column, _)| *column);
        let mut lines: Vec<_> = borders.map(|column| (column, glyphs.border_line)).collect();
        let begins =
            |column: &u16| events.range(column.saturating_sub(EVENT_LINE_GAP)..*column).next().is_none();
        lines.extend(events.iter().copied().filter(begins).map(|column| (column, glyphs.event_line)));
        for (column, glyph) in lines {
            let x = plot.x + column;
            for y in (plot.top()..plot.bottom()).filter(|_| x < plot.right()) {
                paint.dot_if_blank(x, y, glyph, Ink::Faint);
            }
        }
    }

    /// Shades blank cells of `plot` in the columns during which the load lost all connections.
    pub fn outages(&self, paint: &mut Paint, plot: Rect) {
        let (outages, glyph) = (&self.reading.timeline.outages, paint.glyphs().outage);
        for column in 0..plot.width.min(self.axis.columns) {
            if outages.touch(self.axis.start_s(column), self.axis.start_s(column + 1)) {
                (plot.top()..plot.bottom())
                    .for_each(|y| paint.dot_if_blank(plot.x + column, y, glyph, Ink::Bad));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{Colours, GlyphSet, Theme};

    fn text(width: usize, placed: &[(u16, OccurrenceKind, &str)]) -> String {
        let placed: Vec<_> = placed
            .iter()
            .map(|(column, kind, word)| {
                let (word, sentence) = ((*word).to_owned(), String::new());
                (*column, Occurrence { t_s: 0.0, until_s: 0.0, kind: *kind, word, sentence })
            })
            .collect();
        let glyphs = Theme::new(Colours::Mono, GlyphSet::Ascii).glyphs();
        let row = event_row(width, &placed.iter().collect::<Vec<_>>(), glyphs);
        row.into_iter().map(|cell| cell.map_or(' ', |(c, _)| c)).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn labels_are_shortened_for_more_important_events() {
        let (slow, fork) = ((2, OccurrenceKind::Slow, "slow 14.2 ms"), (9, OccurrenceKind::Fork, "fork"));
        assert_eq!(text(30, &[slow]), "  !slow 14.2 ms");
        assert_eq!(text(30, &[fork, slow]), "  !slow  Yfork");
        assert_eq!(
            text(30, &[(2, OccurrenceKind::Back, "back"), (2, OccurrenceKind::Lost, "lost")]),
            "  Xlost"
        );
        assert_eq!(text(30, &[slow, (4, OccurrenceKind::Lost, "lost")]), "  ! Xlost");
    }

    #[test]
    fn a_label_without_room_after_its_sign_is_before_the_sign() {
        let (stall, fork) = ((10, OccurrenceKind::Stall, "stall 1.00 s"), (16, OccurrenceKind::Fork, "fork"));
        assert_eq!(text(30, &[stall, fork]), "     stall!     Yfork");
        assert_eq!(text(20, &[(18, OccurrenceKind::Slow, "slow 14.2 ms")]), "      slow 14.2 ms!");
        assert_eq!(text(4, &[(3, OccurrenceKind::Fork, "fork")]), "   Y");
    }

    #[test]
    fn the_label_of_a_segment_contains_at_least_its_number() {
        let segments = [
            (0, OccurrenceKind::Segment, "seg 2 50×1"),
            (7, OccurrenceKind::Segment, "seg 3 clients 200, reads 50 %"),
        ];
        assert_eq!(text(32, &segments), "|seg 2 |seg 3 clients 200");
        assert_eq!(text(14, &segments), "|seg 2 |seg 3");
    }
}
