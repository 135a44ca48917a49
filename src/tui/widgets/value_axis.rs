//! The vertical axis of a chart, with round values at its left.
//!
//! ```text
//!   2 ms┤
//!   1 ms┤
//!       │
//! 500 µs┤
//! ```
//!
//! Values outside the axis have marks at its edge. If several neighbouring columns have such values, only the most
//! extreme value has a mark. If there is room, the value is added as text.
//!
//! ```text
//!  10 ms┤    ▲16.8 ms     1.00 s▲  ▲24.9 ms
//! ```

use std::{cmp::Reverse, collections::BTreeSet, ops::Range};

use ratatui::layout::Rect;

use crate::{
    app::{AxisScale, ValueAxis},
    tui::{Dots, Ink, Paint, linear_top, row},
};

/// Returns a logarithmic axis from one round value to another. An axis between round values does not move while the
/// last point changes.
pub fn log_axis(low: f64, high: f64) -> ValueAxis {
    ValueAxis { low: rounded(low, false), high: rounded(high, true), scale: AxisScale::Log }
}

/// Returns the nearest round value (1, 2 or 5 times a power of ten) above or below `value`, moved outwards by 2 %.
fn rounded(value: f64, is_up: bool) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    match is_up {
        true => steps.into_iter().find(|step| *step >= value).unwrap_or(10.0 * power) * 1.02,
        false => steps.into_iter().rfind(|step| *step <= value).unwrap_or(power) / 1.02,
    }
}

/// The vertical position of a value in a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Height {
    /// The value is below the bottom.
    Below,
    /// The value is on the axis, this many dots above the lowest dot.
    At(u16),
    /// The value is above the top.
    Above,
}

impl Height {
    /// Returns the position of `value` on `axis`.
    pub fn of(value: f64, axis: &ValueAxis, dots: Dots) -> Self {
        let place = axis.share(value) * f64::from(dots.rows());
        match () {
            () if place < 0.0 => Self::Below,
            () if place >= f64::from(dots.rows()) => Self::Above,
            () => Self::At(place as u16),
        }
    }

    /// Returns the row of the dot to draw. A value outside the axis is drawn at the edge.
    pub fn dot(self, dots: Dots) -> u16 {
        match self {
            Self::Below => 0,
            Self::At(up) => up,
            Self::Above => dots.rows().saturating_sub(1),
        }
    }
}

/// Draws the axis line in column `x` of `chart`, and the labels left of the line.
pub fn draw(paint: &mut Paint, chart: Rect, x: u16, axis: &ValueAxis, label: impl Fn(f64) -> String) {
    let glyphs = paint.glyphs();
    (chart.top()..chart.bottom()).for_each(|y| paint.dot(x, y, glyphs.vertical, Ink::Faint));
    for (n, value) in ticks(axis, chart.height) {
        let line = row(chart, chart.height - 1 - n);
        paint.right(Rect { width: x.saturating_sub(chart.x), ..line }, &label(value), Ink::Faint);
        paint.dot(x, line.y, glyphs.tick, Ink::Faint);
    }
}

/// Returns the round values to label, each with its row from the bottom. Each row has at most one value.
pub fn ticks(axis: &ValueAxis, rows: u16) -> Vec<(u16, f64)> {
    match axis.scale {
        AxisScale::Linear => label_rows(axis, rows, linear_ticks(axis, rows)),
        AxisScale::Log => log_ticks(axis, rows),
    }
}

/// Returns the values with their rows from the bottom. Of two values in the same row, only the first value is returned.
fn label_rows(axis: &ValueAxis, rows: u16, values: Vec<f64>) -> Vec<(u16, f64)> {
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

/// The alternatives for the labels of a decade, from the most to the fewest labels.
const STEPS: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];

/// Returns round values for a logarithmic axis, each with its row. Each decade has the values 1, 2 and 5 if there is
/// room, otherwise 1 and 3, or only 1. All decades have the same labels. A short axis with fewer than two such labels
/// gets as many labels as fit.
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
        Some(label_rows(axis, rows, values)).filter(|ticks| ticks.len() == on_axis && on_axis > 1)
    };
    STEPS
        .iter()
        .find_map(|steps| all_of(steps))
        .unwrap_or_else(|| label_rows(axis, rows, of_steps(&[1.0, 5.0, 2.0])))
}

