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
    app::{Spread, ValueAxis},
    tui::{Dots, Ink, Paint, row},
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

/// Round values and their rows from the bottom, no two in one row.
pub fn ticks(axis: &ValueAxis, rows: u16) -> Vec<(u16, f64)> {
    match axis.spread {
        Spread::Linear => placed(axis, rows, linear_ticks(axis, rows)),
        Spread::Log => log_ticks(axis, rows),
    }
}

/// Those of these values that have a row of their own, the first before the others.
fn placed(axis: &ValueAxis, rows: u16, values: Vec<f64>) -> Vec<(u16, f64)> {
    let mut ticks: Vec<(u16, f64)> = Vec::new();
    for value in values {
        let place = axis.share(value) * f64::from(rows);
        let row = place as u16;
        if place >= 0.0 && row < rows && ticks.iter().all(|(taken, _)| *taken != row) {
            ticks.push((row, value));
        }
    }
    ticks
}

/// The round steps of a decade, from all to the roundest alone.
const STEPS: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];

/// Round values on a logarithmic axis: 1, 2 and 5 of each decade, and where these have not each a row of its own, 1 and 3, or
/// 1 alone: a label that is missing from one decade only would make the axis look uneven. A short axis has what there is
/// room for.
fn log_ticks(axis: &ValueAxis, rows: u16) -> Vec<(u16, f64)> {
    let powers = axis.low.log10().floor() as i32..=axis.high.log10().floor() as i32;
    let of_step = |step: &f64| {
        let step = *step;
        powers.clone().map(move |power| step * 10_f64.powi(power))
    };
    let of_steps = |steps: &[f64]| -> Vec<f64> { steps.iter().flat_map(of_step).collect() };
    let all_of = |steps: &[f64]| {
        let values = of_steps(steps);
        let on_axis = values.iter().filter(|value| (0.0..1.0).contains(&axis.share(**value))).count();
        Some(placed(axis, rows, values)).filter(|ticks| ticks.len() == on_axis && on_axis > 1)
    };
    STEPS
        .iter()
        .find_map(|steps| all_of(steps))
        .unwrap_or_else(|| placed(axis, rows, of_steps(&[1.0, 5.0, 2.0])))
}

/// The least labels of a linear axis: one in two rows, within these.
const LEAST_LABELS: (u16, u16) = (2, 4);

/// Round values on a linear axis, 1, 2 or 5 of a power of ten apart.
fn linear_ticks(axis: &ValueAxis, rows: u16) -> Vec<f64> {
    let least = f64::from((rows / 2).clamp(LEAST_LABELS.0, LEAST_LABELS.1));
    let power = (axis.high - axis.low).log10().floor() as i32;
    let steps =
        [power, power - 1].into_iter().flat_map(|power| [5.0, 2.0, 1.0].map(|n| n * 10_f64.powi(power)));
    // From the first multiple on the axis to the last.
    let multiples = |step: f64| ((axis.low / step - 1e-9).ceil(), (axis.high / step - 1e-9).floor());
    let is_enough = |step: &f64| multiples(*step).1 - multiples(*step).0 + 1.0 >= least;
    let Some(step) = steps.into_iter().find(is_enough) else { return Vec::new() };
    let (first, last) = multiples(step);
    (0..=(last - first) as u32).map(|n| (first + f64::from(n)) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(low: f64, high: f64, rows: u16, spread: Spread) -> Vec<f64> {
        let mut values: Vec<_> =
            ticks(&ValueAxis { low, high, spread }, rows).into_iter().map(|(_, v)| v).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn round_values_stand_in_rows_of_their_own_the_roundest_first() {
        let labelled = |low, high, rows| labelled(low, high, rows, Spread::Log);
        assert_eq!(labelled(40.0, 12e3, 12), [50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 10e3]);
        assert_eq!(labelled(40.0, 12e3, 3), [100.0, 1e3, 10e3]);
        assert_eq!(labelled(150.0, 150e3, 7), [300.0, 1e3, 3e3, 10e3, 30e3, 100e3]);
        assert!(labelled(2.1, 4.9, 5).is_empty());
        assert!(labelled(1.0, 1e6, 0).is_empty());
    }

    #[test]
    fn a_linear_axis_has_round_labels_an_equal_step_apart() {
        let labelled = |low, high, rows| labelled(low, high, rows, Spread::Linear);
        assert_eq!(labelled(0.0, 170e3, 4), [0.0, 100e3]);
        assert_eq!(labelled(118e3, 205e3, 4), [150e3, 200e3]);
        assert_eq!(labelled(118e3, 205e3, 12), [120e3, 140e3, 160e3, 180e3, 200e3]);
        assert!(labelled(1.0, 2.0, 0).is_empty());
        // Wherever it lies, two values tell how long it is.
        for n in 0..500 {
            let low = f64::from(n) * 997.0;
            for (rows, span) in [(2, 0.9), (4, 0.5), (6, 0.77), (20, 1.3)] {
                let labels = labelled(low, low + (low + 500.0) * span, rows);
                assert!(!labels.is_empty() && (rows < 4 || labels.len() >= 2), "{low} {rows}: {labels:?}");
            }
        }
    }
}
