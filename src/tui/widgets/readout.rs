//! Draws the screen on a terminal that is too small for charts: as numbers, or on the smallest terminals as a
//! single line.
//!
//! A sparkline shows a quantity over time in one row, with its range at the right.
//!
//! ```text
//!   p50 583 µs   ▂▂▂▂▂▂▁▂▅▅▅▅▅▅▆▅▅   280 µs–1.1 ms
//! ```

use std::sync::Arc;

use ratatui::layout::Rect;

use super::{
    ChartContext, cursor,
    figures::{NONE, about, about_count, figure, ping_figure},
    header, knobs, status,
};
use crate::{
    app::{AxisScale, Model, Reachability, Subject, ValueAxis},
    gauge::Gauge,
    session::timeline::{Level, LoadCell, Reading, ServerCell},
    tui::{Ink, Paint, from_column, layout::ScreenPlan, row, wrapped},
    units,
};

/// Draws one line: the state of the load, its throughput, and its latency. Figures that do not fit are left out.
pub fn line(paint: &mut Paint, area: Rect, model: &Model) {
    let glyphs = paint.glyphs();
    let (state, ink) = match (model.reachability(), model.in_force().load) {
        (Reachability::Down { .. }, _) => (format!("{} unreachable", glyphs.off), Ink::Bad),
        (_, true) => (format!("{} {}", glyphs.on, throughput(&model.shown())), Ink::Good),
        (_, false) => (format!("{} load off", glyphs.off), Ink::Text),
    };
    let reading = model.shown();
    let mut figures = vec![state];
    figures.extend(model.findings().into_iter().map(|finding| finding.short));
    figures.extend(Level::ALL.into_iter().filter_map(|level| known(&reading, level)));
    let ping = ping_figure(Level::P50, &reading.ping().now, reading.pings_now());
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
    let ns = level.of(&reading.service().now)?;
    Some(format!("{} {}", level.name(), units::latency(ns)))
}

fn throughput(reading: &Reading) -> String {
    reading.ops_per_s().map_or_else(|| NONE.to_owned(), units::rate)
}

/// Draws sparklines of the throughput and two percentiles, then other numbers in two columns, the status sentence and
/// the selected knob. If there is too little room, the least important parts are left out.
pub fn numbers(paint: &mut Paint, plan: &ScreenPlan, model: &Model) {
    let (area, reading) = (plan.area, model.shown());
    header::draw(paint, row(area, 0), model, &reading);
    let lanes = ChartContext::new(&reading, plan.columns, model);
    let recent = reading.recent(lanes.measure());
    // One second has too few pings for most percentiles, so their figures cover a minute.
    let is_ping = lanes.subject == Subject::Server;
    let latency = if is_ping { &recent.minute } else { &recent.now };
    let (first, second) = if is_ping { (Level::P50, Level::Max) } else { (Level::P50, Level::P99) };
    // Four rows are for the header, the status, the knob and the keys.
    let room = area.height.saturating_sub(4);
    let lines: &[Level] = if room >= ROOM_FOR_LINES { &[first, second] } else { &[] };
    rate_line(paint, row(area, 1), &lanes);
    for (n, level) in (2..).zip(lines) {
        let now = match (lanes.subject, level) {
            (Subject::Load, level) => figure(level.of(latency)),
            (Subject::Server, Level::P50) => ping_figure(*level, &recent.now, reading.pings_now()),
            (Subject::Server, level) => ping_figure(*level, latency, reading.pings_minute()),
        };
        latency_line(paint, row(area, n), &lanes, *level, &now);
    }
    let mut y = 2 + lines.len() as u16;
    let others = Level::ALL.into_iter().filter(|level| !lines.contains(level));
    let figures = others.map(|level| (level.name(), figure(level.of(latency))));
    let last = match lanes.subject {
        Subject::Load => ("ping", ping_figure(Level::P50, &reading.ping().now, reading.pings_now())),
        Subject::Server => {
            let cpu = reading.status().and_then(|status| status.body.text_of(Gauge::Cpu));
            ("cpu", cpu.unwrap_or_else(|| NONE.to_owned()))
        }
    };
    let figures: Vec<_> = figures.chain([last]).collect();
    for pair in figures.chunks(2).take((room + 2).saturating_sub(y).into()) {
        for ((name, text), x) in pair.iter().zip([0, area.width / 2]) {
            let cell = Rect { x: area.x + x, width: area.width / 2, ..row(area, y) };
            paint.parts(cell, &[(&format!(" {name:<6}"), Ink::Faint), (&format!("{text:>8}"), Ink::Text)]);
        }
        y += 1;
    }
    let width = usize::from(area.width.saturating_sub(2));
    let (text, ink) = frozen(model, &lanes).unwrap_or_else(|| status::sentence(model, width));
    for (y, line) in (y..area.height.saturating_sub(2)).zip(wrapped(&text, width)) {
        paint.text(row(area, y), &format!(" {line}"), ink);
    }
    knobs::lines(paint, row(area, area.height - 2), model);
    header::footer(paint, row(area, area.height - 1), model);
}

/// The minimum number of rows for sparklines of two percentiles.
const ROOM_FOR_LINES: u16 = 6;

