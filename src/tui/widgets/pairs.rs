//! Two settings that are compared: how far apart each pair was, and how the interval shrinks.
//!
//! ```text
//! ─ A/B pipeline 16: throughput of B against A ────
//!            -10 %        0        +10 %      +20 %
//!  pair  7                 ┊    ├───•──●────┤
//!  pair  8                 ┊      ├──●•──┤
//! ```

use ratatui::layout::Rect;

use crate::{
    experiment::{AfterPair, Pairs},
    tui::{Ink, Paint, row, wrapped},
    units,
};

/// `pair 23` and a blank on either side.
const LABEL: u16 = 9;
/// `+12 % so far`, and blanks.
const FIGURE: u16 = 9;
/// The axis reaches so far on either side of no difference at least.
const LEAST: f64 = 0.02;

/// Draws what decides as intervals, the newest last, and what is known of all figures below.
pub fn draw(paint: &mut Paint, area: Rect, pairs: &Pairs) {
    paint.rule(row(area, 0), &pairs.title);
    let width = area.width.saturating_sub(2).into();
    let lines: Vec<_> = pairs.text.lines().flat_map(|line| wrapped_line(line, width)).collect();
    let said = (lines.len() as u16).min(area.height / 2);
    let plot = Rect { y: area.y + 1, height: area.height.saturating_sub(2 + said), ..area };
    intervals(paint, plot, &pairs.course);
    for (n, text) in (0..said).zip(&lines) {
        paint.text(row(area, area.height - said + n), &format!(" {text}"), Ink::Text);
    }
}

/// A line of a table as it is where it fits.
fn wrapped_line(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width { vec![line.to_owned()] } else { wrapped(line, width) }
}

fn intervals(paint: &mut Paint, area: Rect, course: &[AfterPair]) {
    if course.is_empty() || area.width < LABEL + FIGURE + 10 || area.height < 2 {
        let text = "  no pair yet; each takes some seconds of either setting";
        paint.text(row(area, area.height / 2), text, Ink::Faint);
        return;
    }
    let glyphs = paint.glyphs();
    let rows = area.height - 1;
    let first = course.len().saturating_sub(rows.into());
    let shown = &course[first..];
    let (low, high) = shown
        .iter()
        .flat_map(values)
        .fold((-LEAST, LEAST), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    let plot = Rect { x: area.x + LABEL, width: area.width - LABEL - FIGURE, y: area.y + 1, height: rows };
    let column = |value: f64| {
        let share = (value - low) / (high - low);
        plot.x + (share * f64::from(plot.width - 1)).round() as u16
    };
    let mut free_from = plot.x.saturating_sub(4);
    for value in [low, 0.0, high] {
        let text = if value == 0.0 { "none".to_owned() } else { units::change(value.exp_m1()) };
        let from = column(value).saturating_sub(text.chars().count() as u16 / 2).max(area.x);
        if from >= free_from {
            free_from =
                paint.text(Rect { x: from, width: area.right() - from, ..row(area, 0) }, &text, Ink::Faint)
                    + 1;
        }
    }
    (plot.top()..plot.bottom()).for_each(|y| paint.dot(column(0.0), y, glyphs.event_line, Ink::Faint));
    for (n, AfterPair { pair, of_pair, so_far }) in (0..rows).zip(shown) {
        let line = row(plot, n);
        let is_last = usize::from(n) + 1 == shown.len();
        let ink = if is_last { Ink::Strong } else { Ink::Text };
        paint.text(Rect { x: area.x + 1, width: LABEL - 1, ..line }, &format!("pair {pair:>2}"), ink);
        if let Some((low, high)) = so_far.interval {
            let (low, high) = (column(low.ln_1p()), column(high.ln_1p()));
            (low..=high).for_each(|x| paint.dot(x, line.y, glyphs.horizontal, Ink::Throughput));
            paint.dot(low, line.y, glyphs.branch_right, Ink::Throughput);
            paint.dot(high, line.y, glyphs.tick, Ink::Throughput);
        }
        if let Some(of_pair) = of_pair {
            paint.dot(column(*of_pair), line.y, glyphs.off, Ink::Faint);
        }
        if let Some(change) = so_far.change {
            paint.dot(column(change.ln_1p()), line.y, glyphs.lines[0], ink);
            paint.right(Rect { x: plot.right(), width: FIGURE - 1, ..line }, &units::change(change), ink);
        }
    }
}

/// All that a row shows, in logarithms.
fn values(AfterPair { of_pair, so_far, .. }: &AfterPair) -> impl Iterator<Item = f64> {
    let ends = so_far.interval.into_iter().flat_map(|(low, high)| [low, high]);
    of_pair.iter().copied().chain(so_far.change.into_iter().chain(ends).map(f64::ln_1p))
}
