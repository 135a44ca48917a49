//! What all screens have around them: header, status line, footer; and what stands in for one that has no room.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    tui::{
        Paint, Scene,
        layout::{Plan, Tier},
        row,
        widgets::{footer, header, readout, status},
    },
};

/// Draws the inside of a screen.
pub type Body = fn(&mut Paint, Rect, &Scene);

/// How a screen is drawn.
pub struct Drawing {
    /// All of it.
    pub body: Body,
    /// The most important lines, where there is no room for that; where it has none, the numbers of the Overview.
    pub few: Option<Body>,
}

/// Below this a line of the least that each screen has to say would not fit, or only one.
const FEW_MIN: (u16, u16) = (30, 8);
/// From this height on what is to be said may take two rows.
const ROOM_FOR_WORDS: u16 = 10;

/// Draws a screen and what stands around it.
pub fn draw(paint: &mut Paint, plan: &Plan, model: &Model, drawing: &Drawing) {
    let area = plan.area;
    let is_enough = area.width >= FEW_MIN.0 && area.height >= FEW_MIN.1;
    let reading = model.shown();
    let scene = Scene { model, reading: &reading, plan };
    match (plan.tier, drawing.few.filter(|_| is_enough)) {
        (Tier::Line, _) => readout::line(paint, plan.header, model),
        (Tier::Numbers, None) => readout::numbers(paint, plan, model),
        (Tier::Numbers, Some(few)) => {
            header::draw(paint, row(area, 0), model, &reading);
            let words = if area.height >= ROOM_FOR_WORDS { 2 } else { 1 };
            let said = status::wrap(paint, Rect { y: area.y + 1, height: words, ..area }, model);
            few(paint, Rect { y: area.y + 1 + said, height: area.height - 2 - said, ..area }, &scene);
            footer::draw(paint, row(area, area.height - 1), model);
        }
        (Tier::Compact | Tier::Panel, _) => {
            header::draw(paint, plan.header, model, &reading);
            status::draw(paint, plan.status, model);
            (drawing.body)(paint, plan.body, &scene);
            footer::draw(paint, plan.footer, model);
        }
    }
}
