//! The table of all segments with their knobs and results, sorted by any column. If there is a baseline, the table
//! also shows the differences from the baseline.
//!
//! ```text
//!    no what            load    ops/s     p50     p99   ops/s vs 2      p99 vs 2
//!  ▸  3 clients 200    200×1    119 k 1.39 ms 3.51 ms   +18 % better  +40 % worse
//!     2 50×1            50×1    101 k  508 µs 2.50 ms   baseline
//! ```
//! If not all columns fit, the table leaves out the least important ones. The sort column always stays.
//!
//! Below the table are details of the selected segment: its differences from the baseline, and their
//! confidence intervals.
//!
//! ```text
//!  ─ segment 3 against 2, the baseline ──────────────────────────────────────
//!   200 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys
//!   ops/s    119 k   101 k  +18 %  better: more than noise, +15 % to +21 %
//!   p99    3.51 ms 2.50 ms  +40 %  not clear: drift is possible; repeat both in alternation, -2.1 % to +90 %
//! ```

use ratatui::layout::Rect;

use super::{
    figures::{is_nothing, written},
    results::fitted,
    table::{ScreenTable, TableColumn, around, fitting},
};
use crate::{
    app::{Model, SEGMENT_COLUMNS},
    compare::Difference,
    print::segment_words,
    session::{
        figures::{self, FIGURES, Figure, FigureUnit, Row},
        timeline::SegmentTotal,
    },
    stats::Verdict,
    tui::{Ink, Paint, row},
    units,
};

/// The width of the pointer and a blank.
const MARK: u16 = 2;
/// The minimum width for the changed knobs: `clients 200`.
const WHAT: u16 = 12;
/// The width of `+650 % not clear` and two blanks before it.
const DIFFERENCE: u16 = 18;

/// Returns the width of a column, with a blank before it.
fn width(figure: Figure) -> u16 {
    match figure.unit {
        FigureUnit::Number => 4,
        FigureUnit::Clock | FigureUnit::Length | FigureUnit::Latency => {
            (figure.heading.len() as u16 + 1).max(9)
        }
        FigureUnit::Shape => 12,
        FigureUnit::Setting | FigureUnit::Count | FigureUnit::Ratio => 8,
        FigureUnit::Trouble | FigureUnit::Bytes => (figure.heading.len() as u16).max(5) + 2,
    }
}

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SegmentTableKey {
    /// The pointer to the selected row.
    Mark,
    /// The knobs that changed.
    What,
    Figure(Figure),
    /// The difference of a figure from the baseline, and whether the difference is larger than noise.
    Difference(Figure),
}

/// The figures that are compared with the baseline.
const COMPARED: [Figure; 2] = [figures::OPS_PER_S, figures::SERVICE_P99];

/// Draws the heading and the rows, scrolled so that the selected row is visible.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let rows = model.segment_rows();
    let table = table(area, model, &rows);
    heading(paint, &table, model);
    let selected = model.selected_segment();
    let at = rows.iter().position(|segment| Some(segment.start.segment) == selected).unwrap_or(0);
    let shown = around(at, rows.len(), area.height.saturating_sub(1));
    for (n, segment) in rows[shown].iter().enumerate() {
        line(paint, &table, n as u16 + 1, model, segment);
    }
    if rows.is_empty() {
        paint.text(row(area, 1), "  no segment yet", Ink::Faint);
    }
}

/// Returns the table with the columns that fit. Columns get room in this order: the sort column, the two most
/// important figures, the differences from the baseline, and the other figures.
fn table(area: Rect, model: &Model, rows: &[&SegmentTotal]) -> ScreenTable<SegmentTableKey> {
    let sorted_by = model.segment_table.sorted_by;
    let now_s = model.known_s();
    let is_known = |figure: &Figure| rows.iter().any(|s| figure.value(&Row::of_segment(s, now_s)).is_some());
    let is_open = is_known(&figures::RATE) && rows.iter().any(|segment| !segment.start.is_part);
    let response = [figures::RESPONSE_P50, figures::RESPONSE_P99, figures::RESPONSE_P999];
    let only_open = [figures::RATE, figures::SEND_LAG, figures::SHED];
    let only_open = [&response[..], &only_open[..]].concat();
    let has_room = |figure: &Figure| *figure != sorted_by && (is_open || !only_open.contains(figure));
    let (first, others) = SEGMENT_COLUMNS.split_at(1);
    let of_receivers = figures::OF_RECEIVERS.into_iter().filter(is_known);
    let all = first.iter().copied().chain(of_receivers).chain(others.iter().copied());
    let mut needed: Vec<SegmentTableKey> = all.filter(has_room).map(SegmentTableKey::Figure).collect();
    let compared =
        COMPARED.into_iter().filter(|_| model.baseline().is_some()).map(SegmentTableKey::Difference);
    needed.splice(2..2, compared);
    if sorted_by != figures::SEGMENT {
        needed.insert(0, SegmentTableKey::Figure(sorted_by));
    }
    let room = area.width.saturating_sub(MARK + width(figures::SEGMENT) + WHAT);
    let shown = fitting(room, needed.iter().map(|key| column(*key).1));
    needed.truncate(shown);
    // From left to right, the figures are in the order of [`FIGURES`], followed by the differences.
    needed.sort_by_key(|key| match key {
        SegmentTableKey::Figure(figure) => FIGURES.iter().position(|known| known == figure),
        _ => Some(FIGURES.len()),
    });
    let first = [SegmentTableKey::Mark, SegmentTableKey::Figure(figures::SEGMENT), SegmentTableKey::What];
    ScreenTable::new(area, first.into_iter().chain(needed).map(|key| column(key).0))
}

