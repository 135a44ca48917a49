//! The Segments screen: every segment with its knobs and results, the column that they are sorted by as a curve where
//! there is room, and the selected one in full.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    tui::{
        Paint, Scene, row,
        widgets::{figure_curve, knob_curve, segment_details, segment_table},
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
    let all = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + details), ..area };
    let table = Rect { height: all.height - curve(paint, all, n, model), ..all };
    segment_table::draw(paint, table, model);
    if details > 0 {
        segment_details::draw(paint, Rect { y: all.bottom(), height: details, ..area }, model);
    }
}

/// Draws a curve below the heading and the `rows` of the table, where there are points to join; how many rows it has.
fn curve(paint: &mut Paint, area: Rect, rows: usize, model: &Model) -> u16 {
    let room = usize::from(area.height).saturating_sub(1 + rows) as u16;
    if room < figure_curve::LEAST_ROWS {
        return 0;
    }
    let Some(curve) = model.curve().filter(|curve| curve.points().len() > 1) else { return 0 };
    let place = Rect { y: area.bottom() - room, height: room, ..area };
    figure_curve::draw(paint, place, model, &knob_curve::Over::new(model, &curve));
    room
}
