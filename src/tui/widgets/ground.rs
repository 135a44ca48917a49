//! The ground of the latency chart: how many requests took how long, the more the denser. One request alone in its cell
//! is drawn, however full the others are; what took longer than the axis goes is in the top row.

use ratatui::layout::Rect;

use super::Lanes;
use crate::{
    app::ValueAxis,
    session::timeline::Heat,
    tui::{Paint, theme::ground::STEPS},
};

/// Draws it behind all that stands in `plot`.
pub fn draw(paint: &mut Paint, plot: Rect, lanes: &Lanes, axis: &ValueAxis) {
    let cells = |heat: &Option<Heat>| heat.as_ref().map(|heat| rows(heat, axis, plot.height));
    let cells: Vec<_> = lanes.heat.iter().map(cells).collect();
    let top = round_top(cells.iter().flatten().flatten().copied().max().unwrap_or(0));
    for (x, column) in (plot.left()..plot.right()).zip(&cells) {
        for (y, count) in (plot.top()..plot.bottom()).rev().zip(column.iter().flatten()) {
            if *count > 0 {
                paint.ground(x, y, step(*count, top));
            }
        }
    }
}

/// The counts of a column by row, the lowest first.
fn rows(heat: &Heat, axis: &ValueAxis, rows: u16) -> Vec<u64> {
    let counts = heat.counts();
    let border = |row: u16| match row {
        0 => 0,
        row if row == rows => counts.len(),
        row => Heat::bin(axis.value(f64::from(row) / f64::from(rows))),
    };
    let count = |row: u16| match (border(row), border(row + 1)) {
        (from, to) if from < to => counts[from..to].iter().sum(),
        // Rows finer than the bins share one.
        (from, _) => counts[from],
    };
    (0..rows).map(count).collect()
}

/// The power of ten that no cell is above, at least ten: a scale that stays while the load does.
fn round_top(densest: u64) -> u64 {
    10_u64.saturating_pow(densest.saturating_sub(1).max(1).ilog10() + 1)
}

/// The step of a cell, on a logarithmic scale from 1 to `top`.
fn step(count: u64, top: u64) -> usize {
    let share = (count.max(1) as f64).log10() / (top as f64).log10();
    ((share * STEPS as f64) as usize).min(STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_the_first_step_and_the_top_is_round() {
        assert_eq!([0, 1, 10, 11, 24_000].map(round_top), [10, 10, 10, 100, 100_000]);
        assert_eq!((step(1, 100_000), step(100_000, 100_000), step(1, 10)), (0, STEPS - 1, 0));
        let steps: Vec<_> = (0..5).map(|n| step(10_u64.pow(n), 100_000)).collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    }
}
