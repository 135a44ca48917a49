//! What the connections of the current segment took to open.
//!
//! ```text
//!  1.21 k/s      p50     p99     max
//!  connect   45.0 µs  102 µs 1.20 ms
//!  greeting  88.0 µs  190 µs 1.90 ms
//! ```

use ratatui::layout::Rect;

use super::{
    figures::{figure, written},
    table::{Column, Table, fitting},
};
use crate::{
    session::{
        Interval,
        figures::{self, Row},
        timeline::Level,
    },
    stats::Latency,
    tui::{Ink, Paint},
};

/// `handshake`, and a blank behind it.
const NAME: u16 = 10;
/// `8.85 ms`, and a blank before it.
const FIGURE: u16 = 8;
/// The figures of a stage, the most needed first.
const LEVELS: [Level; 3] = [Level::P50, Level::P99, Level::Max];

/// How many rows there are.
pub fn rows(total: &Interval) -> u16 {
    1 + stages(total).count() as u16
}

fn stages(total: &Interval) -> impl Iterator<Item = (&'static str, &Latency)> {
    total.opening.stages().into_iter().filter(|(_, took)| !took.is_empty())
}

/// Draws how many open a second, and a row for each stage.
pub fn draw(paint: &mut Paint, area: Rect, total: &Interval) {
    let fit = fitting(area.width.saturating_sub(NAME), LEVELS.map(|_| FIGURE));
    let levels = (1..=fit).map(|n| Column::right(n, FIGURE));
    let table = Table::new(area, std::iter::once(Column::left(0, NAME, 1)).chain(levels));
    let pace = written(figures::OPENED_PER_S, &Row::of_interval(total)) + "/s";
    table.write(paint, 0, |key, _| match key {
        0 => (pace.clone(), Ink::Strong),
        n => (LEVELS[n - 1].name().to_owned(), Ink::Faint),
    });
    for (n, (name, took)) in stages(total).enumerate() {
        table.write(paint, n as u16 + 1, |key, _| match key {
            0 => (name.to_owned(), Ink::Text),
            n => (figure(LEVELS[n - 1].of(took)), Ink::Text),
        });
    }
}
