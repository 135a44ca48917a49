//! The Server screen shows the figures that the server reports, now and over time, and the server's parameters.
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
//!
//! Other tables show the slow log and the latency monitor of the server.
//!
//! A list shows the server parameters that the user can change, with their values at the moment shown.

use ratatui::layout::Rect;

use crate::{
    app::{Model, Purpose, View, value_words},
    gauge::Gauge,
    server::{PARAMETERS, Status},
    session::timeline::Reading,
    tui::{
        Ink, Paint, Scene, from_column,
        layout::Columns,
        row,
        widgets::{
            ChartContext, command_table, cursor, dialog::input, figures::NONE, probes, server_figures,
            table::around, time_axis,
        },
    },
    units,
};

/// The minimum width at which the left half has room for all columns of the table of commands.
const WIDE: u16 = 110;
/// The width of the right half on a narrow screen. The width is enough for a parameter's name and most values.
const RIGHT: u16 = 41;

/// Draws the Server screen, without header and footer.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    let Some(moment) = reading.status() else {
        paint.text(row(area, 0), " no reply from the server yet", Ink::Faint);
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

/// Returns the area of the charts at the bottom of `area`. The charts are a heading and some lanes (charts of one or
/// more rows). If there is room, a time axis is added.
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

/// The height of the time axis: a horizontal rule with events, and a row of times.
const AXIS: u16 = 2;

/// The gauges of the server that are drawn over time, the most important first.
const GAUGES: [Gauge; 7] = [
    Gauge::UsedMemory,
    Gauge::BytesOut,
    Gauge::HitRate,
    Gauge::EvictedKeys,
    Gauge::BytesIn,
    Gauge::Clients,
    Gauge::Cpu,
];

/// Draws the gauges of the server on the common time axis, each with its own scale and its present value.
fn over_time<'a>(paint: &mut Paint, area: Rect, model: &'a Model, reading: &'a Reading<'a>) {
    if area.is_empty() {
        return;
    }
    let (name, value) = (9, 9);
    let gutter = if area.width >= WIDE / 2 { 10 } else { 7 };
    let plot = area.width.saturating_sub(gutter + name + value + 1);
    let columns = Columns { gutter, plot, name, values: 1, value };
    let lanes = ChartContext::new(reading, columns, model);
    let axis = if area.height > 5 { AXIS } else { 0 };
    let area = Rect { width: area.width - 1, ..area };
    paint.rule(row(area, 0), "over time");
    if let Some(status) = reading.status().filter(|status| !status.body.dialect().has_keys()) {
        paint.text(row(area, 1), &status.body.without(server_figures::OWN), Ink::Faint);
        return;
    }
    let place = Rect { y: area.y + 1, height: area.height - 1 - axis, ..area };
    probes::gauges(paint, place, &lanes, &GAUGES);
    let foot = Rect { y: area.bottom() - axis, height: axis, ..area };
    time_axis::draw(paint, foot, &lanes);
    cursor::through(paint, place, &lanes);
}

fn tables(paint: &mut Paint, area: Rect, reading: &Reading, status: &Status) {
    // The slow log gets the rows that the other tables leave.
    let all = reading.commands_minute();
    let latency = (status.latency_events.len().clamp(1, 20) as u16 + 1).min(area.height / 4);
    let commands = (all.stats.len() as u16 + 1).max(2).min(area.height.saturating_sub(latency) * 3 / 5);
    let place = Rect { width: area.width - 1, height: commands.min(area.height), ..area };
    command_table::draw(paint, place, &all, reading.words(), |_| None);
    let mut rest = Rect { y: place.bottom(), height: area.height - place.height, ..area };
    let height = rest.height.saturating_sub(latency);
    let place = section(paint, &mut rest, "slow log", height);
    slow_log(paint, place, reading);
    let place = section(paint, &mut rest, "latency monitor", latency);
    latency_monitor(paint, place, status);
}

fn parameters(paint: &mut Paint, area: Rect, model: &Model, status: &Status) {
    let mut rest = area;
    let height = (CONFIG_ROWS + 1).min(area.height * 3 / 5);
    let title = match status.dialect().has_config() {
        true if model.node > 0 => "CONFIG, only shown",
        true => "CONFIG",
        false => "settings from the server's start",
    };
    let place = section(paint, &mut rest, title, height);
    config_list(paint, place, model, status);
    let height = rest.height;
    let place = section(paint, &mut rest, "figures", height);
    server_figures::draw(paint, place, status);
}

/// Removes a section of `height` rows from the top of `rest` and draws its heading in the first row. Returns the
/// remaining rows of the section.
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

