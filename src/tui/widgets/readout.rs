//! Draws the measurement as a single line, for a terminal that is too small for charts.
//!
//! ```text
//! ● 121 k/s  p50 312 µs  p99 910 µs  max 7.70 ms  ping 88 µs
//! ```

use ratatui::layout::Rect;

use super::figures::{NONE, ping_figure};
use crate::{
    app::Model,
    session::timeline::{Level, Reading},
    tui::{Ink, Paint, from_column},
    units,
};

/// Draws one line: the state of the load, its throughput, and its latency. Figures that do not fit are left out.
pub fn line(paint: &mut Paint, area: Rect, model: &Model) {
    let glyphs = paint.glyphs();
    let reading = model.shown();
    let (state, ink) = match (reading.outage(), model.in_force().load) {
        (Some(_), _) => (format!("{} unreachable", glyphs.off), Ink::Bad),
        (None, true) => (format!("{} {}", glyphs.on, throughput(&reading)), Ink::Good),
        (None, false) => (format!("{} load off", glyphs.off), Ink::Text),
    };
    let mut figures = vec![state];
    figures.extend(model.findings().into_iter().map(|finding| finding.short));
    figures.extend(Level::ALL.into_iter().filter_map(|level| known(&reading, level)));
    let ping = ping_figure(Level::P50, &reading.ping().now, reading.pings_now());
    figures.extend((ping != NONE).then(|| format!("ping {ping}")));
    let mut rest = area;
    for (n, figure) in figures.iter().enumerate() {
        let fits = figure.chars().count() <= rest.width.into();
        if n > 0 && !fits {
            continue;
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
