//! Draws latency distributions as a table, a curve and bars. The table has a row for each percentile and a
//! column for each distribution.
//!
//! ```text
//!            service response      GET      SET
//!  p50        312 µs   330 µs   310 µs   341 µs
//!  p99.9     1.90 ms  2.40 ms  1.88 ms        –
//! ```
//! A percentile with fewer than ten samples above it is shown as `–`.
//!
//! The curve shows the latency for each percentile, with a line for each distribution. The distance from 90 % to 99 %
//! on the horizontal axis is the same as from 99 % to 99.9 %.
//!
//! ```text
//!   10 ms ┤          ┊          ┊       ⣀⠤⠒ response
//!         │          ┊        ⣀⡠┊⠤⠤⠒⠒⠊⠉    GET
//!    1 ms ┤      ⣀⣀⡠⠤┊⠤⠒⠒⠉⠉⠉   ┊
//!         ┼──────────┊──────────┊──────────
//!         0 %       90 %       99 %     99.9 %
//! ```
//! A line ends when fewer than ten samples are left, because further points would be single requests.
//!
//! The bars show the distribution of service times. There is a bar for each range between two round values.
//!
//! ```text
//!    ≤200 µs ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 71 %
//!    ≤500 µs ▇▇▇▇▇ 22 %
//! ```
//! Two long bars with shorter bars between them mean that there are two kinds of requests. Percentiles do not show
//! these two kinds.

use std::borrow::Cow;

use ratatui::layout::Rect;

use super::{
    figures::{NONE, decade, figure},
    table::{ScreenTable, TableColumn, fitting},
    value_axis::{self, Height},
};
use crate::{
    app::ValueAxis,
    stats::{Band, Latency, PERCENTILES, curve, spectrum},
    tui::{Dots, Ink, Paint, cut, from_column, row},
    units,
};

/// The width of `samples` and a blank before it.
const NAME: u16 = 9;
/// The width of `8.85 ms` or `response`, and a blank before it.
const COLUMN: u16 = 9;
/// The number of rows of the table: heading, percentiles, minimum, maximum, mean and samples.
pub const ROWS: u16 = 1 + PERCENTILES.len() as u16 + 4;

/// Returns the width of a table with this many columns.
pub fn width(columns: usize) -> u16 {
    NAME + COLUMN * columns as u16 + 1
}

/// Draws the columns that fit, from the first one on.
pub fn draw_table(paint: &mut Paint, area: Rect, series: &[LatencySeries]) {
    let fit = fitting(area.width.saturating_sub(NAME), series.iter().map(|_| COLUMN));
    let figures: Vec<_> = series.iter().map(|one| figures(&one.latency)).collect();
    // The first column contains the names, and each other column a distribution.
    let distributions = (1..=fit).map(|n| TableColumn::right(n, COLUMN));
    let table = ScreenTable::new(area, std::iter::once(TableColumn::left(0, NAME, 1)).chain(distributions));
    table.write(paint, 0, |key, _| match key {
        0 => (String::new(), Ink::Text),
        n => (cut(&series[n - 1].name, usize::from(COLUMN) - 1), series[n - 1].ink),
    });
    for (row, name) in names().into_iter().enumerate() {
        table.write(paint, row as u16 + 1, |key, _| match key {
            0 => (name.to_owned(), Ink::Text),
            n => {
                let text = &figures[n - 1][row];
                let is_faint = text == NONE || series[n - 1].is_comparison;
                (text.clone(), if is_faint { Ink::Faint } else { Ink::Text })
            }
        });
    }
}

fn names() -> Vec<&'static str> {
    let percentiles = PERCENTILES.iter().map(|percentile| percentile.name);
    ["min"].into_iter().chain(percentiles).chain(["max", "mean", "samples"]).collect()
}

fn figures(latency: &Latency) -> Vec<String> {
    let known = |ns: u64| figure((!latency.is_empty()).then_some(ns));
    let percentiles = PERCENTILES.iter().map(|percentile| figure(latency.percentile(percentile.quantile)));
    let rest = [
        known(latency.max_ns()),
        known(latency.mean_ns().round() as u64),
        units::count(latency.count() as f64),
    ];
    [known(latency.min_ns())].into_iter().chain(percentiles).chain(rest).collect()
}

/// A distribution with its name.
pub struct LatencySeries<'a> {
    /// The name, such as `service` or `GET`.
    pub name: String,
    /// The character of the line on a screen without braille.
    pub letter: char,
    /// The ink of the line.
    pub ink: Ink,
    /// Whether the distribution is shown only for comparison, such as the baseline.
    pub is_comparison: bool,
    /// The distribution.
    pub latency: Cow<'a, Latency>,
}

