//! The Segments screen: every segment with its knobs and results.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    session::timeline::Reading,
    tui::{paint::Paint, widgets::results},
};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, _: &Model, reading: &Reading) {
    results::segments(paint, area, reading);
}