/// The limits of the minimum number of labels on a linear axis. The minimum is one label for every two rows, but never
/// below the first of these numbers and never above the second number.
const LEAST_LABELS: (u16, u16) = (2, 4);

/// Returns round values for a linear axis, at distances of 1, 2 or 5 times a power of ten.
fn linear_ticks(axis: &ValueAxis, rows: u16) -> Vec<f64> {
    let least = f64::from((rows / 2).clamp(LEAST_LABELS.0, LEAST_LABELS.1));
    let power = (axis.high - axis.low).log10().floor() as i32;
    let steps =
        [power, power - 1].into_iter().flat_map(|power| [5.0, 2.0, 1.0].map(|n| n * 10_f64.powi(power)));
    // The labels are all multiples of the step that are on the axis.
    let multiples = |step: f64| ((axis.low / step - 1e-9).ceil(), (axis.high / step - 1e-9).floor());
    let is_enough = |step: &f64| multiples(*step).1 - multiples(*step).0 + 1.0 >= least;
    let Some(step) = steps.into_iter().find(is_enough) else { return Vec::new() };
    let (first, last) = multiples(step);
    (0..=(last - first) as u32).map(|n| (first + f64::from(n)) * step).collect()
}

/// The appearance of the marks for values outside the axis.
pub struct ClippedMarks<'a> {
    /// The columns at which a new group begins, even if the value of the previous column is also outside the axis.
    pub borders: BTreeSet<u16>,
    /// The ink of marks and values.
    pub ink: Ink,
    /// Returns the possible texts for a value, from the longest to the shortest. `None` means that only the marks are
    /// drawn.
    pub words: Option<&'a dyn Fn(u64) -> Vec<String>>,
}

impl ClippedMarks<'_> {
    /// Draws marks at the top of `plot`. `columns` contains the values of the columns that are above the axis.
    pub fn above(&self, paint: &mut Paint, plot: Rect, columns: &[Option<u64>]) {
        let peaks = self.peaks(columns, |value| value);
        let mark = paint.glyphs().above;
        self.draw(paint, Rect { height: 1, ..plot }, &peaks, mark);
    }

    /// Draws marks at the bottom of `plot`. `columns` contains the values of the columns that are below the axis.
    pub fn below(&self, paint: &mut Paint, plot: Rect, columns: &[Option<u64>]) {
        let peaks = self.peaks(columns, |value| u64::MAX - value);
        let mark = paint.glyphs().below;
        self.draw(paint, Rect { y: plot.bottom().saturating_sub(1), height: 1, ..plot }, &peaks, mark);
    }

    /// Draws the marks, then as many values as fit. The most extreme value is always drawn.
    fn draw(&self, paint: &mut Paint, line: Rect, peaks: &[(u16, u64)], mark: char) {
        for (column, _) in peaks {
            let place = Rect { x: line.x + column, width: 1, ..line };
            paint.text_over(place, mark.encode_utf8(&mut [0; 4]), self.ink);
        }
        let Some(words) = self.words else { return };
        let mut taken: Vec<Range<u16>> = Vec::new();
        for (n, (column, value)) in peaks.iter().enumerate() {
            let texts = words(*value);
            let places = |text: &String| {
                let length = text.chars().count() as u16;
                let behind = Some(column + 1).filter(|from| from + length <= line.width);
                behind.into_iter().chain(column.checked_sub(length)).map(move |from| from..from + length)
            };
            if taken.iter().any(|place| place.contains(column)) {
                continue;
            }
            let is_free = |place: &Range<u16>, hides: bool| {
                // A blank must separate two texts.
                let is_apart = |other: &Range<u16>| place.end < other.start || other.end < place.start;
                taken.iter().all(is_apart) && (hides || peaks.iter().all(|(mark, _)| !place.contains(mark)))
            };
            // The text of the most extreme value may hide other marks.
            let free = texts.iter().enumerate().find_map(|(rest, text)| {
                let hides = n == 0 && rest + 1 < texts.len();
                Some((text, places(text).find(|place| is_free(place, hides))?))
            });
            let first =
                || texts.last().filter(|_| n == 0).and_then(|text| Some((text, places(text).next()?)));
            if let Some((text, place)) = free.or_else(first) {
                let area = Rect { x: line.x + place.start, width: place.end - place.start, ..line };
                paint.text_over(area, text, self.ink);
                taken.push(place);
            }
        }
    }

    /// Returns the value with the highest `rank` in each group of neighbouring columns with values. The highest value
    /// of all groups comes first.
    fn peaks(&self, columns: &[Option<u64>], rank: impl Fn(u64) -> u64) -> Vec<(u16, u64)> {
        let mut peaks: Vec<(u16, u64)> = Vec::new();
        let mut goes_on = false;
        for (column, value) in (0..).zip(columns) {
            let peak = value.map(|value| (column, value));
            match (peak, peaks.last_mut()) {
                (Some(peak), Some(last)) if goes_on && !self.borders.contains(&column) => {
                    if rank(peak.1) > rank(last.1) {
                        *last = peak;
                    }
                }
                (Some(peak), _) => peaks.push(peak),
                (None, _) => {}
            }
            goes_on = value.is_some();
        }
        peaks.sort_by_key(|(_, value)| Reverse(rank(*value)));
        peaks
    }
}