/// The width of `100 µs` and a blank, left of the axis.
const GUTTER: u16 = 8;

/// Draws the axes and the lines, the first line on top.
pub fn draw_curve(paint: &mut Paint, area: Rect, series: &[LatencySeries]) {
    if area.height < 4 || area.width < GUTTER + 8 {
        return;
    }
    let plot = Rect { x: area.x + GUTTER, y: area.y, width: area.width - GUTTER, height: area.height - 2 };
    let most = series.iter().map(|one| one.latency.count()).max().unwrap_or(0);
    if most == 0 {
        paint.text(row(plot, plot.height / 2), "nothing measured in this period", Ink::Faint);
        return;
    }
    let nines = curve::nines_for(most);
    let dots = Dots::of(paint, plot);
    let steps = dots.columns().into();
    let curves: Vec<_> = series.iter().map(|one| one.latency.curve(nines, steps)).collect();
    let axis = axis(curves.iter().flatten().flatten().copied());
    value_axis::draw(paint, Rect { x: area.x, ..plot }, plot.x - 1, &axis, |ns| decade(ns.round() as u64));
    let height = |ns: &Option<u64>| ns.map(|ns| Height::of(ns.max(1) as f64, &axis, dots).dot(dots));
    let ends: Vec<_> = series
        .iter()
        .zip(&curves)
        .rev()
        .map(|(one, curve)| (one, line(paint, dots, one, curve.iter().map(height))))
        .collect();
    percentile_axis(paint, plot, nines);
    for (one, end) in ends.into_iter().rev() {
        if let Some((x, y)) = end {
            label(paint, plot, one, x, y);
        }
    }
}

/// Draws the line of a distribution. Returns the cell at the end of the line.
fn line(
    paint: &mut Paint,
    dots: Dots,
    series: &LatencySeries,
    heights: impl Iterator<Item = Option<u16>>,
) -> Option<(u16, u16)> {
    let mut before = None;
    let mut end = None;
    for (n, height) in (0..).zip(heights) {
        let Some(height) = height else { break };
        // A line for comparison is dashed: two of four dots are drawn.
        let is_gap = series.is_comparison && n % 4 > 1;
        let low = before.map_or(height, |before: u16| (before + 1).min(height));
        for up in low..=height {
            if !is_gap {
                dots.draw(paint, (n, up), series.letter, series.ink);
            }
            end = Some(dots.cell(n, up));
        }
        before = Some(height);
    }
    end
}

/// Writes the name of a line after the line's end. Without room there, writes the name in a row above or below.
fn label(paint: &mut Paint, plot: Rect, series: &LatencySeries, x: u16, y: u16) {
    let length = series.name.chars().count() as u16;
    let Some(last) = plot.right().checked_sub(length).filter(|last| *last > plot.x) else { return };
    let is_free = |(from, y): &(u16, u16)| {
        let inside = (plot.top()..plot.bottom()).contains(y);
        inside && (from - 1..from + length).all(|x| is_blank(paint, x, *y))
    };
    let above = |n| y.saturating_sub(n);
    let rows = [y, y + 1, above(1), y + 2, above(2), y + 3, above(3)];
    if let Some((x, y)) = rows.map(|y| ((x + 2).min(last), y)).into_iter().find(is_free) {
        paint.text(Rect { x, y, width: length, height: 1 }, &series.name, series.ink);
    }
}

/// Returns whether a cell contains nothing but the grid.
fn is_blank(paint: &Paint, x: u16, y: u16) -> bool {
    let grid = paint.glyphs().border_line;
    paint.at(x, y).is_some_and(|symbol| symbol == " " || symbol.starts_with(grid))
}

