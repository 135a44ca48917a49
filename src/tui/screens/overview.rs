//! The Overview: load, latency, probes and server on one time axis, beside the knobs.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    tui::{
        layout::{Plan, Tier},
        maximised,
        paint::Paint,
        widgets::{
            Lanes, cursor, footer, header, heat_map, knob_line, latency, panel, probes, readout, server_line,
            status, throughput, time_axis,
        },
    },
};

/// Draws the Overview.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let plan = maximised::plan(area, model);
    match plan.tier {
        Tier::Line => readout::line(paint, plan.header, model),
        Tier::Numbers => readout::numbers(paint, area, model),
        Tier::Compact | Tier::Panel => charts(paint, &plan, model),
    }
}

fn charts(paint: &mut Paint, plan: &Plan, model: &Model) {
    let reading = model.shown();
    let lanes = Lanes::new(&reading, plan.columns, model);
    header::draw(paint, plan.header, model, &reading);
    status::draw(paint, plan.status, model);
    throughput::draw(paint, plan.throughput, &lanes);
    let scale = lanes.log_scale();
    latency::draw(paint, plan.latency, &lanes, scale, plan.latency_rows);
    heat_map::draw(paint, plan.heat, &lanes);
    probes::draw(paint, plan, &lanes, scale);
    time_axis::draw(paint, plan.axis, &lanes);
    cursor::line(paint, plan, &lanes);
    panel::draw(paint, plan.panel, model, &reading);
    foot(paint, plan, &lanes, model);
    footer::draw(paint, plan.footer, model);
}

/// Live, what the server says; frozen, what the cursor reads.
fn foot(paint: &mut Paint, plan: &Plan, lanes: &Lanes, model: &Model) {
    match (plan.tier, model.cursor_s()) {
        (Tier::Panel, Some(_)) => cursor::draw(paint, plan.news, plan.server, lanes),
        (_, Some(_)) => cursor::draw(paint, plan.news, plan.knob_line, lanes),
        (_, None) => {
            cursor::news(paint, plan.news, lanes);
            knob_line::draw(paint, plan.knob_line, model);
            server_line::draw(paint, plan.server, lanes.reading);
        }
    }
}
