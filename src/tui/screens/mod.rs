//! The screens (Overview, Latency, Log and others), which consist of widgets.
//!
//! All screens have the same header, status line and footer. On a small terminal, redyno draws a reduced form
//! of a screen.
//!
//! The Overview shows load, latency, probes and server on one time axis, next to the load settings (knobs).
//! Without load, it shows the server: the commands that take the server's time, and the latency of PING. The
//! knobs then need only one line.

mod curve;
mod latency;
mod log;
mod nodes;
mod segments;
mod server;
#[cfg(test)]
mod tests;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Paint, Scene,
    layout::{self, ScreenPlan, Tier},
    paint::Spots,
    row,
    theme::Theme,
    widgets::{
        ChartContext, command_chart, command_table, cursor, dialog, header, knobs, latency_chart, panel,
        probes, readout, server_figures, status, throughput, time_axis,
    },
};
use crate::app::{Model, Screen, Spot, Subject};

/// Returns the functions that draw each screen.
const fn drawing(screen: Screen) -> DrawFunctions {
    const fn row(body: Body, few: Option<Body>) -> DrawFunctions {
        DrawFunctions { body, few }
    }
    match screen {
        Screen::Overview => row(overview, None),
        Screen::Latency => row(latency::draw, Some(latency::draw_few)),
        Screen::Server => row(server::draw, Some(server::draw_few)),
        Screen::Segments => row(segments::draw, Some(segments::draw)),
        Screen::Log => row(log::draw, Some(log::draw)),
        Screen::Curve => row(curve::draw, Some(curve::draw_few)),
        Screen::Nodes => row(nodes::draw, Some(nodes::draw)),
    }
}

/// Returns the layout of a screen that has the size of `area` and shows `model`.
pub fn plan(area: Rect, model: &Model) -> ScreenPlan {
    layout::plan(area, model.subject(), model.maximised)
}

/// Draws `model` into `buffer` with the layout `plan`. Returns the map for the mouse.
pub fn draw(buffer: &mut Buffer, theme: Theme, model: &Model, plan: &ScreenPlan) -> Spots {
    let mut paint = Paint::new(buffer, theme);
    in_frame(&mut paint, plan, model, &drawing(model.screen));
    dialog::overlay(&mut paint, plan.area, model);
    paint.finish()
}

/// Draws `model` on a new screen with the size of `area`.
pub fn picture(area: Rect, theme: Theme, model: &Model) -> Buffer {
    let mut buffer = Buffer::empty(area);
    draw(&mut buffer, theme, model, &plan(area, model));
    buffer
}

/// A function that draws a screen, without header and footer.
pub type Body = fn(&mut Paint, Rect, &Scene);

/// The functions that draw a screen.
pub struct DrawFunctions {
    /// Draws the whole screen, without header and footer.
    pub body: Body,
    /// Draws the most important lines if there is no room for the whole screen; `None` to draw the numbers of the
    /// Overview.
    pub few: Option<Body>,
}

/// The minimum width and height for a few lines of a screen's own content.
const FEW_MIN: (u16, u16) = (30, 8);
/// The minimum height of a screen on which the status line may have two rows.
const ROOM_FOR_WORDS: u16 = 10;

/// Draws a screen with header, status line and footer.
pub fn in_frame(paint: &mut Paint, plan: &ScreenPlan, model: &Model, drawing: &DrawFunctions) {
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
            header::footer(paint, row(area, area.height - 1), model);
        }
        (Tier::Compact | Tier::Panel, _) => {
            header::draw(paint, plan.header, model, &reading);
            status::draw(paint, plan.status, model);
            (drawing.body)(paint, plan.body, &scene);
            header::footer(paint, plan.footer, model);
        }
    }
}

/// Draws the Overview, without header and footer.
pub fn overview(paint: &mut Paint, body: Rect, &Scene { model, reading, plan }: &Scene) {
    let lanes = ChartContext::new(reading, plan.columns, model);
    match lanes.subject {
        Subject::Load => throughput::draw(paint, plan.throughput, &lanes),
        Subject::Server => {
            command_table::draw(paint, plan.commands, &lanes.commands_minute, reading.words(), |name| {
                command_chart::ink(&lanes, name)
            });
            command_chart::draw(paint, plan.throughput, &lanes);
        }
    }
    latency_chart::draw(paint, plan.latency, &lanes);
    probes::draw(paint, plan, &lanes);
    time_axis::draw(paint, plan.axis, &lanes);
    cursor::line(paint, plan, &lanes);
    // For the mouse, the charts reach from the table of commands to the time axis.
    let top = plan.commands.bottom().max(body.y);
    let charts = Rect { y: top, height: plan.axis.bottom() - top, ..body };
    paint.spot(lanes.plot(charts), Spot::Chart { column: 0 });
    panel::draw(paint, plan.panel, model, reading);
    foot(paint, plan, &lanes, model);
}

/// Draws the rows at the bottom: the server's own figures, or in a frozen view the values at the cursor.
fn foot(paint: &mut Paint, plan: &ScreenPlan, lanes: &ChartContext, model: &Model) {
    match model.cursor_s() {
        // On a low screen, the values at the cursor replace the row of the knobs.
        Some(_) if plan.server.is_empty() => cursor::draw(paint, plan.news, plan.knob_line, lanes),
        Some(_) => {
            knobs::lines(paint, plan.knob_line, model);
            cursor::draw(paint, plan.news, plan.server, lanes);
        }
        None => {
            knobs::lines(paint, plan.knob_line, model);
            cursor::news(paint, plan.news, lanes);
            server_figures::line(paint, plan.server, lanes.reading);
        }
    }
}