/// Returns the shortest axis between two round values that contains all values and is at least a decade long.
fn axis(values: impl Iterator<Item = u64>) -> ValueAxis {
    let values = values.map(|ns| ns.max(1) as f64);
    let (low, high) = values.fold((f64::MAX, 0.0_f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    if high == 0.0 {
        // Without values, the axis is from 10 µs to 10 ms.
        return value_axis::log_axis(10e3, 10e6);
    }
    let shortest = value_axis::log_axis(low, high);
    value_axis::log_axis(low, high.max(shortest.low * 10.0))
}

/// Draws the horizontal axis, with a mark and a label at each percentile: 90 %, 99 %, 99.9 % and so on.
fn percentile_axis(paint: &mut Paint, plot: Rect, nines: u32) {
    let glyphs = paint.glyphs();
    let y = plot.bottom();
    for x in plot.x - 1..plot.right() {
        paint.dot(x, y, glyphs.horizontal, Ink::Faint);
    }
    paint.dot(plot.x - 1, y, glyphs.origin, Ink::Faint);
    let labels = Rect { y: y + 1, height: 1, ..plot };
    let mut free_from = plot.x - 1;
    let half = curve::nines_of(0.5);
    let whole = (0..=nines).map(f64::from);
    let marks = whole.flat_map(|n| if n == 0.0 { vec![n, half] } else { vec![n] });
    for mark in marks {
        let share = mark / f64::from(nines);
        let x = (plot.x + (share * f64::from(plot.width)).round() as u16).min(plot.right() - 1);
        if mark > 0.0 && x + 1 < plot.right() {
            (plot.top()..=y).for_each(|y| {
                paint.dot_if_blank(x, y, glyphs.border_line, Ink::Faint);
            });
            paint.dot(x, y, glyphs.border, Ink::Faint);
        }
        let text = percentile(mark);
        let length = text.chars().count() as u16;
        let from = if mark == 0.0 { plot.x } else { x.saturating_sub(length / 2) };
        let from = from.min(labels.right().saturating_sub(length));
        if from > free_from || mark == 0.0 {
            paint.text(Rect { x: from, width: length, ..labels }, &text, Ink::Faint);
            free_from = from + length;
        }
    }
}

/// Returns a percentile as text, with as many decimals as needed: `50 %` or `99.9 %`.
fn percentile(nines: f64) -> String {
    let digits = (nines as usize).saturating_sub(2);
    format!("{:.*} %", digits, curve::quantile_at(nines) * 100.0)
}

/// The width of `≤500 µs` and two blanks.
const LABEL: u16 = 9;
/// The width of ` 0.05 %`.
const SHARE: u16 = 8;

/// Returns the distribution as at most this many bars.
pub fn bars(latency: &Latency, most: u16) -> Vec<Band> {
    spectrum(latency, most.into())
}

/// Draws the bars. The longest bar has the whole width.
pub fn draw_bars(paint: &mut Paint, area: Rect, bands: &[Band]) {
    if bands.is_empty() {
        paint.text(row(area, 0), "nothing measured yet", Ink::Faint);
    }
    let highest = bands.iter().map(|band| band.share).fold(0.0, f64::max);
    for (n, band) in bands.iter().enumerate() {
        draw_bar(paint, row(area, n as u16), band, highest);
    }
}

fn draw_bar(paint: &mut Paint, line: Rect, band: &Band, highest: f64) {
    let label = Rect { width: LABEL.min(line.width), ..line };
    let up_to = format!("≤{}", decade(band.up_to_ns));
    paint.right(Rect { width: label.width.saturating_sub(1), ..label }, &up_to, Ink::Text);
    let room = line.width.saturating_sub(LABEL + SHARE);
    let length = (band.share / highest * f64::from(room)).round() as u16;
    // A range with at least one request always has a visible bar.
    let length = if band.share > 0.0 { length.max(1) } else { 0 };
    let x = line.x + LABEL;
    let glyph = paint.glyphs().bars[6];
    (x..(x + length).min(line.right())).for_each(|x| paint.bar(x, line.y, glyph, Ink::Ping));
    let share = from_column(line, x + length + 1);
    let text = if band.share > 0.0 { units::percent(band.share) } else { String::new() };
    paint.text(share, &text, Ink::Faint);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    #[test]
    fn every_row_has_a_figure_except_for_percentiles_with_too_few_samples() {
        assert_eq!(
            (names().len(), figures(&Latency::default()).len()),
            (usize::from(ROWS) - 1, usize::from(ROWS) - 1)
        );
        let figures = figures(&repeated(1_000_000, 500));
        let of = |name| &figures[names().iter().position(|known| *known == name).unwrap()];
        assert_eq!(
            (of("p95").as_str(), of("p99").as_str(), of("max").as_str()),
            ("1.00 ms", NONE, "1.00 ms")
        );
        assert_eq!(of("samples"), "500");
    }

    #[test]
    fn the_axis_ends_at_round_values_and_is_at_least_a_decade_long() {
        // The ends are 2 % beyond the round values.
        let ends = |values: &[u64]| {
            let axis = axis(values.iter().copied());
            ((axis.low * 1.02).round() as u64, (axis.high / 1.02).round() as u64)
        };
        assert_eq!(ends(&[11_900, 24_000_000]), (10_000, 50_000_000));
        assert_eq!(ends(&[300_000, 310_000]), (200_000, 2_000_000));
        assert_eq!(ends(&[0]), (1, 10));
    }

    #[test]
    fn a_percentile_is_written_with_its_nines() {
        let texts = [0.0, curve::nines_of(0.5), 1.0, 2.0, 3.0, 4.0, 6.0].map(percentile);
        assert_eq!(texts, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.9999 %"]);
    }
}
