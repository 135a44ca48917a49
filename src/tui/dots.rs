//! Draws the lines of charts as dots. A braille character has two columns and four rows of dots. Without
//! braille, each character cell of the terminal is one dot.
//!
//! This module also contains scales, which map values to heights in a chart.

use ratatui::layout::Rect;

use super::{
    paint::Paint,
    theme::{Ink, Theme},
};

/// The dots of the left and the right column of a braille cell, from the bottom up.
const BITS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

/// The dots of an area. Columns are counted from the left, and rows from the bottom.
#[derive(Debug, Clone, Copy)]
pub struct Dots {
    area: Rect,
    wide: u16,
    high: u16,
}

impl Dots {
    /// Returns the dots of `area`. The dots are braille dots if the theme allows braille. Otherwise, each cell is one
    /// dot.
    pub fn of(paint: &Paint, area: Rect) -> Self {
        let (wide, high) = if paint.theme.has_braille() { (2, 4) } else { (1, 1) };
        Self { area, wide, high }
    }

    /// Returns whether a cell has more than one dot.
    pub fn is_braille(self) -> bool {
        self.high > 1
    }

    /// Returns the number of columns of dots in a cell.
    pub fn in_a_column(self) -> usize {
        self.wide.into()
    }

    /// Returns the number of columns of dots in the area.
    pub fn columns(self) -> u16 {
        self.area.width * self.wide
    }

    /// Returns the number of rows of dots in the area.
    pub fn rows(self) -> u16 {
        self.area.height * self.high
    }

    /// Returns the cell that contains a dot.
    pub fn cell(self, x: u16, up: u16) -> (u16, u16) {
        (self.area.x + x / self.wide, self.area.bottom() - 1 - up / self.high)
    }

    /// Draws a line with steps. Each column of cells has a horizontal part. Vertical dots join different heights. If
    /// the theme has no colours, the end of the line shows `mark`.
    pub fn steps(
        self,
        paint: &mut Paint,
        heights: impl IntoIterator<Item = Option<u16>>,
        mark: char,
        ink: Ink,
    ) {
        let rise = paint.glyphs().rise;
        let (mut before, mut end) = (None, None);
        for (column, height) in (0..self.area.width).zip(heights) {
            let x = column * self.wide;
            if let Some(up) = height {
                let from: u16 = before.unwrap_or(up);
                (from.min(up) + 1..from.max(up)).for_each(|up| self.draw(paint, (x, up), rise, ink));
                (x..x + self.wide).for_each(|x| self.draw(paint, (x, up), mark, ink));
                end = Some(self.cell(x, up));
            }
            before = height;
        }
        if let Some((x, y)) = end.filter(|_| paint.theme.marks_lines()) {
            paint.dot(x, y, mark, ink);
        }
    }

    /// Adds a dot to the braille character of its cell. Without braille, draws `mark`.
    pub fn draw(self, paint: &mut Paint, (x, up): (u16, u16), mark: char, ink: Ink) {
        let (column, row) = self.cell(x, up);
        if !self.is_braille() {
            paint.dot(column, row, mark, ink);
            return;
        }
        let there = paint.at(column, row).and_then(|symbol| symbol.chars().next()).map_or(0, Theme::dots);
        let dots = there | BITS[usize::from(x % self.wide)][usize::from(up % self.high)];
        paint.dot(column, row, Theme::braille(dots), ink);
    }
}

/// A logarithmic scale of nanoseconds between two round values: 1, 2 or 5 times a power of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogScale {
    /// The value at the bottom.
    pub lowest_ns: u64,
    /// The value at the top.
    pub highest_ns: u64,
}

