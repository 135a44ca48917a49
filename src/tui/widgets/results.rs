//! The table of results, with a row for each segment. The table of operations has the same columns.
//!
//! ```text
//!   no what             ops/s     p50     p99
//!    2 clients 200      119 k 1.39 ms 3.51 ms
//!    1 50×1            74.2 k  508 µs 2.50 ms
//! ```
//!
//! The table of operations lists the operations of the current segment, sorted by their number of requests. If not all
//! operations fit, one row has the sum of the other operations.
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
    figures::{is_nothing, written},
    table::{ScreenTable, TableColumn, fitting, from},
};
use crate::{
    print::segment_words,
    session::{
        OperationInterval,
        figures::{self, Figure, FigureUnit, Row},
        timeline::Reading,
    },
    tui::{Ink, Paint, row},
};

/// The figures of a row with their widths, the most important figure first. A width such as that of `99.9 k` or `8.85
/// ms` includes a blank before the figure.
const FIGURES: [(Figure, u16); 5] = [
    (figures::OPS_PER_S, 7),
    (figures::SERVICE_P50, 8),
    (figures::SERVICE_P99, 8),
    (figures::SERVICE_P999, 8),
    (figures::ERRORS, 7),
];
/// The width of `200` and a blank after it.
const NUMBER: u16 = 4;
/// The minimum width of a row's title such as `clients 200`.
const WHAT: u16 = 11;
/// The minimum width of the table, with one figure in a row.
pub const MIN_WIDTH: u16 = NUMBER + WHAT + FIGURES[0].1;

/// Draws the segments, newest first.
pub fn segments(paint: &mut Paint, area: Rect, reading: &Reading) {
    let table = table(area);
    table.write(paint, 0, |key, _| (key.heading("no", "what"), Ink::Faint));
    // The title of a segment contains the knobs that changed since the previous segment.
    let before = reading.segments().rev().skip(1).map(Some).chain([None]);
    let rows = reading.segments().rev().zip(before).enumerate();
    for (n, (segment, before)) in rows.take(area.height.saturating_sub(1).into()) {
        let figures = Row::of_interval(&segment.total);
        let ink = if n == 0 { Ink::Strong } else { Ink::Text };
        let what = segment_words(before.map(|before| &before.start), &segment.start);
        table.write(paint, n as u16 + 1, |key, room| match key {
            ResultTableKey::Number => (segment.start.segment.to_string(), ink),
            ResultTableKey::What => (fitted(&what, room), ink),
            ResultTableKey::Figure(n) => cell(n, &figures, ink),
        });
    }
}

/// Returns as many of `words` as fit completely, and the number of further words: `50×4 +1`.
pub fn fitted(words: &[String], width: usize) -> String {
    let text = |shown: usize| {
        let hidden = words.len() - shown;
        words[..shown].join(", ") + &if hidden > 0 { format!(" +{hidden}") } else { String::new() }
    };
    let fits = |shown: &usize| text(*shown).chars().count() <= width;
    text((1..=words.len()).rev().find(fits).unwrap_or(words.len().min(1)))
}

/// Returns the text and the ink of figure `n` in [`FIGURES`] for a row.
pub(super) fn cell(n: usize, row: &Row, ink: Ink) -> (String, Ink) {
    let (figure, _) = FIGURES[n];
    let text = written(figure, row);
    let ink = match figure.unit {
        _ if is_nothing(figure, row) => Ink::Faint,
        FigureUnit::Trouble => Ink::Bad,
        _ => ink,
    };
    (text, ink)
}

/// The content of a column.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ResultTableKey {
    Number,
    What,
    Figure(usize),
}

impl ResultTableKey {
    pub(super) fn heading(self, number: &str, what: &str) -> String {
        let name = match self {
            Self::Number => number,
            Self::What => what,
            Self::Figure(n) => FIGURES[n].0.heading,
        };
        name.to_owned()
    }
}

