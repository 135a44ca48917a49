//! The Latency screen: the distribution of the segment in full.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    session::timeline::Reading,
    tui::{paint::Paint, widgets::spectrum},
};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, _: &Model, reading: &Reading) {
    let bars = reading.segment_service().map(|service| spectrum::bars(service, area.height));
    spectrum::draw(paint, area, &bars.unwrap_or_default());
}
