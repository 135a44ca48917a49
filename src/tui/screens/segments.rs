//! The Segments screen shows all segments (times with the same load settings) with their settings and results. If there
//! is room, the screen also shows the details of the selected segment.

use ratatui::layout::Rect;

use crate::{
    tui::{Paint, Scene, row, widgets::segment_table},
    units::{count_with_noun, grouped},
};

/// The minimum height of the table of segments above the details, with its horizontal rule and its heading.
const LEAST_TABLE: u16 = 6;

/// Draws the Segments screen, without header and footer.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let segments = model.segments();
    let n = segments.iter().count();
    let title = match segments.forgotten {
        0 => count_with_noun(n as u64, "segment"),
        older => format!(
            "the last {n} segments; the session's totals also include {} older segments",
            grouped(older)
        ),
    };
    paint.rule(row(area, 0), &title);
    let details =
        if area.height >= LEAST_TABLE + segment_table::DETAIL_ROWS { segment_table::DETAIL_ROWS } else { 0 };
    let all = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + details), ..area };
    segment_table::draw(paint, all, model);
    if details > 0 {
        segment_table::draw_details(paint, Rect { y: all.bottom(), height: details, ..area }, model);
    }
}
