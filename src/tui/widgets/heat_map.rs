//! How many requests took how long: time across, latency up on a logarithmic scale, density as a step of the theme's
//! ramp. One request alone in its cell is drawn, however full the others are.
//!
//! ```text
//!  10 ms ┤         ░               ░                requests a cell
//!   1 ms ┤░░▒░░░░░▒▓░░░░░░░▒░▒▒▒▒▒▒▓▒▒▒▒           1 ░▒▓█▓█ 10 k
//!        ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓           longest 12.1 ms
//! ```

use ratatui::layout::Rect;

use super::{
    Lanes,
    figures::{clock, decade},
};
use crate::{
    session::timeline::{Heat, Level, Measure},
    tui::{
        paint::{Paint, row},
        scale::Bins,
        theme::{Ink, ramp},
    },
    units,
};

/// Draws the heading, the map and its legend.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    if area.height < 2 {
        return;
    }
    let columns = lanes.window.heat();
    let from_due = columns.iter().flatten().any(Heat::is_open_loop);
    let title = if from_due { "response time, from when each request was due" } else { "service time" };
    lanes.heading(paint, row(area, 0), title, None);
    let map = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let plot = lanes.plot(map);
    let filled = columns.iter().flatten().flat_map(|heat| filled(heat).map(|(bin, _)| bin));
    let Some(bins) = Bins::covering(filled, Heat::A_DECADE, map.height) else {
        let middle = Rect { y: plot.y + plot.height / 2, height: 1, ..plot };
        paint.text(middle, "  no replies in this stretch", Ink::Faint);
        return;
    };
    axis(paint, map, lanes, bins);
    let cells: Vec<_> = columns.iter().map(|column| column.as_ref().map(|heat| rows(heat, bins))).collect();
    let densest = cells.iter().flatten().flatten().copied().max().unwrap_or(0);
    let top = round_top(densest);
    for (x, column) in (plot.left()..plot.right()).zip(&cells) {
        for (up, count) in column.iter().flatten().enumerate().filter(|(_, count)| **count > 0) {
            paint.shade(x, plot.bottom() - 1 - up as u16, step(*count, top));
        }
    }
    lanes.lines(paint, plot);
    legend(paint, map, lanes, top);
}

fn filled(heat: &Heat) -> impl Iterator<Item = (usize, u64)> {
    heat.counts().iter().copied().enumerate().filter(|(_, count)| *count > 0)
}

/// The counts of a column by row, the lowest first.
fn rows(heat: &Heat, bins: Bins) -> Vec<u64> {
    let mut rows = vec![0; bins.rows.into()];
    filled(heat).for_each(|(bin, count)| rows[usize::from(bins.row(bin))] += count);
    rows
}

/// The power of ten that no cell is above, at least ten: a scale that stays while the load does.
fn round_top(densest: u64) -> u64 {
    10_u64.saturating_pow(densest.saturating_sub(1).max(1).ilog10() + 1)
}

/// The step of the ramp of a cell, on a logarithmic scale from 1 to `top`.
fn step(count: u64, top: u64) -> usize {
    let share = (count.max(1) as f64).log10() / (top as f64).log10();
    ((share * ramp::STEPS as f64) as usize).min(ramp::STEPS - 1)
}

fn axis(paint: &mut Paint, map: Rect, lanes: &Lanes, bins: Bins) {
    let glyphs = paint.glyphs();
    let x = lanes.plot(map).x.saturating_sub(1);
    (map.top()..map.bottom()).for_each(|y| paint.dot(x, y, glyphs.vertical, Ink::Faint));
    let mut above = None;
    for (bin, ns) in Heat::decades().filter(|(bin, _)| bins.holds(*bin)) {
        let y = map.bottom() - 1 - bins.row(bin);
        if above == Some(y) {
            continue;
        }
        above = Some(y);
        let label = Rect { x: map.x, y, width: x.saturating_sub(map.x), height: 1 };
        paint.right(label, &decade(ns), Ink::Faint);
        paint.dot(x, y, glyphs.tick, Ink::Faint);
    }
}

/// What the steps mean, and the longest of all, where the figures of other charts stand.
fn legend(paint: &mut Paint, map: Rect, lanes: &Lanes, top: u64) {
    let place = lanes.figures(map);
    if place.width < ramp::STEPS as u16 + 8 {
        return;
    }
    paint.right(row(place, 0), "requests a cell", Ink::Faint);
    let most = units::count(top as f64).replace(".00", "").replace(".0", "");
    let line = row(place, 1);
    paint.right(line, &most, Ink::Faint);
    let end = line.right().saturating_sub(most.chars().count() as u16 + 1);
    for step in 0..ramp::STEPS as u16 {
        paint.shade(end - ramp::STEPS as u16 + step, line.y, step.into());
    }
    paint.right(
        Rect { width: (end - line.x).saturating_sub(ramp::STEPS as u16 + 1), ..line },
        "1",
        Ink::Faint,
    );
    let measures = [Measure::Response, Measure::Service];
    let longest = |measure| {
        let columns = lanes.levels(measure).iter().enumerate();
        let known = columns.filter_map(|(n, column)| Some((n, column.as_ref()?.get(Level::Max)?)));
        known.max_by_key(|(_, ns)| *ns)
    };
    let Some((column, ns)) = measures.into_iter().filter_map(longest).max_by_key(|(_, ns)| *ns) else {
        return;
    };
    paint.right(row(place, 2), &format!("longest {}", units::latency(ns)), Ink::Text);
    let at = clock(lanes.axis.start_s(column as u16));
    paint.right(row(place, 3), &format!("at {at}"), Ink::Faint);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_the_first_step_and_the_top_is_round() {
        assert_eq!([0, 1, 10, 11, 24_000].map(round_top), [10, 10, 10, 100, 100_000]);
        assert_eq!((step(1, 100_000), step(100_000, 100_000), step(1, 10)), (0, ramp::STEPS - 1, 0));
        let steps: Vec<_> = (0..5).map(|n| step(10_u64.pow(n), 100_000)).collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    }
}
