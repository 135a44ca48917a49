//! What lies beyond the axis of a chart: of each stretch the furthest has a mark at the edge, and its value where there
//! is room.
//!
//! ```text
//!  10 ms┤    ▲16.8 ms     1.00 s▲  ▲24.9 ms
//! ```

use std::{cmp::Reverse, collections::BTreeSet, ops::Range};

use ratatui::layout::Rect;

use crate::tui::{Ink, Paint};

/// How what lies beyond is marked.
pub struct Clipped<'a> {
    /// Where a stretch ends although the next column lies beyond too.
    pub borders: BTreeSet<u16>,
    /// How marks and values look.
    pub ink: Ink,
    /// How a value is written, from the most words to the fewest; none where the mark is enough.
    pub words: Option<&'a dyn Fn(u64) -> Vec<String>>,
}

impl Clipped<'_> {
    /// Marks what lies above `plot`: for each column its value, if it has one there.
    pub fn above(&self, paint: &mut Paint, plot: Rect, columns: &[Option<u64>]) {
        let mut peaks = self.peaks(columns, |value| value);
        peaks.sort_by_key(|(_, value)| Reverse(*value));
        let mark = paint.glyphs().above;
        self.draw(paint, Rect { height: 1, ..plot }, &peaks, mark);
    }

    /// The same for what lies below it.
    pub fn below(&self, paint: &mut Paint, plot: Rect, columns: &[Option<u64>]) {
        let mut peaks = self.peaks(columns, |value| u64::MAX - value);
        peaks.sort_by_key(|(_, value)| *value);
        let mark = paint.glyphs().below;
        self.draw(paint, Rect { y: plot.bottom().saturating_sub(1), height: 1, ..plot }, &peaks, mark);
    }

    /// Draws the marks, then as many values as there is room for: the first, which lies furthest, at any rate.
    fn draw(&self, paint: &mut Paint, line: Rect, peaks: &[(u16, u64)], mark: char) {
        for (column, _) in peaks {
            let place = Rect { x: line.x + column, width: 1, ..line };
            paint.over(place, mark.encode_utf8(&mut [0; 4]), self.ink);
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
                // A blank parts it from the next.
                let is_apart = |other: &Range<u16>| place.end < other.start || other.end < place.start;
                taken.iter().all(is_apart) && (hides || peaks.iter().all(|(mark, _)| !place.contains(mark)))
            };
            // What is said of the furthest is worth more than the marks of others.
            let free = texts.iter().enumerate().find_map(|(rest, text)| {
                let hides = n == 0 && rest + 1 < texts.len();
                Some((text, places(text).find(|place| is_free(place, hides))?))
            });
            let first =
                || texts.last().filter(|_| n == 0).and_then(|text| Some((text, places(text).next()?)));
            if let Some((text, place)) = free.or_else(first) {
                let area = Rect { x: line.x + place.start, width: place.end - place.start, ..line };
                paint.over(area, text, self.ink);
                taken.push(place);
            }
        }
    }

    /// Of each stretch of columns that have a value the one that `rank` puts highest.
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
        peaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stretch_beyond_the_axis_has_one_mark_at_its_peak() {
        let columns = [None, Some(3), Some(9), Some(4), None, None, Some(5), Some(5)];
        let clipped = |borders: &[u16]| Clipped {
            borders: borders.iter().copied().collect(),
            ink: Ink::Text,
            words: None,
        };
        assert_eq!(clipped(&[]).peaks(&columns, |value| value), [(2, 9), (6, 5)]);
        assert_eq!(clipped(&[]).peaks(&columns, |value| u64::MAX - value), [(1, 3), (6, 5)]);
        assert_eq!(clipped(&[2, 5]).peaks(&columns, |value| value), [(1, 3), (2, 9), (6, 5)]);
    }
}