impl LogScale {
    /// Returns the smallest scale that contains all `values`. The top is at least 50 times the bottom, because noise
    /// would look large on a shorter scale. Without values, the scale is 10 µs to 10 ms.
    pub fn covering(values: impl Iterator<Item = u64>) -> Self {
        let (lowest, highest) =
            values.fold((u64::MAX, 0), |(low, high), ns| (low.min(ns.max(1)), high.max(ns.max(1))));
        if highest == 0 {
            return Self { lowest_ns: 10_000, highest_ns: 10_000_000 };
        }
        // An hour in nanoseconds has 13 digits, so these powers fit easily into 64 bits.
        let round = |power: u64| [1, 2, 5, 10].map(|step| step * power);
        let around = |ns: u64| round(10_u64.pow(ns.ilog10()));
        let lowest_ns = around(lowest).into_iter().rfind(|round| *round <= lowest).unwrap_or(1);
        let least = highest.max(lowest_ns.saturating_mul(50));
        let highest_ns = around(least).into_iter().find(|round| *round >= least).unwrap_or(least);
        Self { lowest_ns, highest_ns }
    }

    /// Returns the height of `ns` on this scale, from 1 to `steps`. Values outside the scale get the lowest or
    /// highest height.
    pub fn step(&self, ns: u64, steps: usize) -> usize {
        let decades = (self.highest_ns as f64 / self.lowest_ns as f64).log10();
        let share = (ns.max(1) as f64 / self.lowest_ns as f64).log10() / decades;
        1 + (share.clamp(0.0, 1.0) * steps.saturating_sub(1) as f64).round() as usize
    }
}

/// Returns the top of a linear axis from 0 that contains `highest`. The top and its half are round numbers.
pub fn linear_top(highest: f64) -> f64 {
    if !highest.is_finite() || highest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(highest.log10().floor());
    // A value that exceeds a round number only by a rounding error does not need a taller axis.
    let steps = [1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].map(|step| step * power);
    steps.into_iter().find(|top| highest <= top * (1.0 + 1e-9)).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::tui::theme::{Colours, GlyphSet};

    fn drawn(glyphs: GlyphSet) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 2, 2));
        let mut paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, glyphs));
        let dots = Dots::of(&paint, Rect::new(0, 0, 2, 2));
        let last = (dots.columns() - 1, dots.rows() - 1);
        for place in [(0, 0), (1, 0), last] {
            dots.draw(&mut paint, place, '*', Ink::Text);
        }
        buffer
    }

    #[test]
    fn dots_share_a_cell_and_without_braille_a_mark_replaces_a_dot() {
        assert_eq!(drawn(GlyphSet::Unicode), Buffer::with_lines([" \u{2808}", "\u{28c0} "]));
        assert_eq!(drawn(GlyphSet::Ascii), Buffer::with_lines([" *", "**"]));
    }

    #[test]
    fn a_log_scale_ends_at_round_values_and_is_never_short() {
        let scale = |values: &[u64]| LogScale::covering(values.iter().copied());
        assert_eq!(scale(&[]), LogScale { lowest_ns: 10_000, highest_ns: 10_000_000 });
        assert_eq!(scale(&[150_000, 310_000]), LogScale { lowest_ns: 100_000, highest_ns: 5_000_000 });
        assert_eq!(scale(&[250_000, 31_000_000]), LogScale { lowest_ns: 200_000, highest_ns: 50_000_000 });
        assert_eq!(scale(&[12_000, 7_000_000]), LogScale { lowest_ns: 10_000, highest_ns: 10_000_000 });
        assert_eq!(scale(&[0]), LogScale { lowest_ns: 1, highest_ns: 50 });
        assert_eq!(scale(&[1_000, 100_000]), LogScale { lowest_ns: 1_000, highest_ns: 100_000 });
    }

    #[test]
    fn every_measured_value_is_visible() {
        let scale = LogScale { lowest_ns: 1_000, highest_ns: 1_000_000 };
        assert_eq!((scale.step(0, 8), scale.step(1_000, 8), scale.step(1_000_000, 8)), (1, 1, 8));
        assert_eq!(scale.step(u64::MAX, 16), 16);
    }

    #[test]
    fn a_linear_axis_ends_at_a_round_number() {
        let tops = [0.0, 0.7, 1.0, 121_300.0, 950.0, f64::NAN].map(linear_top);
        assert_eq!(tops, [1.0, 0.8, 1.0, 160_000.0, 1000.0, 1.0]);
    }
}
