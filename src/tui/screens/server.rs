//! The Server screen: what the server says of itself, and its parameters.
//!
//! ```text
//! ┌ commands ──────────────────────┬ CONFIG ───────────────┐
//! │ get  121 k/s  91 %  0.9 µs     │ ▸ maxmemory   512 MiB │
//! ├ slow log ──────────────────────┤   save             "" │
//! │ 00:42 14.2 ms GET … from …     ├ figures ──────────────┤
//! ├ latency monitor ───────────────┤ memory  used  limit … │
//! └────────────────────────────────┴───────────────────────┘
//! ```

use ratatui::layout::Rect;

use crate::{
    app::Model,
    server::Status,
    session::timeline::Reading,
    tui::{
        paint::{Paint, row},
        scene::Scene,
        theme::Ink,
        widgets::{config_list, server_figures, server_tables},
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
    tables(paint, left, reading, &moment.body);
    parameters(paint, Rect { x: left.right(), width: right, ..area }, model, &moment.body);
}

fn tables(paint: &mut Paint, area: Rect, reading: &Reading, status: &Status) {
    // The slow log grows into what the others leave.
    let latency = (server_tables::latency_rows(status) + 1).min(area.height / 4);
    let commands = (server_tables::command_rows(status) + 1).min(area.height.saturating_sub(latency) * 3 / 5);
    let mut rest = area;
    let place = section(paint, &mut rest, "commands", commands);
    server_tables::commands(paint, place, status);
    let height = rest.height.saturating_sub(latency);
    let place = section(paint, &mut rest, "slow log", height);
    server_tables::slow_log(paint, place, reading);
    let place = section(paint, &mut rest, "latency monitor", latency);
    server_tables::latency(paint, place, status);
}

fn parameters(paint: &mut Paint, area: Rect, model: &Model, status: &Status) {
    let mut rest = area;
    let height = (config_list::ROWS + 1).min(area.height * 3 / 5);
    let place = section(paint, &mut rest, "CONFIG", height);
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
