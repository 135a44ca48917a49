//! Lists and tables on the screen: the selection moves through their rows, and a table is sorted by any column.

use std::cmp::Ordering;

use super::Direction;

/// Returns the number of the row that is `by` rows after row `at`, in a list of `len` rows. The result is limited to
/// the first and the last row.
pub(super) fn moved(at: usize, by: i16, len: usize) -> usize {
    at.saturating_add_signed(by.into()).min(len.saturating_sub(1))
}

/// Returns the number of the next or previous item after item `at` of `len` items. After the last item, the first item
/// follows. `len` is at least 1.
pub(super) fn turned(at: usize, towards: Direction, len: usize) -> usize {
    (at + if towards == Direction::Up { 1 } else { len - 1 }) % len
}

/// The sort order and the selected row of a table. The table is sorted by a column `C`, and the row has the number `N`.
#[derive(Debug, Clone)]
pub struct SortedTable<C, N> {
    /// The column that the table is sorted by.
    pub sorted_by: C,
    /// Whether the highest value is in the first row.
    pub is_descending: bool,
    pub(super) selected: Option<N>,
}

impl<C: Copy + PartialEq, N> SortedTable<C, N> {
    /// Sorts by the next of `columns` to the left or right. After the last column, the first column follows.
    pub(super) fn sort_by_next(&mut self, towards: Direction, columns: &[C]) {
        let at = columns.iter().position(|column| *column == self.sorted_by).unwrap_or(0);
        self.sorted_by = columns[turned(at, towards, columns.len())];
    }

    pub(super) fn reverse(&mut self) {
        self.is_descending = !self.is_descending;
    }

    /// Sorts the rows. `value` returns the value of a row in a column. Rows without a value are last in both
    /// directions. Rows with equal values keep their order.
    pub(super) fn sort<R>(&self, rows: &mut [R], value: impl Fn(&R, C) -> Option<f64>) {
        let value = |row: &R| value(row, self.sorted_by);
        rows.sort_by(|a, b| order(value(a), value(b), self.is_descending));
    }
}

/// Returns the order of two rows with these values in a sorted column. A row without a value is last in both
/// directions.
fn order(a: Option<f64>, b: Option<f64>, is_descending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if is_descending => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => b.is_some().cmp(&a.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_stops_at_its_ends_and_a_ring_goes_round() {
        assert_eq!([-1, 1, 9, i16::MIN].map(|by| moved(1, by, 4)), [0, 2, 3, 0]);
        assert_eq!(moved(0, 1, 0), 0);
        assert_eq!((turned(3, Direction::Up, 4), turned(0, Direction::Down, 4)), (0, 3));
    }
}