fn rate_line(paint: &mut Paint, line: Rect, lanes: &ChartContext) {
    let rate = |cell: &Option<LoadCell>| cell.as_ref().and_then(LoadCell::ops_per_s);
    let of_server = |cell: &Option<Arc<ServerCell>>| cell.as_ref()?.commands.all_per_s();
    let (now, values) = match lanes.subject {
        Subject::Load => (throughput(lanes.reading), lanes.load.iter().map(rate).collect()),
        Subject::Server => {
            let values: Vec<_> = lanes.server.iter().map(of_server).collect();
            let now = values.get(lanes.column_shown()).copied().flatten();
            (now.map_or_else(|| NONE.to_owned(), units::rate), values)
        }
    };
    let sparkline = Sparkline {
        label: &format!(" {now:>8}"),
        ink: Ink::Throughput,
        scale: AxisScale::Linear,
        values,
        written: about_count,
    };
    sparkline.draw(paint, line, lanes.plot(line));
    lanes.cursor_mark(paint, line);
}

fn latency_line(paint: &mut Paint, line: Rect, lanes: &ChartContext, level: Level, now: &str) {
    let values = lanes.latency.iter().map(|column| Some(column.as_ref()?.get(level)? as f64));
    let sparkline = Sparkline {
        label: &match (lanes.subject, level) {
            (Subject::Server, Level::P50) => format!(" ping {now}"),
            _ => format!(" {} {now}", level.name()),
        },
        ink: Ink::Level(level),
        scale: AxisScale::Log,
        values: values.collect(),
        written: about,
    };
    sparkline.draw(paint, line, lanes.plot(line));
    lanes.cursor_mark(paint, line);
}

/// Returns the values at the cursor of a frozen view, unless a message is shown.
fn frozen(model: &Model, lanes: &ChartContext) -> Option<(String, Ink)> {
    if model.cursor_s().is_none() || model.message().is_some() {
        return None;
    }
    let pieces = cursor::event_texts(lanes).into_iter().chain(cursor::figures(lanes));
    let texts: Vec<_> = pieces.map(|(text, _)| text).collect();
    Some((texts.join(", "), Ink::Strong))
}

/// A sparkline: a row of bars.
pub struct Sparkline<'a> {
    /// The label before the bars: the name and the present value.
    pub label: &'a str,
    /// The ink of the bars.
    pub ink: Ink,
    /// Whether the range is linear or logarithmic.
    pub scale: AxisScale,
    /// A value for each column.
    pub values: Vec<Option<f64>>,
    /// Returns the text for an end of the range.
    pub written: fn(f64) -> String,
}

/// The share of the values that the range of a sparkline always contains. The range also contains the highest
/// value, if this value is at most `FAR` times the 95th percentile. Values above the range have full, bold
/// bars.
const MOST: f64 = 0.95;
const FAR: f64 = 4.0;
/// The minimum ratio between the ends of the range. In a smaller range, noise would look large.
const LEAST: f64 = 1.25;

impl Sparkline<'_> {
    /// Draws the sparkline in `plot`, with the label at its left and the range at its right.
    pub fn draw(&self, paint: &mut Paint, line: Rect, plot: Rect) {
        paint.text(Rect { width: plot.x.saturating_sub(line.x), ..row(line, 0) }, self.label, Ink::Strong);
        let Some(axis) = self.range() else { return };
        let bars = paint.glyphs().bars;
        for (x, value) in (plot.left()..plot.right()).zip(&self.values) {
            let Some(value) = value else { continue };
            let step = (axis.share(*value) * 8.0).clamp(0.0, 7.0) as usize;
            paint.dot(x, plot.y, bars[step], if *value > axis.high { Ink::Strong } else { self.ink });
        }
        let range = joined(&(self.written)(axis.low), &(self.written)(axis.high));
        let place = Rect { x: plot.right(), width: line.right().saturating_sub(plot.right() + 1), ..plot };
        paint.right(place, &range, Ink::Faint);
    }

    /// Returns the range of the sparkline, which contains most values.
    fn range(&self) -> Option<ValueAxis> {
        let mut values: Vec<_> = self.values.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        let low = *values.first()?;
        let most = values[(MOST * (values.len() - 1) as f64) as usize];
        let high = values.last().copied().filter(|highest| *highest <= most * FAR).unwrap_or(most);
        let middle = (low * high).sqrt();
        let (low, high) =
            if high < low * LEAST { (middle / LEAST.sqrt(), middle * LEAST.sqrt()) } else { (low, high) };
        (high > low).then_some(ValueAxis { low, high, scale: self.scale })
    }
}

/// Returns a range as text. A common unit is written once: `60–81 k`, but `280 µs–1.1 ms`.
fn joined(low: &str, high: &str) -> String {
    let number = match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => low,
    };
    format!("{number}–{high}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_a_unit_once() {
        assert_eq!([joined("60 k", "81 k"), joined("950", "1.2 k")], ["60–81 k", "950–1.2 k"]);
    }

    fn range(values: &[f64]) -> Option<(f64, f64)> {
        let values = values.iter().map(|value| Some(*value)).chain([None]).collect();
        let line = Sparkline {
            label: "",
            ink: Ink::Text,
            scale: AxisScale::Log,
            values,
            written: |value| value.to_string(),
        };
        line.range().map(|axis| (axis.low, axis.high))
    }

    #[test]
    fn a_range_contains_most_values_and_is_wide_enough_to_keep_noise_small() {
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[0.0, 0.0]), None);
        assert_eq!(range(&[200.0, 100.0, 400.0]), Some((100.0, 400.0)));
        assert_eq!(range(&[200.0, 100.0, 4000.0]), Some((100.0, 200.0)));
        let (low, high) = range(&[100.0, 101.0]).unwrap();
        assert!((high / low - LEAST).abs() < 1e-9 && low < 100.0 && high > 101.0);
    }
}
