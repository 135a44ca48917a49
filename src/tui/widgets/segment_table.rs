//! The table of all segments: knobs and results, sorted by any column; with a baseline, how each differs from it.
//!
//! ```text
//!    no what            load    ops/s     p50     p99   ops/s vs 2      p99 vs 2
//!  ▸  3 clients 200    200×1    119 k 1.39 ms 3.51 ms   +18 % faster  +40 % slower
//!     2 50×1            50×1    101 k  508 µs 2.50 ms   baseline
//! ```
//! Columns that do not fit go whole, the least needed first; the one that the table is sorted by stays.

use ratatui::layout::Rect;

use super::{lanes::NONE, results::fitted, tables::clock};
use crate::{
    app::{Column, Model, segment_words},
    session::timeline::{Against, Level, SegmentTotal},
    stats::{Comparison, Verdict, comparison},
    tui::{
        paint::{Paint, row},
        theme::Ink,
    },
    units,
};

/// The pointer, and a blank.
const MARK: u16 = 2;
/// The least room for what was turned: `clients 200`.
const WHAT: u16 = 12;
/// `+1100 % not yet`, and two blanks before it.
const DIFFERENCE: u16 = 17;

/// Columns of figures from the most needed to the least.
const NEEDED: [Column; 15] = [
    Column::Ops,
    Column::Service(Level::P99),
    Column::Service(Level::P50),
    Column::Errors,
    Column::Service(Level::P999),
    Column::Response,
    Column::Service(Level::Max),
    Column::Length,
    Column::Rate,
    Column::Shape,
    Column::Cpu,
    Column::Behind,
    Column::Start,
    Column::Shed,
    Column::Service(Level::P90),
];

/// How wide a column is, with a blank before it.
fn width(column: Column) -> u16 {
    match column {
        Column::Number => 4,
        Column::Start | Column::Length | Column::Service(_) | Column::Response | Column::Behind => 9,
        Column::Shape => 12,
        Column::Rate | Column::Ops | Column::Errors | Column::Cpu => 8,
        Column::Shed => 7,
    }
}

/// Draws the heading and the rows, scrolled so that the selected one is shown.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let rows = model.segment_rows();
    let columns = Columns::fitting(area.width, model, &rows);
    heading(paint, row(area, 0), model, &columns);
    let selected = model.selected_segment();
    let at = rows.iter().position(|segment| Some(segment.start.segment) == selected).unwrap_or(0);
    let height = usize::from(area.height.saturating_sub(1));
    let first = (at + 1)
        .saturating_sub(height)
        .max(at.saturating_sub(height / 2))
        .min(rows.len().saturating_sub(height));
    for (n, segment) in rows.iter().skip(first).take(height).enumerate() {
        line(paint, row(area, n as u16 + 1), model, &columns, segment);
    }
    if rows.is_empty() {
        paint.text(row(area, 1), "  no segment yet", Ink::Faint);
    }
}

/// Which columns there are room for.
struct Columns {
    what: u16,
    figures: Vec<Column>,
    /// How many differences to the baseline: of the replies per second, of the p99.
    differences: u16,
}

impl Columns {
    fn fitting(whole: u16, model: &Model, rows: &[&SegmentTotal]) -> Self {
        let sorted_by = model.segment_table.sorted_by();
        let now_s = model.known_s();
        let is_open = rows.iter().any(|segment| Column::Rate.value(segment, now_s).is_some());
        let only_open = [Column::Rate, Column::Response, Column::Behind, Column::Shed];
        let mut room = whole.saturating_sub(MARK + width(Column::Number) + WHAT);
        let mut take = |needed: u16| {
            let fits = needed <= room;
            room -= if fits { needed } else { 0 };
            fits
        };
        let mut figures = vec![Column::Number];
        if sorted_by != Column::Number && take(width(sorted_by)) {
            figures.push(sorted_by);
        }
        let has_room = |column: &Column| is_open || !only_open.contains(column);
        let mut needed = NEEDED.into_iter().filter(|c| *c != sorted_by && has_room(c)).peekable();
        for column in needed.by_ref().take(2) {
            if take(width(column)) {
                figures.push(column);
            }
        }
        let differences = if model.baseline().is_some() { 2 } else { 0 };
        let differences = (0..differences).filter(|_| take(DIFFERENCE)).count() as u16;
        figures.extend(needed.take_while(|column| take(width(*column))));
        figures.sort_by_key(|column| Column::ALL.iter().position(|known| known == column));
        Self { what: WHAT + room, figures, differences }
    }

    /// Where `figure` stands.
    fn places(&self, line: Rect) -> impl Iterator<Item = (Column, Rect)> {
        let mut x = line.x + MARK;
        self.figures.iter().map(move |column| {
            let place = Rect { x, width: width(*column), ..line }.intersection(line);
            // What was turned stands behind the number.
            x += width(*column) + if *column == Column::Number { self.what } else { 0 };
            (*column, place)
        })
    }

    fn what(&self, line: Rect) -> Rect {
        let x = line.x + MARK + width(Column::Number) + 1;
        Rect { x, width: self.what - 1, ..line }.intersection(line)
    }

