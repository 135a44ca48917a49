//! Moves the selection through the rows of a list on the screen. At each end, the selection stops or
//! continues at the opposite end.

use std::cmp::Ordering;

use super::Direction;

/// Returns the number of the row `by` rows after row `at` in a list of `len` rows, limited to the first and the last
/// row.
pub(super) fn moved(at: usize, by: i16, len: usize) -> usize {
    at.saturating_add_signed(by.into()).min(len.saturating_sub(1))
}

/// Returns the number of the next or previous item after item `at` of `len` items. The first item follows the
/// last. `len` is at least 1.
pub(super) fn turned(at: usize, towards: Direction, len: usize) -> usize {
    (at + if towards == Direction::Up { 1 } else { len - 1 }) % len
}

/// Returns the order of two rows with these values in a sorted column. A row without a value is last in both
/// directions.
pub(super) fn order(a: Option<f64>, b: Option<f64>, is_descending: bool) -> Ordering {
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
