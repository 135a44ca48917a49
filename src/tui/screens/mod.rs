//! Whole screens, each a composition of widgets.

#[cfg(test)]
mod bytes;
#[cfg(test)]
mod every_size;
mod frame;
mod latency;
mod log;
mod overview;
mod segments;
mod server;
#[cfg(test)]
mod tests;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{maximised, paint::Paint, theme::Theme, widgets};
use crate::app::{Model, Screen};

/// How many columns the charts have on a screen of `area`'s size.
pub fn chart_columns(area: Rect, model: &Model) -> u16 {
    match maximised::plan(area, model).columns.plot {
        // Without lanes there is at most a line of throughput.
        0 => area.width,
        plot => plot,
    }
}

/// Draws everything `model` shows into `buffer`.
pub fn draw(buffer: &mut Buffer, theme: Theme, model: &Model) {
    let area: Rect = buffer.area;
    let mut paint = Paint::new(buffer, theme);
    match model.screen {
        Screen::Overview => overview::draw(&mut paint, area, model),
        Screen::Latency => frame::draw(&mut paint, area, model, latency::draw, widgets::latency_rows::draw),
        Screen::Server => frame::draw(&mut paint, area, model, server::draw, widgets::server_rows::draw),
        Screen::Segments => frame::draw(&mut paint, area, model, segments::draw, segments::draw),
        Screen::Log => frame::draw(&mut paint, area, model, log::draw, log::draw),
    }
    widgets::overlay::draw(&mut paint, area, model);
    theme.finish(buffer);
}
