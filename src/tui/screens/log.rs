//! The Log screen: events and errors in words.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    session::timeline::Reading,
    tui::{paint::Paint, widgets::tables},
};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, _: &Model, reading: &Reading) {
    tables::events(paint, area, reading);
}
