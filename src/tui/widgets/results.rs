//! What came of it: a row for each segment, and one for each command of the current segment, in the same columns.
//!
//! ```text
//!   no what             ops/s     p50     p99
//!    2 clients 200      119 k 1.39 ms 3.51 ms
//!    1 50×1            74.2 k  508 µs 2.50 ms
//! ```

use ratatui::layout::Rect;

use super::lanes::{NONE, figure};
use crate::{
    app::{change, value_words},
    session::timeline::{Level, Reading, SegmentTotal},
    stats::Latency,
    tui::{
        paint::{Paint, row},
        theme::Ink,
    },
    units,
};

/// The figures of a row with their widths, a blank before each, the most needed first: `99.9 k`, `8.85 ms`.
const FIGURES: [(&str, u16); 5] = [("ops/s", 7), ("p50", 8), ("p99", 8), ("p99.9", 8), ("errors", 7)];
/// `200`, and a blank behind it.
const NUMBER: u16 = 4;
/// `clients 200`: less says too little.
const WHAT: u16 = 11;
/// What the tables need for one figure a row; less says nothing.
pub const MIN_WIDTH: u16 = NUMBER + WHAT + FIGURES[0].1;

/// The segments, the newest first.
pub fn segments(paint: &mut Paint, area: Rect, reading: &Reading) {
    let columns = Columns::of(area);
    columns.heading(paint, row(area, 0), "no", "what");
    // Each is told by what the one before it was not.
    let before = reading.segments().rev().skip(1).map(Some).chain([None]);
    let rows = reading.segments().rev().zip(before).enumerate();
    for (n, (segment, before)) in rows.take(area.height.saturating_sub(1).into()) {
        let line = row(area, n as u16 + 1);
        let total = &segment.total;
        let figures = Figures {
            ops_per_s: (total.length_s > 0.0).then_some(total.ops_per_s),
            service: &total.service,
            errors: total.errors.values().sum(),
        };
        let ink = if n == 0 { Ink::Strong } else { Ink::Text };
        paint.right(columns.number(line), &segment.start.segment.to_string(), ink);
        let knobs = |segment: &SegmentTotal| segment.start.knobs;
        let mut what = change(before.map(knobs).as_ref(), &segment.start.knobs);
        if let Some(change) = &segment.start.config {
            what = vec![format!("{} {}", change.name, value_words(&change.to))];
        }
        if segment.start.warmup {
            what.insert(0, "warm-up".to_owned());
        }
        paint.text(columns.what(line), &fitted(&what, columns.what(line).width.into()), ink);
        columns.figures(paint, line, &figures, ink);
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

/// The commands of the current segment.
pub fn commands(paint: &mut Paint, area: Rect, reading: &Reading) {
    let columns = Columns::of(area);
    columns.heading(paint, row(area, 0), "", "command");
    let Some(total) = reading.segment().map(|segment| &segment.total) else { return };
    for (n, (command, part)) in total.commands.iter().enumerate() {
        let line = row(area, n as u16 + 1);
        let figures = Figures {
            ops_per_s: (total.length_s > 0.0).then(|| part.ops as f64 / total.length_s),
            service: &part.service,
            errors: part.errors.values().sum(),
        };
        paint.text(columns.what(line), command.name(), Ink::Text);
        columns.figures(paint, line, &figures, Ink::Text);
    }
}

/// How many commands the current segment has sent.
pub fn command_rows(reading: &Reading) -> u16 {
    reading.segment().map_or(0, |segment| segment.total.commands.len() as u16)
}

/// What stands in the columns of one row.
struct Figures<'a> {
    ops_per_s: Option<f64>,
    service: &'a Latency,
    errors: u64,
}

impl Figures<'_> {
    fn texts(&self) -> [String; FIGURES.len()] {
        let level = |level: Level| figure(level.of(self.service));
        let ops = self.ops_per_s.map_or_else(|| NONE.to_owned(), units::count);
        let errors = if self.errors == 0 { NONE.to_owned() } else { units::count(self.errors as f64) };
        [ops, level(Level::P50), level(Level::P99), level(Level::P999), errors]
    }
}

/// Where the columns of a table of this width stand.
#[derive(Clone, Copy)]
struct Columns {
    what: u16,
    figures: usize,
}

impl Columns {
    fn of(area: Rect) -> Self {
        let room = area.width.saturating_sub(NUMBER + WHAT);
        let width = |n: usize| FIGURES.iter().take(n).map(|(_, width)| width).sum::<u16>();
        let figures = (0..=FIGURES.len()).rev().find(|n| width(*n) <= room).unwrap_or(0);
        Self { what: area.width.saturating_sub(NUMBER + width(figures)), figures }
    }

    fn number(self, line: Rect) -> Rect {
        Rect { width: (NUMBER - 1).min(line.width), ..line }
    }

    fn what(self, line: Rect) -> Rect {
        Rect { x: line.x + NUMBER, width: self.what, ..line }.intersection(line)
    }

    fn heading(self, paint: &mut Paint, line: Rect, number: &str, what: &str) {
        paint.right(self.number(line), number, Ink::Faint);
        paint.text(self.what(line), what, Ink::Faint);
        self.each(line, |n, place| paint.right(place, FIGURES[n].0, Ink::Faint));
    }

    fn figures(self, paint: &mut Paint, line: Rect, figures: &Figures, ink: Ink) {
        let texts = figures.texts();
        self.each(line, |n, place| {
            let is_error = FIGURES[n].0 == "errors" && figures.errors > 0;
            let ink = if is_error { Ink::Bad } else { ink };
            paint.right(place, &texts[n], if texts[n] == NONE { Ink::Faint } else { ink });
        });
    }

    fn each(self, line: Rect, mut draw: impl FnMut(usize, Rect)) {
        let mut x = line.x + NUMBER + self.what;
        for (n, (_, width)) in FIGURES.iter().enumerate().take(self.figures) {
            draw(n, Rect { x, width: *width, ..line }.intersection(line));
            x += width;
        }
    }
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
        let of = |width| Columns::of(Rect::new(0, 0, width, 5));
        assert_eq!((of(MIN_WIDTH).figures, of(MIN_WIDTH).what), (1, WHAT));
        assert_eq!(of(40).figures, 3);
        assert_eq!(of(60).figures, 5);
        assert_eq!((of(10).figures, of(10).what), (0, 6));
    }
}