/// Draws the entries of the slow log, the newest first.
fn slow_log(paint: &mut Paint, area: Rect, reading: &Reading) {
    let mut entries = reading.events().rev().filter(|event| event.what.name() == "slowlog").peekable();
    if let Some(status) = reading.status().filter(|status| !status.body.dialect().has_slow_log()) {
        paint.text(row(area, 0), &status.body.without("slow log"), Ink::Faint);
        return;
    }
    if entries.peek().is_none() {
        let threshold = reading.status().and_then(|s| s.body.config.get("slowlog-log-slower-than"));
        let text = match threshold.and_then(|us| us.parse::<i64>().ok()) {
            Some(us) if us < 0 => "off (slowlog-log-slower-than -1)".to_owned(),
            Some(us) => {
                let longest = units::latency(us.unsigned_abs().saturating_mul(1000));
                format!("no command took longer than {longest} in the session")
            }
            None => "nothing in the session".to_owned(),
        };
        paint.text(row(area, 0), &text, Ink::Faint);
    }
    for (n, event) in entries.take(area.height.into()).enumerate() {
        let line = row(area, n as u16);
        let x = paint.text(line, &format!("{} ", reading.timeline.time_text(event.t_s)), Ink::Faint);
        paint.text(from_column(line, x), &event.what.to_string(), Ink::Text);
    }
}

/// Draws the last event of each kind from the latency monitor, the longest first.
pub fn latency_monitor(paint: &mut Paint, area: Rect, status: &Status) {
    let mut events: Vec<_> = status.latency_events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.max_ms));
    if events.is_empty() {
        let is_off = status.config.get("latency-monitor-threshold").is_some_and(|ms| ms == "0");
        let text = match () {
            () if !status.dialect().has_slow_log() => status.without("latency monitor"),
            () if is_off => "off (latency-monitor-threshold 0)".to_owned(),
            () => "nothing".to_owned(),
        };
        paint.text(row(area, 0), &text, Ink::Faint);
    }
    for (n, event) in events.into_iter().take(area.height.into()).enumerate() {
        let age = event.age_s.map_or_else(String::new, |s| {
            format!("  {} ago", units::elapsed(s.saturating_mul(1_000_000_000)))
        });
        let last = format!("{} ms", event.last_ms);
        let max = format!("{} ms", event.max_ms);
        let parts = [
            (event.name.as_str(), Ink::Strong),
            ("  last ", Ink::Faint),
            (&last, Ink::Text),
            ("  max ", Ink::Faint),
            (&max, Ink::Text),
            (&age, Ink::Faint),
        ];
        paint.parts(row(area, n as u16), &parts);
    }
}

/// The width of the names, with the pointer before each name and a blank after it.
const CONFIG_NAME: u16 = 28;

/// The number of rows for all parameters.
pub const CONFIG_ROWS: u16 = PARAMETERS.len() as u16;

/// Draws the list of parameters. If not all parameters fit, the part around the selected parameter is drawn.
pub fn config_list(paint: &mut Paint, area: Rect, model: &Model, status: &Status) {
    if !status.dialect().has_config() {
        return memcached_settings(paint, area, status);
    }
    let glyphs = paint.glyphs();
    let can_turn = can_turn(model);
    let selected = model.config.selected();
    let at = PARAMETERS.iter().position(|parameter| parameter == selected).unwrap_or(0);
    for (y, n) in around(at, PARAMETERS.len(), area.height).enumerate() {
        let (line, parameter) = (row(area, y as u16), &PARAMETERS[n]);
        let is_selected = can_turn && n == at;
        let ink = if is_selected { Ink::Selected } else { Ink::Text };
        if is_selected {
            paint.dot(line.x, line.y, glyphs.pointer, Ink::Selected);
        }
        let names = Rect { x: line.x + 2, width: CONFIG_NAME.min(line.width).saturating_sub(2), ..line };
        paint.text(names, parameter.name, ink);
        let values = from_column(line, line.x + CONFIG_NAME);
        match model.entry(Purpose::Parameter).filter(|_| is_selected) {
            Some(entry) => drop(input(paint, values, entry)),
            None => {
                let value = value(status, parameter.name);
                let ink = if value == NONE { Ink::Faint } else { ink };
                paint.text(values, &value, ink);
            }
        }
    }
}

/// Draws the settings of a memcached server, which cannot be changed.
fn memcached_settings(paint: &mut Paint, area: Rect, status: &Status) {
    if status.config.is_empty() {
        let text = match status.dialect().has_keys() {
            true => "memcached refused stats settings".to_owned(),
            false => status.without("settings to show"),
        };
        paint.text(row(area, 0), &text, Ink::Faint);
    }
    for (y, (name, value)) in (0..area.height).zip(status.config.iter()) {
        let line = row(area, y);
        paint.text(Rect { width: CONFIG_NAME.min(line.width), ..line }, name, Ink::Text);
        let value = match (name.as_str(), value.parse::<u64>()) {
            ("maxbytes" | "item_size_max", Ok(bytes)) => units::bytes(bytes),
            _ => value.clone(),
        };
        paint.text(from_column(line, line.x + CONFIG_NAME), &value, Ink::Text);
    }
}

fn can_turn(model: &Model) -> bool {
    model.node == 0 && model.has_parameters() && model.view == View::Live
}

/// Returns the value of a parameter that the server reported, with bytes in a suitable unit.
fn value(status: &Status, name: &str) -> String {
    let Some(value) = status.config.get(name) else { return NONE.to_owned() };
    match value.parse::<u64>() {
        Ok(bytes) if name == "maxmemory" && bytes > 0 => units::bytes(bytes),
        _ => value_words(value).to_owned(),
    }
}