/// Returns the top of a scale for bytes, a round number of bytes, KiB, MiB or a larger unit.
pub(super) fn top_of_bytes(highest: f64) -> f64 {
    let unit = 1024_f64.powf((highest.max(1.0).log2() / 10.0).floor());
    let top = linear_top(highest / unit);
    unit * if top < 1000.0 { top } else { 1024.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units;

    fn labelled(low: f64, high: f64, rows: u16, spread: AxisScale) -> Vec<f64> {
        let mut values: Vec<_> =
            ticks(&ValueAxis { low, high, scale: spread }, rows).into_iter().map(|(_, v)| v).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn each_label_has_its_own_row_and_the_roundest_values_come_first() {
        let labelled = |low, high, rows| labelled(low, high, rows, AxisScale::Log);
        assert_eq!(labelled(40.0, 12e3, 12), [50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 10e3]);
        assert_eq!(labelled(40.0, 12e3, 3), [100.0, 1e3, 10e3]);
        assert_eq!(labelled(150.0, 150e3, 7), [300.0, 1e3, 3e3, 10e3, 30e3, 100e3]);
        assert!(labelled(2.1, 4.9, 5).is_empty());
        assert!(labelled(1.0, 1e6, 0).is_empty());
    }

    #[test]
    fn a_linear_axis_has_round_labels_at_equal_distances() {
        let labelled = |low, high, rows| labelled(low, high, rows, AxisScale::Linear);
        assert_eq!(labelled(0.0, 170e3, 4), [0.0, 100e3]);
        assert_eq!(labelled(118e3, 205e3, 4), [150e3, 200e3]);
        assert_eq!(labelled(118e3, 205e3, 12), [120e3, 140e3, 160e3, 180e3, 200e3]);
        assert!(labelled(1.0, 2.0, 0).is_empty());
        // At least two labels are needed to see the scale of an axis.
        for n in 0..500 {
            let low = f64::from(n) * 997.0;
            for (rows, span) in [(2, 0.9), (4, 0.5), (6, 0.77), (20, 1.3)] {
                let labels = labelled(low, low + (low + 500.0) * span, rows);
                assert!(!labels.is_empty() && (rows < 4 || labels.len() >= 2), "{low} {rows}: {labels:?}");
            }
        }
    }

    #[test]
    fn each_group_of_values_outside_the_axis_has_one_mark_at_its_peak() {
        let columns = [None, Some(3), Some(9), Some(4), None, None, Some(5), Some(5)];
        let clipped = |borders: &[u16]| ClippedMarks {
            borders: borders.iter().copied().collect(),
            ink: Ink::Text,
            words: None,
        };
        assert_eq!(clipped(&[]).peaks(&columns, |value| value), [(2, 9), (6, 5)]);
        assert_eq!(clipped(&[]).peaks(&columns, |value| u64::MAX - value), [(1, 3), (6, 5)]);
        assert_eq!(clipped(&[2, 5]).peaks(&columns, |value| value), [(2, 9), (6, 5), (1, 3)]);
    }

    #[test]
    fn a_scale_of_bytes_ends_at_a_round_number_in_its_unit() {
        let tops =
            [900.0, 1_024_000.0, 1_600_000.0].map(|highest| units::bytes(top_of_bytes(highest) as u64));
        assert_eq!(tops, ["1.00 KiB", "1.00 MiB", "1.60 MiB"]);
    }
}
