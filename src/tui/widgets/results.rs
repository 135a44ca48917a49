//! What came of it: a row for each segment. [`operations`](super::operations) stand in the same columns.
//!
//! ```text
//!   no what             ops/s     p50     p99
//!    2 clients 200      119 k 1.39 ms 3.51 ms
//!    1 50×1            74.2 k  508 µs 2.50 ms
//! ```

use ratatui::layout::Rect;

use super::{
    figures::{NONE, written},
    table::{Column, Table, fitting},
};
use crate::{
    print::segment_words,
    session::{
        figures::{self, Figure, Row, Unit},
        timeline::Reading,
    },
    tui::{Ink, Paint},
};

/// The figures of a row with their widths, a blank before each, the most needed first: `99.9 k`, `8.85 ms`.
const FIGURES: [(Figure, u16); 5] = [
    (figures::OPS_PER_S, 7),
    (figures::SERVICE_P50, 8),
    (figures::SERVICE_P99, 8),
    (figures::SERVICE_P999, 8),
    (figures::ERRORS, 7),
];
/// `200`, and a blank behind it.
const NUMBER: u16 = 4;
/// `clients 200`: less says too little.
const WHAT: u16 = 11;
/// What the tables need for one figure a row; less says nothing.
pub const MIN_WIDTH: u16 = NUMBER + WHAT + FIGURES[0].1;

/// The segments, the newest first.
pub fn segments(paint: &mut Paint, area: Rect, reading: &Reading) {
    let table = table(area);
    table.write(paint, 0, |key, _| (key.heading("no", "what"), Ink::Faint));
    // Each is told by what the one before it was not.
    let before = reading.segments().rev().skip(1).map(Some).chain([None]);
    let rows = reading.segments().rev().zip(before).enumerate();
    for (n, (segment, before)) in rows.take(area.height.saturating_sub(1).into()) {
        let figures = Row::of_interval(&segment.total);
        let ink = if n == 0 { Ink::Strong } else { Ink::Text };
        let what = segment_words(before.map(|before| &before.start), &segment.start);
        table.write(paint, n as u16 + 1, |key, room| match key {
            Key::Number => (segment.start.segment.to_string(), ink),
            Key::What => (fitted(&what, room), ink),
            Key::Figure(n) => cell(n, &figures, ink),
        });
    }
}

/// As many of `words` as fit whole, and how many do not: `50×4 +1`.
pub fn fitted(words: &[String], width: usize) -> String {
    let text = |shown: usize| {
        let hidden = words.len() - shown;
        words[..shown].join(", ") + &if hidden > 0 { format!(" +{hidden}") } else { String::new() }
    };
    let fits = |shown: &usize| text(*shown).chars().count() <= width;
    text((1..=words.len()).rev().find(fits).unwrap_or(words.len().min(1)))
}

/// What stands in column `n` of a row, as [`FIGURES`] orders them.
pub(super) fn cell(n: usize, row: &Row, ink: Ink) -> (String, Ink) {
    let (figure, _) = FIGURES[n];
    let text = written(figure, row);
    let ink = match figure.unit {
        _ if text == NONE => Ink::Faint,
        Unit::Trouble => Ink::Bad,
        _ => ink,
    };
    (text, ink)
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Key {
    Number,
    What,
    Figure(usize),
}

impl Key {
    pub(super) fn heading(self, number: &str, what: &str) -> String {
        let name = match self {
            Self::Number => number,
            Self::What => what,
            Self::Figure(n) => FIGURES[n].0.heading,
        };
        name.to_owned()
    }
}

/// As many figures as leave room to say what a row is about.
pub(super) fn table(area: Rect) -> Table<Key> {
    let room = area.width.saturating_sub(NUMBER + WHAT);
    let figures = FIGURES.iter().enumerate().take(fitting(room, FIGURES.map(|(_, width)| width)));
    let figures = figures.map(|(n, (_, width))| Column::right(Key::Figure(n), *width));
    let first = [Column::right(Key::Number, NUMBER - 1), Column::rest(Key::What, 1)];
    Table::new(area, first.into_iter().chain(figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
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
            (table.row(1).count() - 2, table.cell(1, Key::What).area.width)
        };
        assert_eq!(of(MIN_WIDTH), (1, WHAT));
        assert_eq!((of(40).0, of(60).0), (3, 5));
        assert_eq!(of(10), (0, 6));
    }
}