    fn difference(&self, line: Rect, n: u16) -> Rect {
        let figures: u16 = self.figures.iter().map(|column| width(*column)).sum();
        let x = line.x + MARK + self.what + figures + DIFFERENCE * n + 2;
        Rect { x, width: DIFFERENCE - 2, ..line }.intersection(line)
    }
}

fn heading(paint: &mut Paint, line: Rect, model: &Model, columns: &Columns) {
    paint.text(columns.what(line), "what", Ink::Faint);
    let table = &model.segment_table;
    for (column, place) in columns.places(line) {
        if column == table.sorted_by() {
            let arrow = if table.is_descending() { '↓' } else { '↑' };
            paint.right(place, &format!("{}{arrow}", column.name()), Ink::Strong);
        } else {
            paint.right(place, column.name(), Ink::Faint);
        }
    }
    let Some(number) = model.baseline_number() else { return };
    for (n, name) in ["ops/s", "p99"].into_iter().enumerate().take(columns.differences.into()) {
        paint.text(columns.difference(line, n as u16), &format!("{name} vs {number}"), Ink::Faint);
    }
}

fn line(paint: &mut Paint, line: Rect, model: &Model, columns: &Columns, segment: &SegmentTotal) {
    let number = segment.start.segment;
    let is_selected = model.selected_segment() == Some(number);
    let is_shown = model.shown().segment().is_some_and(|shown| shown.start.segment == number);
    let ink = match () {
        () if is_selected => Ink::Selected,
        () if is_shown => Ink::Strong,
        () => Ink::Text,
    };
    if is_selected {
        paint.dot(line.x + 1, line.y, paint.glyphs().pointer, Ink::Selected);
    }
    for (column, place) in columns.places(line) {
        let text = figure(column, segment, model.known_s());
        let ink = match column {
            _ if text == NONE => Ink::Faint,
            Column::Errors => Ink::Bad,
            Column::Number => ink,
            _ if is_selected || is_shown => Ink::Strong,
            _ => Ink::Text,
        };
        paint.right(place, &text, ink);
    }
    let what = columns.what(line);
    paint.text(what, &fitted(&turned(model, segment), what.width.into()), ink);
    let Some(baseline) = model.baseline().filter(|_| columns.differences > 0) else { return };
    if baseline.start.segment == number {
        paint.text(columns.difference(line, 0), "baseline", Ink::Strong);
        return;
    }
    let Against { ops_per_s, service_p99, .. } = segment.against(baseline);
    let compared = [(Column::Ops, ops_per_s), (Column::Service(Level::P99), service_p99)];
    for (n, (column, comparison)) in compared.into_iter().enumerate().take(columns.differences.into()) {
        let Some(change) = difference(column, segment, baseline, model.known_s()) else { continue };
        let (word, ink) = in_short(&comparison);
        let place = columns.difference(line, n as u16);
        paint.parts(place, &[(&format!("{change:>7} "), ink), (word, ink)]);
    }
}

/// What was turned at the beginning of `segment`.
fn turned(model: &Model, segment: &SegmentTotal) -> Vec<String> {
    let before = model.segments().iter().take_while(|s| s.start.segment < segment.start.segment).last();
    segment_words(before.map(|before| &before.start), &segment.start)
}

/// A figure as it is written, or the sign that there is none.
pub fn figure(column: Column, segment: &SegmentTotal, now_s: f64) -> String {
    let Some(value) = column.value(segment, now_s) else { return NONE.to_owned() };
    let knobs = &segment.start.knobs;
    match column {
        Column::Number => format!("{value}"),
        Column::Start | Column::Length => clock(value),
        Column::Shape => format!("{}×{}", knobs.clients, knobs.pipeline),
        Column::Rate => units::setting(value as u64),
        Column::Ops => units::count(value),
        Column::Service(_) | Column::Response | Column::Behind => units::latency(value as u64),
        Column::Shed | Column::Errors if value == 0.0 => NONE.to_owned(),
        Column::Shed | Column::Errors => units::count(value),
        Column::Cpu => units::percent(value),
    }
}

/// How much more `segment` has than `baseline`: `+18 %`, `-2.5 %`; `None` where one of them has nothing.
pub fn difference(
    column: Column,
    segment: &SegmentTotal,
    baseline: &SegmentTotal,
    now_s: f64,
) -> Option<String> {
    let change = comparison::change(column.value(baseline, now_s)?, column.value(segment, now_s)?)?;
    let sign = if change < 0.0 { "-" } else { "+" };
    Some(match change.abs() {
        tiny if tiny < 0.0005 => "±0 %".to_owned(),
        // A hundred times as much is read as such, not as percents.
        many if many >= 9.995 => format!("×{:.0}", change + 1.0),
        share => format!("{sign}{}", units::percent(share)),
    })
}

/// A verdict in a word.
fn in_short(comparison: &Comparison) -> (&'static str, Ink) {
    let word = match comparison.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same { .. } => "same",
        Verdict::NotYet { .. } => "not yet",
        Verdict::Drift => "drift?",
    };
    (word, verdict_ink(comparison.verdict))
}

/// How a verdict looks; it is always said in words, too.
pub fn verdict_ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Faster => Ink::Good,
        Verdict::Slower => Ink::Warn,
        Verdict::Same { .. } | Verdict::Drift => Ink::Text,
        Verdict::NotYet { .. } => Ink::Faint,
    }
}
