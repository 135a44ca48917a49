//! A value that something is compared with, as a dashed line through a chart, with its name.
//!
//! ```text
//!  ┄┄┄┄┄┄┄┄┄┄┄┄┄ due 100 k/s ┄
//! ```

use std::{collections::BTreeSet, ops::Range};

use ratatui::layout::Rect;

use super::value_axis::Height;
use crate::{
    app::ValueAxis,
    tui::{Dots, Ink, Paint},
};

/// A value to compare with.
pub struct LevelLine<'a> {
    /// The value.
    pub value: f64,
    /// What it is.
    pub name: &'a str,
    /// The columns of the chart that it holds for.
    pub columns: Range<u16>,
    /// Those of them in which it is reached, and would blur what stands there.
    pub reached: &'a BTreeSet<u16>,
    /// One dash in so many columns.
    pub every: u16,
}

impl LevelLine<'_> {
    /// Draws it through what `plot` leaves blank, and writes its name as far right as there is room for it, in its row or
    /// one beside it. What lies beyond the axis has no line, and above it a mark and its name in the first row.
    pub fn draw(&self, paint: &mut Paint, plot: Rect, axis: &ValueAxis) {
        if plot.is_empty() || self.columns.is_empty() {
            return;
        }
        let dots = Dots::of(paint, plot);
        let height = Height::of(self.value, axis, dots);
        let y = dots.cell(0, height.dot(dots)).1;
        let rows = [Some(y), y.checked_sub(1), Some(y + 1)].into_iter().flatten();
        let mut rows = rows.filter(|y| (plot.top()..plot.bottom()).contains(y));
        match height {
            Height::Below => {}
            Height::Above => {
                let name = format!("{}{}", paint.glyphs().above, self.name);
                rows.any(|y| self.write(paint, plot, y, &name));
            }
            Height::At(_) => {
                let glyph = paint.glyphs().target_line;
                let dashes = self.columns.clone().step_by(self.every.max(1).into());
                for column in dashes.filter(|column| !self.reached.contains(column)) {
                    paint.behind(plot.x + column, y, glyph, Ink::Faint);
                }
                rows.any(|y| self.write(paint, plot, y, self.name));
            }
        }
    }

    /// Writes the name into row `y` where it is blank; whether there was room.
    fn write(&self, paint: &mut Paint, plot: Rect, y: u16, name: &str) -> bool {
        let width = name.chars().count() as u16;
        // The lines of events and borders go on above and below.
        let glyphs = paint.glyphs();
        let free = [' ', glyphs.border_line, glyphs.event_line, glyphs.target_line];
        let is_blank = |x: u16| paint.at(x, y).is_some_and(|symbol| symbol.starts_with(free));
        let (first, end) = (plot.x + self.columns.start, plot.x + self.columns.end.min(plot.width));
        let is_free = |x: &u16| (*x..x + width).all(is_blank);
        let place = (first..=end.saturating_sub(width)).rev().find(is_free);
        if let Some(x) = place {
            paint.text(Rect { x, y, width, height: 1 }, name, Ink::Faint);
        }
        place.is_some()
    }
}
