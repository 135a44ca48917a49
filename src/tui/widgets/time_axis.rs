//! The time axis below the lanes: segments, events and marks, and below them moments of the session.

use ratatui::layout::Rect;

use super::{Lanes, event_lane, figures::clock};
use crate::{
    app::Kind,
    tui::{Ink, Paint, row},
};

/// The least columns between the beginnings of two labels.
const LABEL_EVERY: f64 = 10.0;
/// Round times that labels stand at, in seconds.
const ROUND_S: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0,
    28_800.0, 86_400.0,
];

/// Draws the axis: where `area` is three high segments, events and moments, below that segments and events in one row.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    if area.is_empty() {
        return;
    }
    paint.rule(row(area, 0), "");
    let plot = |n| lanes.plot(row(area, n));
    if area.height < 3 {
        event_lane::draw(paint, plot(0), lanes, |_| true);
    } else {
        event_lane::draw(paint, plot(0), lanes, |kind| kind == Kind::Segment);
        paint.text(Rect { x: area.x + 1, ..row(area, 1) }, "events", Ink::Text);
        event_lane::draw(paint, plot(1), lanes, |kind| kind != Kind::Segment);
    }
    if area.height > 1 {
        moments(paint, plot(area.height - 1), lanes);
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
