//! Two settings that are compared: how far apart each pair was, and how the interval shrinks.
//!
//! ```text
//! ─ A/B pipeline 16: throughput of B against A ────
//!            -10 %        0        +10 %      +20 %
//!  pair  7                 ┊    ├───•──●────┤
//!  pair  8                 ┊      ├──●•──┤
//! ```

use ratatui::layout::Rect;

use super::figures::signed;
use crate::{
    experiment::{Ab, Experiment, Quantity},
    stats::paired::Shift,
    tui::{
        paint::{Paint, row, wrapped},
        theme::Ink,
    },
};

/// `pair 23` and a blank on either side.
const LABEL: u16 = 9;
/// `+12 % so far`, and blanks.
const FIGURE: u16 = 9;
/// The axis reaches so far on either side of no difference at least.
const LEAST: f64 = 0.02;

/// Draws what decides as intervals, the newest last, and what is known of all quantities below.
pub fn draw(paint: &mut Paint, area: Rect, ab: &Ab) {
    let (a, b) = ab.settings();
    let decides = ab.decides();
    let title = format!("{} of B, {}, against A, {}", decides.name(), b.words, a.words);
    paint.rule(row(area, 0), &title);
    let report = if ab.is_over() { ab.report() } else { words(ab) };
    let lines: Vec<_> =
        report.lines().flat_map(|line| wrapped_line(line, area.width.saturating_sub(2).into())).collect();
    let said = (lines.len() as u16).min(area.height.saturating_sub(4));
    let plot = Rect { y: area.y + 1, height: area.height.saturating_sub(2 + said), ..area };
    intervals(paint, plot, ab, decides);
    for (n, text) in (0..said).zip(&lines) {
        let ink = if n == 0 && ab.is_over() { Ink::Strong } else { Ink::Text };
        paint.text(row(area, area.height - said + n), &format!(" {text}"), ink);
    }
}

/// A line of a table as it is where it fits.
fn wrapped_line(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width { vec![line.to_owned()] } else { wrapped(line, width) }
}

/// How B compares by each quantity so far.
fn words(ab: &Ab) -> String {
    let verdict = ab.verdict();
    let line = |quantity: Quantity| format!("  {:<10} {}\n", quantity.name(), verdict.words(quantity));
    Quantity::ALL.map(line).concat()
}

fn intervals(paint: &mut Paint, area: Rect, ab: &Ab, quantity: Quantity) {
    let course = ab.course(quantity);
    if course.is_empty() || area.width < LABEL + FIGURE + 10 || area.height < 2 {
        paint.text(
            row(area, area.height / 2),
            "  no pair yet; each takes some seconds of either setting",
            Ink::Faint,
        );
        return;
    }
    let glyphs = paint.glyphs();
    let rows = area.height - 1;
    let first = course.len().saturating_sub(rows.into());
    let shown = &course[first..];
    let (low, high) = shown
        .iter()
        .flat_map(|(_, difference, shift)| values(*difference, *shift))
        .fold((-LEAST, LEAST), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    let plot = Rect { x: area.x + LABEL, width: area.width - LABEL - FIGURE, y: area.y + 1, height: rows };
    let column = |value: f64| {
        let share = (value - low) / (high - low);
        plot.x + (share * f64::from(plot.width - 1)).round() as u16
    };
    let mut free_from = plot.x.saturating_sub(4);
    for value in [low, 0.0, high] {
        let text = if value == 0.0 { "none".to_owned() } else { signed(value.exp_m1()) };
        let from = column(value).saturating_sub(text.chars().count() as u16 / 2).max(area.x);
        if from >= free_from {
            free_from =
                paint.text(Rect { x: from, width: area.right() - from, ..row(area, 0) }, &text, Ink::Faint)
                    + 1;
        }
    }
    (plot.top()..plot.bottom()).for_each(|y| paint.dot(column(0.0), y, glyphs.event_line, Ink::Faint));
    for (n, (pair, difference, shift)) in (0..rows).zip(shown) {
        let line = row(plot, n);
        let is_last = usize::from(n) + 1 == shown.len();
        let ink = if is_last { Ink::Strong } else { Ink::Text };
        paint.text(Rect { x: area.x + 1, width: LABEL - 1, ..line }, &format!("pair {:>2}", pair.pair), ink);
        if let Some((low, high)) = shift.and_then(|shift| shift.interval) {
            let (low, high) = (column(low), column(high));
            (low..=high).for_each(|x| paint.dot(x, line.y, glyphs.horizontal, Ink::Throughput));
            paint.dot(low, line.y, glyphs.branch_right, Ink::Throughput);
            paint.dot(high, line.y, glyphs.tick, Ink::Throughput);
        }
        if let Some(difference) = difference {
            paint.dot(column(*difference), line.y, glyphs.off, Ink::Faint);
        }
        if let Some(shift) = shift {
            paint.dot(column(shift.estimate), line.y, glyphs.lines[0], ink);
            paint.right(Rect { x: plot.right(), width: FIGURE - 1, ..line }, &signed(shift.share()), ink);
        }
    }
}

/// All that a row shows.
fn values(difference: Option<f64>, shift: Option<Shift>) -> impl Iterator<Item = f64> {
    let interval = shift.and_then(|shift| shift.interval);
    let ends = interval.into_iter().flat_map(|(low, high)| [low, high]);
    difference.into_iter().chain(shift.map(|shift| shift.estimate)).chain(ends)
}