/// Returns a column and its width.
fn column(key: SegmentTableKey) -> (TableColumn<SegmentTableKey>, u16) {
    match key {
        SegmentTableKey::Mark => (TableColumn::left(key, MARK, 1), MARK),
        SegmentTableKey::What => (TableColumn::rest(key, 1), WHAT),
        SegmentTableKey::Figure(figure) => (TableColumn::right(key, width(figure)), width(figure)),
        SegmentTableKey::Difference(_) => (TableColumn::left(key, DIFFERENCE, 2), DIFFERENCE),
    }
}

fn heading(paint: &mut Paint, table: &ScreenTable<SegmentTableKey>, model: &Model) {
    let sorted = &model.segment_table;
    let baseline = model.pinned.unwrap_or_default();
    table.write(paint, 0, |key, _| match key {
        SegmentTableKey::Mark => (String::new(), Ink::Text),
        SegmentTableKey::What => ("what".to_owned(), Ink::Faint),
        SegmentTableKey::Figure(figure) if figure == sorted.sorted_by => {
            let arrow = if sorted.is_descending { '↓' } else { '↑' };
            (format!("{}{arrow}", figure.heading), Ink::Strong)
        }
        SegmentTableKey::Figure(figure) => (figure.heading.to_owned(), Ink::Faint),
        SegmentTableKey::Difference(figure) => (format!("{} vs {baseline}", figure.heading), Ink::Faint),
    });
}

fn line(
    paint: &mut Paint,
    table: &ScreenTable<SegmentTableKey>,
    n: u16,
    model: &Model,
    segment: &SegmentTotal,
) {
    let number = segment.start.segment;
    let is_selected = model.selected_segment() == Some(number);
    let is_shown = model.shown().segment().is_some_and(|shown| shown.start.segment == number);
    let (name, ink) = match () {
        () if is_selected => (Ink::Selected, Ink::Strong),
        () if is_shown => (Ink::Strong, Ink::Strong),
        () => (Ink::Text, Ink::Text),
    };
    let pointer = paint.glyphs().pointer;
    let baseline = model.baseline();
    table.write(paint, n, |key, room| match key {
        SegmentTableKey::Mark if is_selected => (pointer.to_string(), Ink::Selected),
        SegmentTableKey::Mark => (String::new(), Ink::Text),
        SegmentTableKey::What => (fitted(&turned(model, segment), room), name),
        SegmentTableKey::Figure(figure) => {
            let row = Row::of_segment(segment, model.known_s());
            let text = written(figure, &row);
            let ink = match figure {
                _ if is_nothing(figure, &row) => Ink::Faint,
                _ if figure == figures::ERRORS => Ink::Bad,
                _ if figure == figures::LOST => Ink::Warn,
                _ if figure == figures::SEGMENT => name,
                _ => ink,
            };
            (text, ink)
        }
        SegmentTableKey::Difference(figure) => match baseline {
            Some(baseline) => compared(figure, segment, baseline, model.known_s()),
            None => (String::new(), Ink::Text),
        },
    });
}

/// Returns the difference of `figure` from the baseline as text, followed by a verdict such as `better` or `not
/// clear`.
fn compared(figure: Figure, segment: &SegmentTotal, baseline: &SegmentTotal, now_s: f64) -> (String, Ink) {
    if baseline.start.segment == segment.start.segment {
        let text = if figure == COMPARED[0] { "baseline" } else { "" };
        return (text.to_owned(), Ink::Strong);
    }
    let difference = Difference::of_segments(baseline, segment, figure, now_s);
    let Some((change, verdict)) = difference.change.zip(difference.verdict) else {
        return (String::new(), Ink::Text);
    };
    let word = if matches!(verdict, Verdict::Same { .. }) { "no diff." } else { verdict.word() };
    (format!("{:>6} {word}", units::change(change)), verdict_ink(Some(verdict)))
}

