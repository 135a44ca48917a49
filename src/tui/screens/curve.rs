//! The Curve screen: throughput and latency as functions of the value of a knob, or a comparison of two settings.
//!
//! ```text
//! ─ throughput over clients ────────┬ points ───────────
//!  100 k┤      ⣀⠤●⠒⠒◆⠒⠒●            │ clients  ops/s p50
//!       │  ⡠⠊                       │      1   11 k  …
//! ─ service time over clients ──────┤
//!   1 ms┤          ⣀⡠■⠤⠒            │
//!       └──┴────┴────┴────┴──       │
//!          1    10   100            │
//!  ◆ fastest at clients 50: 102 k/s
//! ```
//!
//! A table lists the points of the curve: the value of the knob, throughput and percentiles.
//!
//! A text below the charts lists the results: the best point, the knee, the bounds of a search, and
//! unreliable points.
//!
//! An A/B comparison shows the difference of each pair. The comparison also shows how the confidence interval shrinks
//! from pair to pair.
//!
//! ```text
//! ─ A/B pipeline 16: throughput of B against A ────
//!            -10 %        0        +10 %      +20 %
//!  pair  7                 ┊    ├───•──●────┤
//!  pair  8                 ┊      ├──●•──┤
//! ```

use ratatui::layout::Rect;

use crate::{
    app::Model,
    experiment::{AfterPair, Curve, Pairs},
    tui::{
        Glyphs, Ink, Paint, Scene, from_column, row,
        widgets::{
            figures::NONE,
            knob_curve::{self, AnnotatedCurve},
            status,
            table::{ScreenTable, TableColumn, around},
        },
        wrapped,
    },
    units,
};

/// The minimum width with room for the points as a table.
const ROOM_FOR_POINTS: u16 = 104;
/// The minimum height of the two charts. Each chart needs a horizontal rule and two rows, and both charts
/// share an axis.
const LEAST_CHARTS: u16 = 8;

/// Draws the Curve screen, without header and footer. While the status line shows a problem, the last row shows the
/// progress of a running experiment.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let width = area.width.saturating_sub(1).into();
    let is_hidden = |_: &_| area.height > LEAST_CHARTS && status::sentence(model, width).1 == Ink::Bad;
    let running = model.experiment().filter(|experiment| !experiment.is_over());
    let area = match running.filter(is_hidden) {
        None => area,
        Some(experiment) => {
            let text = status::of_experiment(experiment, &experiment.progress(), width);
            paint.text(row(area, area.height - 1), &format!(" {text}"), Ink::Strong);
            Rect { height: area.height - 1, ..area }
        }
    };
    if let Some(pairs) = model.pairs_shown() {
        return draw_pairs(paint, area, &pairs);
    }
    let Some(curve) = model.curve().filter(|curve| !curve.points.is_empty()) else {
        return nothing(paint, area, model);
    };
    let over = knob_curve::AnnotatedCurve::new(model, &curve);
    let points = if area.width >= ROOM_FOR_POINTS { POINTS } else { 0 };
    let points = points + points.min(FIGURE) * (curve.headings().len() - 2 - Curve::LEVELS.len()) as u16;
    let left = Rect { width: area.width - points, ..area };
    points_list(paint, Rect { x: left.right(), width: points, ..area }, &over);
    let words = curve_words(&over, paint.glyphs());
    let said = (words.len() as u16).min(area.height.saturating_sub(LEAST_CHARTS));
    let charts = Rect { height: left.height - said, ..left };
    knob_curve::draw(paint, charts, &over);
    for (n, (text, ink)) in (0..said).zip(&words) {
        paint.text(row(left, charts.height + n), &format!(" {text}"), *ink);
    }
}

fn nothing(paint: &mut Paint, area: Rect, model: &Model) {
    let runs = model.experiment().is_some_and(|experiment| !experiment.is_over());
    let text = match model.playback {
        Some(_) => "no curve: each knob has only one value under load in this recording",
        None if runs => "the first point will be shown soon",
        None => {
            "the curve needs two values of a knob under load: change a knob, or type :sweep clients 1..1000, :find p99<1ms or :ab pipeline 16"
        }
    };
    let lines = wrapped(text, area.width.saturating_sub(4).into());
    let first = area.height.saturating_sub(lines.len() as u16) / 2;
    for (n, line) in (0..).zip(&lines) {
        let place = row(area, first + n);
        let x = place.x + place.width.saturating_sub(line.chars().count() as u16) / 2;
        paint.text(Rect { x, width: place.right().saturating_sub(x), ..place }, line, Ink::Faint);
    }
}

/// The width of the table of points. The table has a line at the left, a mark, the knob's value, throughput, three
/// percentiles, and a blank.
pub const POINTS: u16 = 48;
/// The width of `1.00 MiB` and a blank before it.
const VALUE: u16 = 10;
/// The width of `119 k/s` and a blank before it.
const FIGURE: u16 = 8;
/// The width of the line at the left, a blank and the mark.
const MARK: u16 = 3;

