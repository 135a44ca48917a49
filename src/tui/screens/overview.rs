//! The Overview: load, latency, probes and server on one time axis, beside the knobs. Without load it is about the server:
//! what its commands do for everybody, and how it answers PING.

use ratatui::layout::Rect;

use crate::{
    app::{Model, Spot, Subject},
    tui::{
        Paint, Scene,
        layout::{Plan, Tier},
        widgets::{
            Lanes, command_table, cursor, knobs, latency_chart, panel, probes, server_figures, throughput,
            time_axis,
        },
    },
};

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, body: Rect, &Scene { model, reading, plan }: &Scene) {
    let lanes = Lanes::new(reading, plan.columns, model);
    match lanes.subject {
        Subject::Load => throughput::draw(paint, plan.throughput, &lanes),
        Subject::Server => {
            command_table::chart(paint, plan.throughput, &lanes);
            command_table::draw(paint, plan.commands, &lanes.commands_minute, reading.words(), |name| {
                command_table::ink(&lanes, name)
            });
        }
    }
    latency_chart::draw(paint, plan.latency, &lanes);
    probes::draw(paint, plan, &lanes);
    time_axis::draw(paint, plan.axis, &lanes);
    cursor::line(paint, plan, &lanes);
    // From the status to the axis, whichever lanes there are.
    let charts = Rect { height: plan.axis.bottom() - body.y, ..body };
    paint.spot(lanes.plot(charts), Spot::Chart { column: 0 });
    panel::draw(paint, plan.panel, model, reading);
    foot(paint, plan, &lanes, model);
}

/// Live, what the server says; frozen, what the cursor reads.
fn foot(paint: &mut Paint, plan: &Plan, lanes: &Lanes, model: &Model) {
    match (plan.tier, model.cursor_s()) {
        (Tier::Panel, Some(_)) => cursor::draw(paint, plan.news, plan.server, lanes),
        (_, Some(_)) => cursor::draw(paint, plan.news, plan.knob_line, lanes),
        (_, None) => {
            cursor::news(paint, plan.news, lanes);
            knobs::line(paint, plan.knob_line, model);
            server_figures::line(paint, plan.server, lanes.reading);
        }
    }
}
