//! The screens (Overview, Latency, Log and others), which consist of widgets.
//!
//! All screens have the same header, status line and footer. On a small terminal, a single line replaces a screen
//! with charts.
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
    Ink, Paint, Scene,
    layout::{self, ScreenPlan, Tier},
    paint::Spots,
    row,
    theme::Theme,
    widgets::{
        ChartContext, command_chart, command_table, cursor, dialog, header, help, knobs, latency_chart,
        panel, probes, readout, server_figures, status, throughput, time_axis,
    },
    wrapped,
};
use crate::app::{Model, Screen, Spot, Subject};

/// Returns the function that draws a screen.
const fn drawing(screen: Screen) -> Body {
    match screen {
        Screen::Overview => overview,
        Screen::Latency => latency::draw,
        Screen::Server => server::draw,
        Screen::Segments => segments::draw,
        Screen::Log => log::draw,
        Screen::Curve => curve::draw,
        Screen::Nodes => nodes::draw,
    }
}

/// Returns the layout of a screen that has the size of `area` and shows `model`.
pub fn plan(area: Rect, model: &Model) -> ScreenPlan {
    layout::plan(area, model.subject(), model.maximised)
}

/// Draws `model` into `buffer` with the layout `plan`. Returns the map for the mouse.
pub fn draw(buffer: &mut Buffer, theme: Theme, model: &Model, plan: &ScreenPlan) -> Spots {
    let mut paint = Paint::new(buffer, theme);
    in_frame(&mut paint, plan, model);
    dialog::overlay(&mut paint, plan.area, model);
    paint.finish()
}

/// Returns the largest scroll position of the help, in lines. Returns `None` while the help is closed.
pub fn last_help_scroll(plan: &ScreenPlan, theme: Theme, model: &Model) -> Option<u16> {
    help::last_scroll(plan.area, theme, model)
}

/// Draws `model` on a new screen with the size of `area`.
pub fn picture(area: Rect, theme: Theme, model: &Model) -> Buffer {
    let mut buffer = Buffer::empty(area);
    draw(&mut buffer, theme, model, &plan(area, model));
    buffer
}

/// A function that draws a screen, without header and footer.
type Body = fn(&mut Paint, Rect, &Scene);

/// Draws the present screen with header, status line and footer. Without room for the screen, a single line with the
/// most important figures replaces the header and the screen.
fn in_frame(paint: &mut Paint, plan: &ScreenPlan, model: &Model) {
    let has_room = match plan.tier {
        Tier::Panel | Tier::Compact => true,
        Tier::List => matches!(model.screen, Screen::Segments | Screen::Log | Screen::Nodes),
        Tier::Line => false,
    };
    if has_room {
        let reading = model.shown();
        header::draw(paint, plan.header, model, &reading);
        drawing(model.screen)(paint, plan.body, &Scene { model, reading: &reading, plan });
    } else {
        let (w, h) = layout::COMPACT_MIN;
        readout::line(paint, plan.header, model);
        paint.text(row(plan.body, 1), &format!(" charts need {w}x{h}"), Ink::Faint);
        if plan.tier == Tier::List {
            let width = usize::from(plan.body.width.saturating_sub(2));
            let (sentence, ink) = status::sentence(model, usize::MAX);
            let mut lines = wrapped(&sentence, width);
            let rows = 3..plan.body.height.saturating_sub(2);
            // The last row shows by its end that the sentence goes on.
            if (1..lines.len()).contains(&rows.len()) {
                let rest = lines.split_off(rows.len() - 1).join(" ");
                lines.push(rest);
            }
            for (n, line) in rows.zip(lines) {
                paint.text(row(plan.body, n), &format!(" {line}"), ink);
            }
            knobs::lines(paint, row(plan.body, plan.body.height.saturating_sub(1)), model);
        }
    }
    if has_room {
        status::draw(paint, plan.status, model);
    }
    if plan.tier != Tier::Line {
        header::footer(paint, plan.footer, model);
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

/// Draws the rows at the bottom. The rows have the server's own figures or, in a frozen view, the values at the cursor.
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
