//! The Server screen: what the server says of itself, now and over time, and its parameters.
//!
//! ```text
//! ┌ commands ──────────────────────┬ CONFIG ───────────────┐
//! │ get  121 k/s  91 %  0.9 µs     │ ▸ maxmemory   512 MiB │
//! ├ slow log ──────────────────────┤   save             "" │
//! │ 00:42 14.2 ms GET … from …     ├ figures ──────────────┤
//! ├ latency monitor ───────────────┤ memory  used  limit … │
//! ├ over time ─────────────────────┤                       │
//! │ mem  ▄▄▄▄▄▅▅▅▅▆▆▆ 0–64 M  41 MiB                       │
//! └────────────────────────────────┴───────────────────────┘
//! ```

use ratatui::layout::Rect;

use crate::{
    app::Model,
    gauge::Gauge,
    server::Status,
    session::timeline::Reading,
    tui::{
        Ink, Paint, Scene,
        layout::Columns,
        row,
        widgets::{
            Lanes, command_table, config_list, cursor, probes, server_figures, server_tables, time_axis,
        },
    },
};

/// From this width on the left half has room for all columns of the commands and more.
const WIDE: u16 = 110;
/// Columns of the right half on a narrow screen: a parameter's name and most values.
const RIGHT: u16 = 41;

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    let Some(moment) = reading.status() else {
        paint.text(row(area, 0), " the server has not said anything yet", Ink::Faint);
        return;
    };
    let right = if area.width >= WIDE { area.width * 2 / 5 } else { RIGHT.min(area.width) };
    let left = Rect { width: area.width - right, ..area };
    let charts = charts(left);
    let above = Rect { height: left.height - charts.height, ..left };
    tables(paint, above, reading, &moment.body);
    over_time(paint, charts, model, reading);
    parameters(paint, Rect { x: left.right(), width: right, ..area }, model, &moment.body);
}

/// Rows of the charts at the foot of `area`: a heading, some lanes, and where there is room a time axis.
fn charts(area: Rect) -> Rect {
    let rows = match area.height {
        0..16 => 0,
        16..26 => 5,
        26..45 => 1 + GAUGES.len() as u16 + AXIS,
        height => {
            let lanes = GAUGES.len() as u16;
            1 + lanes * ((height / 2 - 1 - AXIS) / lanes) + AXIS
        }
    };
    Rect { y: area.bottom() - rows, height: rows, ..area }
}

/// A rule with events, and moments.
const AXIS: u16 = 2;

/// What is drawn over time, the most telling first.
const GAUGES: [Gauge; 7] = [
    Gauge::UsedMemory,
    Gauge::BytesOut,
    Gauge::HitRate,
    Gauge::EvictedKeys,
    Gauge::BytesIn,
    Gauge::Clients,
    Gauge::Cpu,
];

/// The server's gauges on the time axis of all charts, each on its own scale, with their values.
fn over_time(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    if area.is_empty() {
        return;
    }
    let (name, value) = (9, 9);
    let gutter = if area.width >= WIDE / 2 { 10 } else { 7 };
    let plot = area.width.saturating_sub(gutter + name + value + 1);
    let columns = Columns { gutter, plot, name, values: 1, value };
    let lanes = Lanes::new(reading, columns, model);
    let axis = if area.height > 5 { AXIS } else { 0 };
    let area = Rect { width: area.width - 1, ..area };
    paint.rule(row(area, 0), "over time");
    let place = Rect { y: area.y + 1, height: area.height - 1 - axis, ..area };
    probes::gauges(paint, place, &lanes, &GAUGES);
    let foot = Rect { y: area.bottom() - axis, height: axis, ..area };
    time_axis::draw(paint, foot, &lanes);
    cursor::through(paint, place, &lanes);
}

fn tables(paint: &mut Paint, area: Rect, reading: &Reading, status: &Status) {
    // The slow log grows into what the others leave.
    let all = reading.commands_minute();
    let latency = (server_tables::latency_rows(status) + 1).min(area.height / 4);
    let commands = (all.stats.len() as u16 + 1).max(2).min(area.height.saturating_sub(latency) * 3 / 5);
    let place = Rect { width: area.width - 1, height: commands.min(area.height), ..area };
    command_table::draw(paint, place, &all, reading.words(), |_| None);
    let mut rest = Rect { y: place.bottom(), height: area.height - place.height, ..area };
    let height = rest.height.saturating_sub(latency);
    let place = section(paint, &mut rest, "slow log", height);
    server_tables::slow_log(paint, place, reading);
    let place = section(paint, &mut rest, "latency monitor", latency);
    server_tables::latency(paint, place, status);
}

fn parameters(paint: &mut Paint, area: Rect, model: &Model, status: &Status) {
    let mut rest = area;
    let height = (config_list::ROWS + 1).min(area.height * 3 / 5);
    let title = if status.dialect().has_config() { "CONFIG" } else { "settings, since its start" };
    let place = section(paint, &mut rest, title, height);
    config_list::draw(paint, place, model, status);
    let height = rest.height;
    let place = section(paint, &mut rest, "figures", height);
    server_figures::draw(paint, place, status);
}

/// Takes `height` rows from the top of `rest`, the first of them a heading; what is inside.
fn section(paint: &mut Paint, rest: &mut Rect, title: &str, height: u16) -> Rect {
    let height = height.min(rest.height);
    let area = Rect { height, ..*rest };
    *rest = Rect { y: rest.y + height, height: rest.height - height, ..*rest };
    if height > 0 {
        paint.rule(row(area, 0), title);
    }
    Rect {
        x: area.x + 1,
        y: area.y + height.min(1),
        width: area.width.saturating_sub(2),
        height: height.saturating_sub(1),
    }
}

/// Draws the server in a few rows, for screens without room for tables: figures, the last slow commands, one parameter.
///
/// ```text
///  cpu 97 %  ops 110 k/s  memory 1.53 MiB
///  clients 52  hits 91 %  keys 10 k
///  ─ slow log ──────────────────────────
///  00:27 14 ms KEYS *
///  ▸ maxmemory 100 MiB ◂ ▸
/// ```
pub fn draw_few(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    let Some(moment) = reading.status() else {
        paint.text(row(area, 0), " the server has not said anything yet", Ink::Faint);
        return;
    };
    let status = &moment.body;
    let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    // The parameter stands in the last row, a slow command above it.
    let figures = Rect { height: area.height.saturating_sub(3), ..inside };
    let used = server_figures::few(paint, figures, status);
    let rest = Rect { y: area.y + used, height: area.height.saturating_sub(used + 1), ..inside };
    if rest.height > 0 {
        paint.rule(Rect { y: rest.y, ..row(area, 0) }, "slow log");
        let below = Rect { y: rest.y + 1, height: rest.height - 1, ..rest };
        server_tables::slow_log(paint, below, reading);
    }
    config_list::line(paint, row(inside, area.height.saturating_sub(1)), model, status);
}