/// Returns a table with as many figures as fit next to the title of a row.
pub(super) fn table(area: Rect) -> ScreenTable<ResultTableKey> {
    let room = area.width.saturating_sub(NUMBER + WHAT);
    let figures = FIGURES.iter().enumerate().take(fitting(room, FIGURES.map(|(_, width)| width)));
    let figures = figures.map(|(n, (_, width))| TableColumn::right(ResultTableKey::Figure(n), *width));
    let first =
        [TableColumn::right(ResultTableKey::Number, NUMBER - 1), TableColumn::rest(ResultTableKey::What, 1)];
    ScreenTable::new(area, first.into_iter().chain(figures))
}

/// The maximum number of operations that have their own columns in the table of percentiles. If there are more
/// operations, a separate table has a row for each operation.
pub const FEW: usize = 4;
/// The maximum width of the table of operations. In a wider table, the figures would be too far from the names.
const WIDEST: u16 = 80;

/// Draws the headings and as many operations as fit.
pub fn operations(paint: &mut Paint, area: Rect, reading: &Reading) {
    let table = table(area);
    table.write(paint, 0, |key, _| (key.heading("", "command"), Ink::Faint));
    operation_rows(paint, area, reading, 0);
}

/// Draws a horizontal rule with the range of operations shown, and below it the operations from position
/// `first` on.
pub fn operations_from(paint: &mut Paint, area: Rect, reading: &Reading, first: usize) {
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
    let names = table.cell(0, ResultTableKey::What).area;
    paint.rule(Rect { width: names.right().saturating_sub(area.x), ..row(area, 0) }, &title);
    table.write(paint, 0, |key, _| match key {
        ResultTableKey::Figure(_) => (key.heading("", ""), Ink::Faint),
        _ => (String::new(), Ink::Faint),
    });
    operation_rows(paint, area, reading, first);
}

fn operation_rows(paint: &mut Paint, area: Rect, reading: &Reading, first: usize) {
    let Some(total) = reading.segment().map(|segment| &segment.total) else { return };
    let all = total.busiest();
    let shown = shown(first, all.len(), area.height);
    let table = table(area);
    let mut write = |n: u16, name: &str, part: &OperationInterval, ink: Ink| {
        let figures = Row::of_interval(total).of_operation(part);
        table.write(paint, n, |key, _| match key {
            ResultTableKey::Number => (String::new(), ink),
            ResultTableKey::What => (name.to_owned(), ink),
            ResultTableKey::Figure(n) => cell(n, &figures, ink),
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

/// Returns the positions of the operations that have a row below the heading. If not all operations fit, the last row
/// has the sum of the remaining operations.
fn shown(first: usize, all: usize, height: u16) -> Range<usize> {
    let room = height.saturating_sub(1);
    if all <= room.into() { 0..all } else { from(first, all, room.saturating_sub(1)) }
}

/// Returns the number of operations in the current segment.
pub fn count(reading: &Reading) -> usize {
    reading.segment().map_or(0, |segment| segment.total.commands.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_fit_are_counted() {
        let words = ["50×4", "rate 50 k/s", "reads 85 %"].map(str::to_owned);
        assert_eq!(fitted(&words, 99), "50×4, rate 50 k/s, reads 85 %");
        assert_eq!(fitted(&words, 20), "50×4, rate 50 k/s +1");
        assert_eq!(fitted(&words, 13), "50×4 +2");
        assert_eq!((fitted(&words, 1), fitted(&[], 9)), ("50×4 +2".to_owned(), String::new()));
    }

    #[test]
    fn a_wider_table_has_more_figures_and_a_narrow_one_keeps_the_first() {
        let of = |width| {
            let table = table(Rect::new(0, 0, width, 5));
            (table.row(1).count() - 2, table.cell(1, ResultTableKey::What).area.width)
        };
        assert_eq!(of(MIN_WIDTH), (1, WHAT));
        assert_eq!((of(40).0, of(60).0), (3, 5));
        assert_eq!(of(10), (0, 6));
    }

    #[test]
    fn operations_without_their_own_row_share_the_last_row() {
        assert_eq!((shown(0, 5, 6), shown(3, 5, 6)), (0..5, 0..5));
        assert_eq!((shown(0, 20, 6), shown(3, 20, 6), shown(99, 20, 6)), (0..4, 3..7, 16..20));
        assert_eq!((shown(0, 20, 0), shown(0, 20, 2)), (0..0, 0..0));
    }
}
