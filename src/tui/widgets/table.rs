//! Computes the positions of the columns for all tables on the screen, and the visible rows of a list.
//!
//! ```text
//!  ├ right 4 ┤├ rest ───────────────┤├ right 8 ┤├ left 17 ──────┤
//!          3   clients 200               119 k    +18 % faster
//! ```
//! Each column has a key, and a row has a text for each key.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::tui::{Ink, Paint, row};

/// Whether a text is left- or right-aligned in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alignment {
    Left,
    Right,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn<K> {
    key: K,
    /// The width, including the blanks before left-aligned text. `None` for the column that gets the remaining width.
    width: Option<u16>,
    blanks: u16,
    flush: Alignment,
}

impl<K> TableColumn<K> {
    /// Creates a column of figures that are right-aligned in `width`.
    pub fn right(key: K, width: u16) -> Self {
        Self { key, width: Some(width), blanks: 0, flush: Alignment::Right }
    }

    /// Creates a column of text in `width`, after this many `blanks`.
    pub fn left(key: K, width: u16, blanks: u16) -> Self {
        Self { key, width: Some(width), blanks, flush: Alignment::Left }
    }

    /// Creates a column of text after this many blanks. The column gets the width that the other columns leave.
    pub fn rest(key: K, blanks: u16) -> Self {
        Self { key, width: None, blanks, flush: Alignment::Left }
    }
}

/// The columns of a table, with their positions in an area.
#[derive(Debug, Clone)]
pub struct ScreenTable<K> {
    area: Rect,
    places: Vec<(K, TableCell)>,
}

impl<K: Copy + PartialEq> ScreenTable<K> {
    /// Creates a table with these columns from left to right. Columns at the right that do not fit are empty.
    pub fn new(area: Rect, columns: impl IntoIterator<Item = TableColumn<K>>) -> Self {
        let columns: Vec<_> = columns.into_iter().collect();
        let fixed: u16 = columns.iter().filter_map(|column| column.width).sum();
        let rest = area.width.saturating_sub(fixed);
        let mut x = area.x;
        let place = |column: TableColumn<K>| {
            let width = column.width.unwrap_or(rest);
            let text = Rect { x: x + column.blanks, width: width.saturating_sub(column.blanks), ..area };
            x += width;
            (column.key, TableCell { area: text.intersection(area), flush: column.flush })
        };
        Self { area, places: columns.into_iter().map(place).collect() }
    }

    /// Returns the whole row `n`.
    pub fn line(&self, n: u16) -> Rect {
        row(self.area, n)
    }

    /// Returns the cells of row `n` from left to right, each with the key of its column.
    pub fn row(&self, n: u16) -> impl Iterator<Item = (K, TableCell)> {
        let line = row(self.area, n);
        let in_row = move |cell: TableCell| Rect { y: line.y, height: line.height, ..cell.area };
        self.places
            .iter()
            .map(move |(key, cell)| (*key, TableCell { area: in_row(*cell), flush: cell.flush }))
    }

    /// Writes row `n`. For each column, the closure `text` gets the key and the width, and returns the text and its
    /// ink.
    pub fn write(&self, paint: &mut Paint, n: u16, text: impl Fn(K, usize) -> (String, Ink)) {
        for (key, cell) in self.row(n) {
            let (text, ink) = text(key, cell.area.width.into());
            cell.write(paint, &text, ink);
        }
    }

    /// Returns the cell of a column in row `n`, or an empty cell if there is no such column.
    pub fn cell(&self, n: u16, key: K) -> TableCell {
        let nothing = TableCell { area: Rect { width: 0, ..row(self.area, n) }, flush: Alignment::Left };
        self.row(n).find(|(known, _)| *known == key).map_or(nothing, |(_, cell)| cell)
    }
}

/// A cell of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableCell {
    /// The area of the cell's text.
    pub area: Rect,
    flush: Alignment,
}

impl TableCell {
    /// Writes `text`. Words that do not fit are cut. A number that does not fit is left out.
    pub fn write(self, paint: &mut Paint, text: &str, ink: Ink) {
        match self.flush {
            Alignment::Left => drop(paint.text(self.area, text, ink)),
            Alignment::Right => paint.right(self.area, text, ink),
        }
    }
}

/// Returns how many columns with these `widths` fit into `room`. The most important column comes first.
pub fn fitting(room: u16, widths: impl IntoIterator<Item = u16>) -> usize {
    let mut used = 0_u16;
    let fits = |width: &u16| {
        used = used.saturating_add(*width);
        used <= room
    };
    widths.into_iter().take_while(fits).count()
}

/// Returns the rows of a list of `len` rows that are visible in `height` rows. Row `at` is in the middle, unless this
/// row is near an end of the list.
pub fn around(at: usize, len: usize, height: u16) -> Range<usize> {
    from(at.saturating_sub(usize::from(height) / 2), len, height)
}

/// Returns the rows of a list of `len` rows that are visible in `height` rows, with row `first` at the top. Near the
/// end of the list, earlier rows are visible as well.
pub fn from(first: usize, len: usize, height: u16) -> Range<usize> {
    let height = usize::from(height);
    let first = first.min(len.saturating_sub(height));
    first..(first + height).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(width: u16) -> Vec<(char, u16, u16)> {
        let columns = [
            TableColumn::right('n', 4),
            TableColumn::rest('w', 1),
            TableColumn::right('f', 8),
            TableColumn::left('d', 6, 2),
        ];
        let table = ScreenTable::new(Rect::new(10, 5, width, 3), columns);
        table.row(1).map(|(key, cell)| (key, cell.area.x, cell.area.width)).collect()
    }

    #[test]
    fn one_column_gets_the_remaining_width_and_columns_at_the_right_may_be_cut() {
        assert_eq!(places(30), [('n', 10, 4), ('w', 15, 11), ('f', 26, 8), ('d', 36, 4)]);
        assert_eq!(places(18), [('n', 10, 4), ('w', 15, 0), ('f', 14, 8), ('d', 24, 4)]);
        assert_eq!(places(6), [('n', 10, 4), ('w', 15, 0), ('f', 14, 2), ('d', 24, 0)]);
    }

    #[test]
    fn a_row_beyond_the_end_has_no_height_and_a_missing_column_no_width() {
        let table = ScreenTable::new(Rect::new(0, 0, 9, 2), [TableColumn::right('a', 4)]);
        assert_eq!(table.cell(1, 'a').area, Rect::new(0, 1, 4, 1));
        assert_eq!(table.cell(2, 'a').area.height, 0);
        assert_eq!(table.cell(1, 'b').area.width, 0);
    }

    #[test]
    fn columns_fit_in_order_up_to_the_first_that_does_not_fit() {
        assert_eq!([30, 15, 14, 3].map(|room| fitting(room, [7, 8, 8])), [3, 2, 1, 0]);
        assert_eq!(fitting(10, [7, 8, 1]), 1);
    }

    #[test]
    fn the_selected_row_is_in_the_middle_except_near_the_ends() {
        let shown = |at| around(at, 10, 4);
        assert_eq!([0, 2, 3, 5, 8, 9].map(shown), [0..4, 0..4, 1..5, 3..7, 6..10, 6..10]);
        assert_eq!((around(2, 3, 8), around(0, 0, 8), around(1, 3, 0)), (0..3, 0..0, 1..1));
    }

    #[test]
    fn a_list_does_not_scroll_beyond_its_end() {
        assert_eq!((from(3, 10, 4), from(99, 10, 4), from(99, 3, 4)), (3..7, 6..10, 0..3));
    }
}
