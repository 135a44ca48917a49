//! The Curve screen: throughput and latency over the value of a knob, or two settings that are compared.
//!
//! ```text
//! ─ throughput over clients ────────┬ points ───────────
//!  100 k┤      ⣀⠤●⠒⠒◆⠒⠒●            │ clients  ops/s p50
//!       │  ⡠⠊                       │      1   11 k  …
//! ─ service time over clients ──────┤
//!   1 ms┤          ⣀⡠■⠤⠒            │
//!       └──┴────┴────┴────┴──       │
//!          1    10   100            │
//!  ◆ clients 50 does most: 102 k/s  │
//! ```

use ratatui::layout::Rect;

use crate::{
    app::Model,
    tui::{
        Ink, Paint, Scene, row,
        widgets::{curve_points, curve_words, knob_curve, pairs},
        wrapped,
    },
};

/// From this width on there is room for the points as a table.
const ROOM_FOR_POINTS: u16 = 104;
/// A rule and two rows for either chart, and the axis.
const LEAST_CHARTS: u16 = 8;

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    if let Some(pairs) = model.pairs_shown() {
        return pairs::draw(paint, area, &pairs);
    }
    let Some(curve) = model.curve().filter(|curve| !curve.points().is_empty()) else {
        return nothing(paint, area, model);
    };
    let over = knob_curve::Over::new(model, &curve);
    let points = if area.width >= ROOM_FOR_POINTS { curve_points::WIDTH } else { 0 };
    let left = Rect { width: area.width - points, ..area };
    curve_points::draw(paint, Rect { x: left.right(), width: points, ..area }, &over);
    let words = curve_words::lines(&over, paint.glyphs());
    let said = (words.len() as u16).min(area.height.saturating_sub(LEAST_CHARTS));
    let charts = Rect { height: left.height - said, ..left };
    knob_curve::draw(paint, charts, &over);
    for (n, (text, ink)) in (0..said).zip(&words) {
        paint.text(row(left, charts.height + n), &format!(" {text}"), *ink);
    }
}

/// The most important of it in a few lines.
pub fn draw_few(paint: &mut Paint, area: Rect, scene: &Scene) {
    if area.height >= LEAST_CHARTS + 2 || scene.model.pairs_shown().is_some() {
        return draw(paint, area, scene);
    }
    match scene.model.curve().filter(|curve| !curve.points().is_empty()) {
        Some(curve) => curve_points::draw(paint, area, &knob_curve::Over::new(scene.model, &curve)),
        None => nothing(paint, area, scene.model),
    }
}

fn nothing(paint: &mut Paint, area: Rect, model: &Model) {
    let runs = model.experiment().is_some_and(|experiment| !experiment.is_over());
    let text = match model.playback {
        Some(_) => "in this recording no knob has two values under load, so there is no curve",
        None if runs => "the first point comes soon",
        None => {
            "no knob has two values under load yet: turn one, or type :sweep clients 1..1000, :find p99<1ms or :ab pipeline 16"
        }
    };
    let lines = wrapped(text, area.width.saturating_sub(4).into());
    let first = area.height.saturating_sub(lines.len() as u16) / 2;
    for (n, line) in (0..).zip(&lines) {
        let place = row(area, first + n);
        let x = place.x + place.width.saturating_sub(line.chars().count() as u16) / 2;
        paint.text(Rect { x, width: place.right().saturating_sub(x), ..place }, line, Ink::Faint);
    }
}
