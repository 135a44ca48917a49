//! What all screens but the Overview have around them: header, status line, footer.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    session::timeline::Reading,
    tui::{
        layout::{self, Tier},
        paint::{Paint, row},
        widgets::{footer, header, readout, status},
    },
};

/// Below this a screen has no form of its own: a line of the least that each has to say would not fit, or only one.
const FEW_MIN: (u16, u16) = (30, 8);
/// From this height on what is to be said may take two rows.
const ROOM_FOR_WORDS: u16 = 10;

/// Draws the frame, and `body` into what it leaves; into less than that `few`, the most important lines. Where there is
/// no room for those, the numbers of the Overview say more.
pub fn draw(
    paint: &mut Paint,
    area: Rect,
    model: &Model,
    body: impl FnOnce(&mut Paint, Rect, &Model, &Reading),
    few: impl FnOnce(&mut Paint, Rect, &Model, &Reading),
) {
    let plan = layout::plan(area);
    match plan.tier {
        Tier::Line => readout::line(paint, plan.header, model),
        Tier::Numbers if area.width >= FEW_MIN.0 && area.height >= FEW_MIN.1 => {
            let reading = model.shown();
            header::draw(paint, row(area, 0), model, &reading);
            let words = if area.height >= ROOM_FOR_WORDS { 2 } else { 1 };
            let said = status::wrap(paint, Rect { y: area.y + 1, height: words, ..area }, model);
            let inside = Rect { y: area.y + 1 + said, height: area.height - 2 - said, ..area };
            few(paint, inside, model, &reading);
            footer::draw(paint, row(area, area.height - 1), model);
        }
        Tier::Numbers => readout::numbers(paint, area, model),
        Tier::Compact | Tier::Panel => {
            let reading = model.shown();
            header::draw(paint, row(area, 0), model, &reading);
            status::draw(paint, row(area, 1), model);
            let inside = Rect { y: area.y + 2, height: area.height - 3, ..area };
            body(paint, inside, model, &reading);
            footer::draw(paint, row(area, area.height - 1), model);
        }
    }
}
