//! The Server screen: what the server says of itself.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    session::timeline::Reading,
    tui::{
        paint::{Paint, row},
        widgets::server_line,
    },
};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, _: &Model, reading: &Reading) {
    server_line::draw(paint, row(area, 0), reading);
}
