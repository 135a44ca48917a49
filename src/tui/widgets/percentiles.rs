//! The table of percentiles: a row for each, a column for each distribution.
//!
//! ```text
//!            service response      GET      SET
//!  p50        312 µs   330 µs   310 µs   341 µs
//!  p99.9     1.90 ms  2.40 ms  1.88 ms        –
//! ```
//! A percentile with fewer than ten samples above it is `–`, never a guess.

use ratatui::layout::Rect;

use super::{
    curve::Series,
    figures::{NONE, figure},
    table::{Column, Table, fitting},
};
use crate::{
    stats::{Latency, PERCENTILES},
    tui::{Ink, Paint, cut},
    units,
};

/// `samples` and a blank before it.
const NAME: u16 = 9;
/// `8.85 ms`, `response`, and a blank before it.
const COLUMN: u16 = 9;
/// The heading, the percentiles; shortest, mean, longest, samples.
pub const ROWS: u16 = 1 + PERCENTILES.len() as u16 + 4;

/// How wide a table of so many columns is.
pub fn width(columns: usize) -> u16 {
    NAME + COLUMN * columns as u16 + 1
}

/// Draws the columns that fit, the first of them first.
pub fn draw(paint: &mut Paint, area: Rect, series: &[Series]) {
    let fit = fitting(area.width.saturating_sub(NAME), series.iter().map(|_| COLUMN));
    let figures: Vec<_> = series.iter().map(|one| figures(&one.latency)).collect();
    // The names in the first column, then a distribution in each.
    let distributions = (1..=fit).map(|n| Column::right(n, COLUMN));
    let table = Table::new(area, std::iter::once(Column::left(0, NAME, 1)).chain(distributions));
    table.write(paint, 0, |key, _| match key {
        0 => (String::new(), Ink::Text),
        n => (cut(&series[n - 1].name, usize::from(COLUMN) - 1), series[n - 1].ink),
    });
    for (row, name) in names().into_iter().enumerate() {
        table.write(paint, row as u16 + 1, |key, _| match key {
            0 => (name.to_owned(), Ink::Text),
            n => {
                let text = &figures[n - 1][row];
                let is_faint = text == NONE || series[n - 1].is_ghost;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    #[test]
    fn every_row_has_its_figure_and_too_few_samples_none() {
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
}
