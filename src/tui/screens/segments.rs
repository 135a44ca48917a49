//! The Segments screen: every segment with its knobs and results, and the selected one in full.

use ratatui::layout::Rect;

use crate::{
    tui::{
        paint::{Paint, row},
        scene::Scene,
        widgets::{segment_details, segment_table},
    },
    units::counted,
};

/// The rule, the heading and so many rows of the table come before the details.
const LEAST_TABLE: u16 = 6;

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let segments = model.segments();
    let n = segments.iter().count();
    let title = match segments.forgotten() {
        0 => counted(n as u64, "segment"),
        older => format!("the last {n} segments; {older} older ones are in the sums of the session only"),
    };
    paint.rule(row(area, 0), &title);
    let details = if area.height >= LEAST_TABLE + segment_details::ROWS { segment_details::ROWS } else { 0 };
    let height = area.height.saturating_sub(1 + details);
    segment_table::draw(paint, Rect { y: area.y + 1, height, ..area }, model);
    if details > 0 {
        segment_details::draw(paint, Rect { y: area.y + 1 + height, height: details, ..area }, model);
    }
}
