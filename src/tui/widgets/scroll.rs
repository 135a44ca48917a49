//! Which rows of a list are shown where not all fit: one rule for all lists.

use std::ops::Range;

/// The rows of a list of `len` rows that are shown in `height`: row `at` stands in the middle as long as there are rows
/// on both sides.
pub fn around(at: usize, len: usize, height: u16) -> Range<usize> {
    from(at.saturating_sub(usize::from(height) / 2), len, height)
}

/// Those from row `first` on, no further than to the end of the list.
pub fn from(first: usize, len: usize, height: u16) -> Range<usize> {
    let height = usize::from(height);
    let first = first.min(len.saturating_sub(height));
    first..(first + height).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_stands_in_the_middle_but_at_the_ends() {
        let shown = |at| around(at, 10, 4);
        assert_eq!([0, 2, 3, 5, 8, 9].map(shown), [0..4, 0..4, 1..5, 3..7, 6..10, 6..10]);
        assert_eq!((around(2, 3, 8), around(0, 0, 8), around(1, 3, 0)), (0..3, 0..0, 1..1));
    }

    #[test]
    fn nothing_scrolls_beyond_the_end() {
        assert_eq!((from(3, 10, 4), from(99, 10, 4), from(99, 3, 4)), (3..7, 6..10, 0..3));
    }
}
