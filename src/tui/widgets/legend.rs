//! The legend of a chart: the name and the figures of each line, right of its end.
//!
//! ```text
//!  ⠤⠒⠒⠉⠉⠉⠒  p99.9 4.76 ms
//!           p99   1.94 ms
//!  ⠤⠤⠤⠤⠤⠤⠤  p50    583 µs
//! ```

use ratatui::layout::Rect;

use super::Lanes;
use crate::tui::{Ink, Paint, row};

/// A line's place in the legend.
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it draws with, where colours do not tell.
    pub mark: Option<char>,
    /// How it looks.
    pub ink: Ink,
    /// The row in which it ends, from the top; none for one that is not drawn.
    pub row: Option<u16>,
    /// Its figures: now, 60 s, segment.
    pub values: [String; 3],
}

/// Draws the entries, given from top to bottom, beside a chart of the height of `area`.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes, entries: &[Entry]) {
    let wanted: Vec<_> = entries.iter().map(|entry| entry.row).collect();
    for (entry, n) in entries.iter().zip(places(area.height, &wanted)) {
        let line = row(area, n);
        if let Some(mark) = entry.mark {
            paint.dot(lanes.names(line).x, line.y, mark, entry.ink);
        }
        lanes.name(paint, line, entry.name, entry.ink);
        lanes.figures(paint, line, &entry.values);
    }
}

/// A row for each entry, as near as can be to the one it wants, in their order. What has no wish stands below the one
/// before it. Of more entries than rows the last share the last.
fn places(rows: u16, wanted: &[Option<u16>]) -> Vec<u16> {
    let mut places: Vec<u16> = Vec::new();
    for wish in wanted {
        let least = places.last().map_or(0, |above| above + 1);
        places.push(wish.map_or(least, |wish| wish.max(least)));
    }
    // What was pushed below the last row pushes back.
    let mut most = rows.saturating_sub(1);
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = place.saturating_sub(1);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stands_where_its_line_ends_or_as_near_as_the_others_let_it() {
        let of = |rows, wanted: &[u16]| places(rows, &wanted.iter().map(|n| Some(*n)).collect::<Vec<_>>());
        assert_eq!(of(11, &[0, 2, 4, 6, 9]), [0, 2, 4, 6, 9]);
        assert_eq!(of(11, &[0, 0, 0, 6, 6]), [0, 1, 2, 6, 7]);
        assert_eq!(of(7, &[5, 5, 6, 6, 6]), [2, 3, 4, 5, 6]);
        assert_eq!(of(2, &[0, 0, 0]), [0, 0, 1]);
        assert_eq!(places(9, &[Some(0), None, Some(3)]), [0, 1, 3]);
    }
}
