//! A quantity over time in one row, on its own range, with that beside it.
//!
//! ```text
//!   p50 583 µs   ▂▂▂▂▂▂▁▂▅▅▅▅▅▅▆▅▅   280 µs–1.1 ms
//! ```

use ratatui::layout::Rect;

use crate::{
    app::{Spread, ValueAxis},
    tui::{Ink, Paint, row},
};

/// A row of bars.
pub struct Sparkline<'a> {
    /// What stands before the bars: the name and the value now.
    pub label: &'a str,
    /// How the bars look.
    pub ink: Ink,
    /// How the values are spread over their range.
    pub spread: Spread,
    /// A value for each column.
    pub values: Vec<Option<f64>>,
    /// How the ends of the range are written.
    pub written: fn(f64) -> String,
}

/// This share of the values is in the range, and the others too unless they are so many times as high: their bars are full
/// and bold.
const MOST: f64 = 0.95;
const FAR: f64 = 4.0;
/// The least range, so that noise does not look like a mountain, as a factor.
const LEAST: f64 = 1.25;

impl Sparkline<'_> {
    /// Draws it: the label left of `plot`, the range right of it, up to the end of `line`.
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

    /// From the lowest value to most of them.
    fn range(&self) -> Option<ValueAxis> {
        let mut values: Vec<_> = self.values.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        let low = *values.first()?;
        let most = values[(MOST * (values.len() - 1) as f64) as usize];
        let high = values.last().copied().filter(|highest| *highest <= most * FAR).unwrap_or(most);
        let middle = (low * high).sqrt();
        let (low, high) =
            if high < low * LEAST { (middle / LEAST.sqrt(), middle * LEAST.sqrt()) } else { (low, high) };
        (high > low).then_some(ValueAxis { low, high, spread: self.spread })
    }
}

/// `280 µs–1.1 ms`, `60–81 k`: a unit that both have stands once.
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
            spread: Spread::Log,
            values,
            written: |value| value.to_string(),
        };
        line.range().map(|axis| (axis.low, axis.high))
    }

    #[test]
    fn it_spans_most_values_and_noise_is_no_mountain() {
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[0.0, 0.0]), None);
        assert_eq!(range(&[200.0, 100.0, 400.0]), Some((100.0, 400.0)));
        assert_eq!(range(&[200.0, 100.0, 4000.0]), Some((100.0, 200.0)));
        let (low, high) = range(&[100.0, 101.0]).unwrap();
        assert!((high / low - LEAST).abs() < 1e-9 && low < 100.0 && high > 101.0);
    }
}
