//! The vertical axis of a chart: round values at its left, where they stand.
//!
//! ```text
//!   2 ms┤
//!   1 ms┤
//!       │
//! 500 µs┤
//! ```

use ratatui::layout::Rect;

use crate::{
    app::ValueAxis,
    tui::{
        dots::Dots,
        paint::{Paint, row},
        theme::Ink,
    },
};

/// Where a value stands among the dots of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Height {
    /// Below the foot.
    Below,
    /// So many dots above the lowest.
    At(u16),
    /// Above the top.
    Above,
}

impl Height {
    /// That of `value` on `axis`.
    pub fn of(value: f64, axis: &ValueAxis, dots: Dots) -> Self {
        let place = axis.share(value) * f64::from(dots.rows());
        match () {
            () if place < 0.0 => Self::Below,
            () if place >= f64::from(dots.rows()) => Self::Above,
            () => Self::At(place as u16),
        }
    }

    /// The dot to draw: what is beyond stands at the edge.
    pub fn dot(self, dots: Dots) -> u16 {
        match self {
            Self::Below => 0,
            Self::At(up) => up,
            Self::Above => dots.rows().saturating_sub(1),
        }
    }
}

/// Draws the line and its labels, up to column `x` and from the left of `chart`.
pub fn draw(paint: &mut Paint, chart: Rect, x: u16, axis: &ValueAxis, label: impl Fn(f64) -> String) {
    let glyphs = paint.glyphs();
    (chart.top()..chart.bottom()).for_each(|y| paint.dot(x, y, glyphs.vertical, Ink::Faint));
    for (n, value) in ticks(axis, chart.height) {
        let line = row(chart, chart.height - 1 - n);
        paint.right(Rect { width: x.saturating_sub(chart.x), ..line }, &label(value), Ink::Faint);
        paint.dot(x, line.y, glyphs.tick, Ink::Faint);
    }
}

/// Round values and their rows from the bottom, no two in one row: 1, 2 and 5 of each decade, and where there are more
/// than rows those that come first in this order: 1, 5, 2.
fn ticks(axis: &ValueAxis, rows: u16) -> Vec<(u16, f64)> {
    let mut ticks: Vec<(u16, f64)> = Vec::new();
    let powers = axis.low.log10().floor() as i32..=axis.high.log10().floor() as i32;
    for step in [1.0, 5.0, 2.0] {
        for value in powers.clone().map(|power| step * 10_f64.powi(power)) {
            let place = axis.share(value) * f64::from(rows);
            let row = place as u16;
            let is_free = |ticks: &[(u16, f64)]| ticks.iter().all(|(taken, _)| *taken != row);
            if place >= 0.0 && row < rows && is_free(&ticks) {
                ticks.push((row, value));
            }
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Spread;

    fn labelled(low: f64, high: f64, rows: u16) -> Vec<f64> {
        let mut values: Vec<_> =
            ticks(&ValueAxis { low, high, spread: Spread::Log }, rows).into_iter().map(|(_, v)| v).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn round_values_stand_in_rows_of_their_own_the_roundest_first() {
        assert_eq!(labelled(40.0, 12e3, 12), [50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 10e3]);
        assert_eq!(labelled(40.0, 12e3, 3), [100.0, 1e3, 10e3]);
        assert!(labelled(2.1, 4.9, 5).is_empty());
        assert!(labelled(1.0, 1e6, 0).is_empty());
    }
}
