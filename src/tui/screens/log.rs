//! The Log screen: events, errors, marks and segments in words.

use ratatui::layout::Rect;

use crate::tui::{paint::Paint, scene::Scene, widgets::log_lines};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, scene: &Scene) {
    log_lines::draw(paint, area, scene.model);
}
