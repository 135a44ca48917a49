//! The time axis below the lanes: segment borders with their numbers, events and marks; moments below it.

use ratatui::layout::Rect;

use super::{Lanes, tables::clock};
use crate::{
    session::Event,
    tui::{
        paint::{Paint, row},
        theme::Ink,
    },
};

/// The least columns between the beginnings of two labels.
const LABEL_EVERY: f64 = 10.0;
/// Round times that labels stand at, in seconds.
const ROUND_S: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0,
    28_800.0, 86_400.0,
];

/// Draws the axis, and its labels when `area` is two high.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    if area.is_empty() {
        return;
    }
    paint.rule(row(area, 0), "");
    let plot = lanes.plot(row(area, 0));
    segments(paint, plot, lanes);
    let glyphs = paint.glyphs();
    let event = |event: &Event| (event.t_s, glyphs.event, event_ink(event));
    // Trouble is drawn over a recovery of the same second.
    let timeline = lanes.reading.timeline();
    let recoveries = timeline.events().filter(|event| event.is_recovery()).map(event);
    let others = timeline.events().filter(|event| !event.is_recovery()).map(event);
    let marks = timeline.marks().map(|mark| (mark.t_s, glyphs.mark, Ink::Strong));
    for (t_s, glyph, ink) in recoveries.chain(others).chain(marks) {
        if let Some(column) = lanes.axis.column(t_s) {
            paint.dot(plot.x + column, plot.y, glyph, ink);
        }
    }
    if let Some(column) = lanes.cursor() {
        paint.dot(plot.x + column, plot.y, glyphs.cursor, Ink::Selected);
    }
    if area.height > 1 {
        moments(paint, lanes.plot(row(area, 1)), lanes);
    }
}

/// How an event looks, here and in the list of events.
pub fn event_ink(event: &Event) -> Ink {
    if event.is_recovery() { Ink::Good } else { Ink::Warn }
}

/// A border where each segment begins, its number behind it where the next leaves room.
fn segments(paint: &mut Paint, plot: Rect, lanes: &Lanes) {
    let borders: Vec<_> = lanes
        .reading
        .timeline()
        .segments()
        .iter()
        .filter_map(|segment| Some((lanes.axis.column(segment.start.t_s)?, segment.start.segment)))
        .collect();
    for (n, (column, number)) in borders.iter().enumerate() {
        let x = plot.x + column;
        paint.dot(x, plot.y, paint.glyphs().border, Ink::Strong);
        let end = borders.get(n + 1).map_or(plot.right(), |(next, _)| plot.x + next);
        let room = Rect { x: x + 1, width: end.saturating_sub(x + 1), ..plot };
        let label = format!("seg {number}");
        let texts = [label.as_str(), label.trim_start_matches("seg ")];
        if let Some(text) = texts.into_iter().find(|text| text.len() < room.width.into()) {
            paint.text(room, text, Ink::Text);
        }
    }
}

/// Moments of the session, as the header, the events and the ping windows write them; each begins in the column
/// of its second.
fn moments(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    let axis = lanes.axis;
    let usual = ROUND_S.into_iter().find(|round_s| *round_s >= axis.step_s * LABEL_EVERY - 1e-9);
    let every_s = usual.unwrap_or_else(|| (axis.step_s * LABEL_EVERY / 86_400.0).ceil() * 86_400.0);
    let first = (axis.from_s() / every_s - 1e-9).ceil().max(0.0);
    let round = (0..=u64::from(axis.columns)).map(|n| (first + n as f64) * every_s);
    for t_s in round.take_while(|t_s| *t_s < axis.to_s()) {
        let Some(column) = axis.column(t_s).filter(|column| *column < area.width) else { continue };
        let text = clock(t_s);
        let room = Rect { x: area.x + column, width: area.width - column, ..area };
        if text.len() <= room.width.into() {
            paint.text(room, &text, Ink::Faint);
        }
    }
}