/// Returns the knobs that changed at the beginning of `segment`.
fn turned(model: &Model, segment: &SegmentTotal) -> Vec<String> {
    let before = model.segments().iter().take_while(|s| s.start.segment < segment.start.segment).last();
    segment_words(before.map(|before| &before.start), &segment.start)
}

/// Returns the colour of a verdict. The verdict is also written as text.
pub fn verdict_ink(verdict: Option<Verdict>) -> Ink {
    match verdict {
        Some(Verdict::Better) => Ink::Good,
        Some(Verdict::Worse) => Ink::Warn,
        Some(Verdict::Same { .. }) => Ink::Text,
        Some(Verdict::NotClear(_)) | None => Ink::Faint,
    }
}

/// The height of the details: a horizontal rule, the knobs, and six figures.
pub const DETAIL_ROWS: u16 = 8;

/// Draws the details of the selected segment.
pub fn draw_details(paint: &mut Paint, area: Rect, model: &Model) {
    let selected = model.selected_segment().and_then(|number| model.segments().numbered(number));
    let Some(segment) = selected else {
        paint.rule(row(area, 0), "");
        return;
    };
    let number = segment.start.segment;
    let baseline = model.baseline();
    let title = match baseline {
        Some(base) if base.start.segment == number => format!("segment {number}, the baseline"),
        Some(base) => format!("segment {number} compared with segment {}, the baseline", base.start.segment),
        None => format!("segment {number}"),
    };
    paint.rule(row(area, 0), &title);
    let inside = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    paint.text(row(inside, 1), &segment.start.knobs.to_string(), Ink::Strong);
    match (baseline, model.pinned) {
        (Some(base), _) if base.start.segment != number => details(paint, inside, model, segment, base),
        (Some(_), _) => {
            let text = "select another segment to compare both segments";
            paint.text(row(inside, 2), text, Ink::Faint);
        }
        (None, Some(lost)) => {
            let text = format!(
                "the list no longer contains the baseline, segment {lost}; press b to select another baseline"
            );
            paint.text(row(inside, 2), &text, Ink::Warn);
        }
        (None, None) => {
            let text = "press b to make this segment the baseline for all comparisons";
            paint.text(row(inside, 2), text, Ink::Faint);
        }
    }
}

/// The width of the names before the figures, and of each figure.
const NAME: u16 = 10;
const FIGURE: u16 = 9;

/// The figures to compare in the details. Response times are compared only if both segments have response times.
const DETAILS: [Figure; 6] = [
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::RESPONSE_P99,
];

fn details(paint: &mut Paint, area: Rect, model: &Model, segment: &SegmentTotal, base: &SegmentTotal) {
    let now_s = model.known_s();
    let [this, other] = [segment, base].map(|segment| Row::of_segment(segment, now_s));
    let both_open = this.response.is_some() && other.response.is_some();
    let applies = |figure: &Figure| *figure != figures::RESPONSE_P99 || both_open;
    let of_receivers = figures::OF_RECEIVERS.into_iter().filter(|figure| figure.value(&this).is_some());
    // The p50 and the p99 of the receivers, and their lost messages, replace the last figures of the replies.
    let of_receivers: Vec<_> = of_receivers.take(3).collect();
    let of_replies = DETAILS.into_iter().filter(applies).take(DETAILS.len() - of_receivers.len());
    // The columns are the name, both figures, the change and the verdict.
    let columns = [
        TableColumn::left(0, NAME, 0),
        TableColumn::right(1, FIGURE),
        TableColumn::right(2, FIGURE),
        TableColumn::right(3, FIGURE),
    ];
    let table = ScreenTable::new(area, columns.into_iter().chain([TableColumn::rest(4, 2)]));
    for (n, figure) in (2..).zip(of_replies.chain(of_receivers)) {
        let difference = Difference::of_segments(base, segment, figure, now_s);
        table.write(paint, n, |key, _| match key {
            0 => (figure.heading.to_owned(), Ink::Text),
            1 => (written(figure, &this), Ink::Strong),
            2 => (written(figure, &other), Ink::Faint),
            3 => (difference.change.map(units::change).unwrap_or_default(), Ink::Text),
            _ => (String::new(), Ink::Text),
        });
        let range = difference.range().map(|range| format!(", {range}")).unwrap_or_default();
        let ink = verdict_ink(difference.verdict);
        paint.parts(table.cell(n, 4).area, &[(&difference.words(), ink), (&range, Ink::Faint)]);
    }
}
