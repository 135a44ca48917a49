//! Whole screens, each a composition of widgets.

mod curve;
mod frame;
mod latency;
mod log;
mod overview;
mod segments;
mod server;
#[cfg(test)]
mod tests;

use ratatui::{buffer::Buffer, layout::Rect};

use self::frame::{Body, Drawing};
use super::{
    layout::{self, Plan},
    paint::Paint,
    spots::Spots,
    theme::Theme,
    widgets::overlay,
};
use crate::app::{Model, Screen};

/// How each screen is drawn.
const fn drawing(screen: Screen) -> Drawing {
    const fn row(body: Body, few: Option<Body>) -> Drawing {
        Drawing { body, few }
    }
    match screen {
        Screen::Overview => row(overview::draw, None),
        Screen::Latency => row(latency::draw, Some(latency::draw_few)),
        Screen::Server => row(server::draw, Some(server::draw_few)),
        Screen::Segments => row(segments::draw, Some(segments::draw)),
        Screen::Log => row(log::draw, Some(log::draw)),
        Screen::Curve => row(curve::draw, Some(curve::draw_few)),
    }
}

/// Where everything goes on a screen of `area`'s size that shows `model`.
pub fn plan(area: Rect, model: &Model) -> Plan {
    layout::plan(area, model.subject(), model.maximised)
}

/// Draws everything `model` shows into `buffer`, by the plan for that; what the mouse finds there.
pub fn draw(buffer: &mut Buffer, theme: Theme, model: &Model, plan: &Plan) -> Spots {
    let mut paint = Paint::new(buffer, theme);
    frame::draw(&mut paint, plan, model, &drawing(model.screen));
    overlay::draw(&mut paint, plan.area, model);
    paint.finish()
}

/// What `model` shows, on a screen of `area`'s size.
pub fn picture(area: Rect, theme: Theme, model: &Model) -> Buffer {
    let mut buffer = Buffer::empty(area);
    draw(&mut buffer, theme, model, &plan(area, model));
    buffer
}
