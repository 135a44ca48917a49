//! The operations of the current segment, the most asked for first; of more than there is room for the others in one line.
//!
//! ```text
//! ─ operations 3 to 6 of 20 by ops/s; J, K   ops/s     p50     p99
//!     user-read                             11.9 k  139 µs  351 µs
//!     …
//!     16 others                             74.2 k  150 µs  350 µs
//! ```

use std::ops::Range;

use ratatui::layout::Rect;

use super::{
    results::{Key, cell, table},
    table::from,
};
use crate::{
    session::{OperationInterval, figures::Row, timeline::Reading},
    tui::{Ink, Paint, row},
};

/// So many are told by a column each where latency is told by columns; more have a table.
pub const FEW: usize = 4;
/// Their names have so much at the most, so that the eye finds their figures: three times that of a segment.
const WIDEST: u16 = 80;

/// Draws the headings and the operations, as many as there is room for.
pub fn draw(paint: &mut Paint, area: Rect, reading: &Reading) {
    let table = table(area);
    table.write(paint, 0, |key, _| (key.heading("", "command"), Ink::Faint));
    rows(paint, area, reading, 0);
}

/// The same under a rule that says which are shown, from the one at place `first` on, as far as there are so many.
pub fn draw_from(paint: &mut Paint, area: Rect, reading: &Reading, first: usize) {
    if area.height == 0 {
        return;
    }
    let area = Rect { width: area.width.min(WIDEST), ..area };
    let all = count(reading);
    let shown = shown(first, all, area.height);
    let title = match shown.len() {
        whole if whole == all => format!("{all} operations by ops/s"),
        _ => format!("operations {} to {} of {all} by ops/s; J, K", shown.start + 1, shown.end),
    };
    let table = table(area);
    let names = table.cell(0, Key::What).area;
    paint.rule(Rect { width: names.right().saturating_sub(area.x), ..row(area, 0) }, &title);
    table.write(paint, 0, |key, _| match key {
        Key::Figure(_) => (key.heading("", ""), Ink::Faint),
        _ => (String::new(), Ink::Faint),
    });
    rows(paint, area, reading, first);
}

fn rows(paint: &mut Paint, area: Rect, reading: &Reading, first: usize) {
    let Some(total) = reading.segment().map(|segment| &segment.total) else { return };
    let all = total.busiest();
    let shown = shown(first, all.len(), area.height);
    let table = table(area);
    let mut write = |n: u16, name: &str, part: &OperationInterval, ink: Ink| {
        let figures = Row::of_interval(total).of_operation(part);
        table.write(paint, n, |key, _| match key {
            Key::Number => (String::new(), ink),
            Key::What => (name.to_owned(), ink),
            Key::Figure(n) => cell(n, &figures, ink),
        });
    };
    for (n, (label, part)) in (1..).zip(&all[shown.clone()]) {
        write(n, label, part, Ink::Text);
    }
    let hidden = all.len() - shown.len();
    if hidden > 0 {
        let others = all.iter().enumerate().filter(|(n, _)| !shown.contains(n)).map(|(_, (_, part))| *part);
        write(
            shown.len() as u16 + 1,
            &format!("{hidden} others"),
            &OperationInterval::sum(others),
            Ink::Faint,
        );
    }
}

/// Those of `all` that have a row of their own below the heading; the last row is that of the others where not all have.
fn shown(first: usize, all: usize, height: u16) -> Range<usize> {
    let room = height.saturating_sub(1);
    if all <= room.into() { 0..all } else { from(first, all, room.saturating_sub(1)) }
}

/// How many operations the current segment has sent.
pub fn count(reading: &Reading) -> usize {
    reading.segment().map_or(0, |segment| segment.total.commands.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_row_of_its_own_leaves_one_for_the_others() {
        assert_eq!((shown(0, 5, 6), shown(3, 5, 6)), (0..5, 0..5));
        assert_eq!((shown(0, 20, 6), shown(3, 20, 6), shown(99, 20, 6)), (0..4, 3..7, 16..20));
        assert_eq!((shown(0, 20, 0), shown(0, 20, 2)), (0..0, 0..0));
    }
}
