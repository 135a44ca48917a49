//! The Log screen: events, errors, marks and segments in words.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    session::timeline::Reading,
    tui::{paint::Paint, widgets::log_lines},
};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, _: &Reading) {
    log_lines::draw(paint, area, model);
}
