//! Screens too small for charts: numbers, and at the very least one line.

use ratatui::layout::Rect;

use super::{
    Lanes, cursor,
    figures::{NONE, figure, ping_figure},
    footer, header, knob_line, status,
};
use crate::{
    app::{Model, Reachability},
    session::timeline::{Level, LoadCell, Reading},
    tui::{
        layout::Columns,
        paint::{Paint, from_column, row, wrapped},
        scale::linear_top,
        theme::Ink,
    },
    units,
};

/// One line: whether there is load, how much, how fast; what does not fit is cut from the end.
pub fn line(paint: &mut Paint, area: Rect, model: &Model) {
    let glyphs = paint.glyphs();
    let (state, ink) = match (model.reachability(), model.in_force().load) {
        (Reachability::Down { .. }, _) => (format!("{} unreachable", glyphs.off), Ink::Bad),
        (_, true) => (format!("{} {}", glyphs.on, throughput(&model.shown())), Ink::Good),
        (_, false) => (format!("{} load off", glyphs.off), Ink::Text),
    };
    let reading = model.shown();
    let mut figures = vec![state];
    figures.extend(model.client_limit().map(|_| "client limit".to_owned()));
    figures.extend(Level::ALL.into_iter().filter_map(|level| known(&reading, level)));
    let ping = ping_figure(Level::P50, reading.ping().now(), reading.pings_now());
    figures.extend((ping != NONE).then(|| format!("ping {ping}")));
    let mut rest = area;
    for (n, figure) in figures.iter().enumerate() {
        let fits = figure.chars().count() <= rest.width.into();
        if n > 0 && !fits {
            break;
        }
        let x =
            paint.parts(rest, &[(figure.as_str(), if n == 0 { ink } else { Ink::Text }), ("  ", Ink::Text)]);
        rest = from_column(area, x);
    }
}

fn known(reading: &Reading, level: Level) -> Option<String> {
    let ns = level.of(reading.service().now())?;
    Some(format!("{} {}", level.name(), units::latency(ns)))
}

fn throughput(reading: &Reading) -> String {
    reading.ops_per_s().map_or_else(|| NONE.to_owned(), units::rate)
}

/// Numbers two by two, a line of throughput, the knob in hand; the parts that matter most first.
pub fn numbers(paint: &mut Paint, area: Rect, model: &Model) {
    let reading = model.shown();
    header::draw(paint, row(area, 0), model, &reading);
    let spark = row(area, 1);
    let label = format!(" {:>8} ", throughput(&reading));
    let x = paint.text(spark, &label, Ink::Strong);
    sparkline(paint, from_column(spark, x), model);
    let service = reading.service().now();
    let figures = [
        ("p50", Level::P50.of(service)),
        ("p90", Level::P90.of(service)),
        ("p99", Level::P99.of(service)),
        ("p99.9", Level::P999.of(service)),
        ("max", Level::Max.of(service)),
    ];
    let figures = figures.map(|(name, ns)| (name, figure(ns)));
    let ping = ("ping", ping_figure(Level::P50, reading.ping().now(), reading.pings_now()));
    // The last two rows belong to the knob and the keys.
    let rows = area.height.saturating_sub(4).min(3);
    for (n, (name, text)) in figures.into_iter().chain([ping]).enumerate().take(usize::from(rows) * 2) {
        let half = area.width / 2;
        let place = row(area, 2 + n as u16 / 2);
        let cell = Rect { x: area.x + n as u16 % 2 * half, width: half, ..place };
        paint.parts(cell, &[(&format!(" {name:<6}"), Ink::Faint), (&format!("{text:>8}"), Ink::Text)]);
    }
    let width = usize::from(area.width.saturating_sub(2));
    let (text, ink) = frozen(model, &reading, area.width).unwrap_or_else(|| status::sentence(model, width));
    for (n, line) in wrapped(&text, width).iter().enumerate().take(area.height.saturating_sub(7).into()) {
        paint.text(row(area, 5 + n as u16), &format!(" {line}"), ink);
    }
    knob_line::draw(paint, row(area, area.height - 2), model);
    footer::draw(paint, row(area, area.height - 1), model);
}

/// What the cursor of a frozen view reads, if nothing more pressing is to be said.
fn frozen(model: &Model, reading: &Reading, width: u16) -> Option<(String, Ink)> {
    if model.cursor_s().is_none() || model.message().is_some() {
        return None;
    }
    let lanes = Lanes::new(reading, Columns { gutter: 0, plot: width, name: 0, values: 0, value: 0 }, model);
    let pieces = cursor::happened(&lanes).into_iter().chain(cursor::figures(&lanes));
    let texts: Vec<_> = pieces.map(|(text, _)| text).collect();
    Some((texts.join(", "), Ink::Strong))
}

/// Throughput over time in one row.
fn sparkline(paint: &mut Paint, area: Rect, model: &Model) {
    let axis = model.axis(area.width.saturating_sub(1));
    let load = axis.window(model.timeline(), model.ends_s()).load();
    let values: Vec<_> = load.iter().map(|cell| cell.as_ref().and_then(LoadCell::ops_per_s)).collect();
    let top = linear_top(values.iter().flatten().copied().fold(0.0, f64::max));
    let bars = paint.glyphs().bars;
    for (x, value) in (area.x..).zip(values) {
        if model.cursor_s().is_some_and(|s| axis.column_ending(s) == Some(x - area.x)) {
            paint.dot(x, area.y, paint.glyphs().cursor_line, Ink::Selected);
        } else if let Some(value) = value {
            let step = (value / top * 7.0).round().clamp(0.0, 7.0) as usize;
            paint.dot(x, area.y, bars[step], Ink::Throughput);
        }
    }
}
