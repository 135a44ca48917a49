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

/// Draws the frame, and `body` into what it leaves. Where there is no room for that, the numbers of the Overview say
/// more.
pub fn draw(
    paint: &mut Paint,
    area: Rect,
    model: &Model,
    body: impl FnOnce(&mut Paint, Rect, &Model, &Reading),
) {
    let plan = layout::plan(area);
    match plan.tier {
        Tier::Line => readout::line(paint, plan.header, model),
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
