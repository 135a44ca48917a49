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

/// Seconds, and so columns, between two labels.
const LABEL_EVERY: u64 = 10;

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
    let recoveries = lanes.timeline.events().filter(|event| event.is_recovery()).map(event);
    let others = lanes.timeline.events().filter(|event| !event.is_recovery()).map(event);
    let marks = lanes.timeline.marks().map(|mark| (mark.t_s, glyphs.mark, Ink::Strong));
    for (t_s, glyph, ink) in recoveries.chain(others).chain(marks) {
        if let Some(column) = lanes.axis.column(t_s) {
            paint.dot(plot.x + column, plot.y, glyph, ink);
        }
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
        .timeline
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
    for column in 0..area.width {
        let second = lanes.axis.second(column);
        if second.is_multiple_of(LABEL_EVERY) {
            let text = clock(second as f64);
            let room = Rect { x: area.x + column, width: area.width - column, ..area };
            if text.len() <= room.width.into() {
                paint.text(room, &text, Ink::Faint);
            }
        }
    }
}