/// Draws the heading and the points. If not all points fit, the points around the best point are shown.
pub fn points_list(paint: &mut Paint, area: Rect, over: &AnnotatedCurve) {
    if area.width < MARK + VALUE + FIGURE || area.height < 2 {
        return;
    }
    let glyphs = paint.glyphs();
    (area.top()..area.bottom()).for_each(|y| paint.dot(area.x, y, glyphs.vertical, Ink::Faint));
    paint.rule(Rect { x: area.x + 1, width: area.width - 1, ..row(area, 0) }, "points");
    paint.dot(area.x, area.y, glyphs.branch_down, Ink::Faint);
    let list = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let headings = over.curve.headings();
    let columns = (0..headings.len()).map(|n| TableColumn::right(n, if n == 0 { VALUE } else { FIGURE }));
    let table = ScreenTable::new(from_column(list, list.x + MARK), columns);
    table.write(paint, 0, |n, _| (headings[n].to_owned(), Ink::Faint));
    let points = &over.curve.points;
    let best = over.best_under_limit().or_else(|| over.best());
    let at =
        points.iter().position(|point| best.is_some_and(|best| best.segments == point.segments)).unwrap_or(0);
    for (n, point) in (1..).zip(&points[around(at, points.len(), list.height - 1)]) {
        let place = row(list, n);
        let (mark, ink) = over.mark(point, glyphs);
        paint.dot(place.x + 2, place.y, mark, ink);
        let texts = over.curve.cells(point, NONE);
        let ink = |text: &str| if text == NONE { Ink::Faint } else { Ink::Text };
        table.write(paint, n, |n, _| (texts[n].clone(), ink(&texts[n])));
    }
}

/// The number of rows that are always reserved for the text. The charts therefore do not move when the text gets
/// longer.
const LEAST_WORDS: usize = 3;

/// Returns the conclusions from a curve, the most important first.
pub fn curve_words(over: &AnnotatedCurve, glyphs: &Glyphs) -> Vec<(String, Ink)> {
    let all = [
        best(over, glyphs),
        best_within_limit(over, glyphs),
        bounds(over),
        over.curve.knee().map(|knee| (knee, Ink::Text)),
        over.curve.limited().map(|limited| (format!("{} {limited}", glyphs.off), Ink::Warn)),
        unsteady(over),
    ];
    let mut lines: Vec<_> = all.into_iter().flatten().collect();
    lines.resize(lines.len().max(LEAST_WORDS), (String::new(), Ink::Text));
    lines
}

fn best(over: &AnnotatedCurve, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let best = over.best().filter(|_| over.curve.points.len() > 1)?;
    Some((format!("{} fastest at {}", glyphs.best, over.curve.described(best)), Ink::Text))
}

fn best_within_limit(over: &AnnotatedCurve, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let limit = over.limit.as_ref()?;
    Some(match over.best_under_limit() {
        Some(point) => (
            format!("{} best within {limit} at {}", glyphs.best_held, over.curve.described(point)),
            Ink::Text,
        ),
        None => (format!("no point keeps {limit}"), Ink::Warn),
    })
}

fn bounds(over: &AnnotatedCurve) -> Option<(String, Ink)> {
    let bounds = over.bounds.as_ref()?;
    let written = |value: u64| over.curve.dimension.written(value);
    let text = match (bounds.lower, bounds.upper) {
        (Some(lower), Some(upper)) => format!("met up to {}, not at {}", written(lower), written(upper)),
        (Some(lower), None) => format!("met up to {}", written(lower)),
        (None, Some(upper)) => format!("not met at {}", written(upper)),
        (None, None) => return None,
    };
    Some((format!("{} {text}", bounds.limit), Ink::Text))
}

/// Returns a warning with the number of points whose results were not steady.
fn unsteady(over: &AnnotatedCurve) -> Option<(String, Ink)> {
    let points = &over.curve.points;
    let unsteady = points.iter().filter(|point| point.is_steady == Some(false)).count();
    (unsteady > 0).then(|| (format!("{unsteady} of {} points not steady", points.len()), Ink::Warn))
}

/// The width of `pair 23` and a blank on either side.
const PAIR_LABEL: u16 = 9;
/// The width of a change such as `+12 %` and its blanks.
const PAIR_FIGURE: u16 = 9;
/// The axis of differences extends at least this far on both sides of zero.
const LEAST_CHANGE: f64 = 0.02;

/// Draws the confidence interval after each pair, the latest pair last. Below the intervals are the results of all
/// pairs so far.
pub fn draw_pairs(paint: &mut Paint, area: Rect, pairs: &Pairs) {
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

/// Returns the lines of a table row: one line if the row fits, otherwise the wrapped row.
fn wrapped_line(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width { vec![line.to_owned()] } else { wrapped(line, width) }
}

fn intervals(paint: &mut Paint, area: Rect, course: &[AfterPair]) {
    if course.is_empty() || area.width < PAIR_LABEL + PAIR_FIGURE + 10 || area.height < 2 {
        let text = "  no pair yet; each pair runs both settings for some seconds";
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
        .fold((-LEAST_CHANGE, LEAST_CHANGE), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
    let plot = Rect {
        x: area.x + PAIR_LABEL,
        width: area.width - PAIR_LABEL - PAIR_FIGURE,
        y: area.y + 1,
        height: rows,
    };
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
        paint.text(Rect { x: area.x + 1, width: PAIR_LABEL - 1, ..line }, &format!("pair {pair:>2}"), ink);
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
            paint.right(
                Rect { x: plot.right(), width: PAIR_FIGURE - 1, ..line },
                &units::change(change),
                ink,
            );
        }
    }
}

/// Returns all values in the row of a pair, as logarithms of ratios.
fn values(AfterPair { of_pair, so_far, .. }: &AfterPair) -> impl Iterator<Item = f64> {
    let ends = so_far.interval.into_iter().flat_map(|(low, high)| [low, high]);
    of_pair.iter().copied().chain(so_far.change.into_iter().chain(ends).map(f64::ln_1p))
}
