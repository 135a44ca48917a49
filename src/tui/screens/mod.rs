//! Whole screens, each a composition of widgets.

mod overview;
#[cfg(test)]
mod tests;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{paint::Paint, theme::Theme, widgets};
use crate::app::{Model, Screen};

/// Draws everything `model` shows into `buffer`.
pub fn draw(buffer: &mut Buffer, theme: Theme, model: &Model) {
    let area: Rect = buffer.area;
    let mut paint = Paint::new(buffer, theme);
    match model.screen {
        Screen::Overview => overview::draw(&mut paint, area, model),
    }
    widgets::overlay::draw(&mut paint, area, model);
    theme.finish(buffer);
}
