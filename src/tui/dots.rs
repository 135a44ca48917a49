//! Lines of dots: two columns and four rows of them in a cell of braille; where there is no braille, a cell is a dot.

use ratatui::layout::Rect;

use super::{
    paint::Paint,
    theme::{Ink, Theme},
};

/// The dots of a left and a right column of a cell of braille, from the bottom up.
const BITS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

/// The dots of an area, counted from its left and from its bottom.
#[derive(Debug, Clone, Copy)]
pub struct Dots {
    area: Rect,
    wide: u16,
    high: u16,
}

impl Dots {
    /// As fine as the theme's characters are.
    pub fn of(paint: &Paint, area: Rect) -> Self {
        let (wide, high) = if paint.theme().has_braille() { (2, 4) } else { (1, 1) };
        Self { area, wide, high }
    }

    /// Whether a cell has more than one.
    pub fn are_fine(self) -> bool {
        self.high > 1
    }

    /// How many there are in a column of cells.
    pub fn in_a_column(self) -> usize {
        self.wide.into()
    }

    /// How many columns of them.
    pub fn columns(self) -> u16 {
        self.area.width * self.wide
    }

    /// How many rows of them.
    pub fn rows(self) -> u16 {
        self.area.height * self.high
    }

    /// The cell that holds a dot.
    pub fn cell(self, x: u16, up: u16) -> (u16, u16) {
        (self.area.x + x / self.wide, self.area.bottom() - 1 - up / self.high)
    }

    /// Draws a line of steps, a height for each column of cells, joined where they differ. Its end has its `mark` where colours
    /// do not tell lines apart.
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
        if let Some((x, y)) = end.filter(|_| paint.theme().marks_lines()) {
            paint.dot(x, y, mark, ink);
        }
    }

    /// Draws a dot beside those that its cell has, or `mark` where there is no braille.
    pub fn draw(self, paint: &mut Paint, (x, up): (u16, u16), mark: char, ink: Ink) {
        let (column, row) = self.cell(x, up);
        if !self.are_fine() {
            paint.dot(column, row, mark, ink);
            return;
        }
        let there = paint.at(column, row).and_then(|symbol| symbol.chars().next()).map_or(0, Theme::dots);
        let dots = there | BITS[usize::from(x % self.wide)][usize::from(up % self.high)];
        paint.dot(column, row, Theme::braille(dots), ink);
    }
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
    fn dots_share_a_cell_and_a_mark_stands_for_one_without_braille() {
        assert_eq!(drawn(GlyphSet::Unicode), Buffer::with_lines([" \u{2808}", "\u{28c0} "]));
        assert_eq!(drawn(GlyphSet::Ascii), Buffer::with_lines([" *", "**"]));
    }
}
