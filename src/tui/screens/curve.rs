//! The Curve screen: throughput and latency over the value of a knob, or two settings that are compared.
//!
//! ```text
//! ─ throughput over clients ────────┬ points ───────────
//!  100 k┤      ⣀⠤●⠒⠒◆⠒⠒●            │ clients  ops/s p50
//!       │  ⡠⠊                       │      1   11 k  …
//! ─ service time over clients ──────┤
//!   1 ms┤          ⣀⡠■⠤⠒            │
//!       └──┴────┴────┴────┴──       │
//!          1    10   100            │
//!  ◆ clients 50 does most: 102 k/s  │
//! ```
//!
//! The points of a curve as a table: the value, and what the load did there.
//!
//! What a curve says, in lines: the best of its points, the knee, the bounds of a search, and what is not to be trusted.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    experiment::Point,
    session::timeline::Level,
    tui::{
        Glyphs, Ink, Paint, Scene, row,
        widgets::{
            figures::{NONE, figure},
            knob_curve::{self, LEVELS, Over},
            pairs,
            table::around,
        },
        wrapped,
    },
    units,
};

/// From this width on there is room for the points as a table.
const ROOM_FOR_POINTS: u16 = 104;
/// A rule and two rows for either chart, and the axis.
const LEAST_CHARTS: u16 = 8;

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    if let Some(pairs) = model.pairs_shown() {
        return pairs::draw(paint, area, &pairs);
    }
    let Some(curve) = model.curve().filter(|curve| !curve.points().is_empty()) else {
        return nothing(paint, area, model);
    };
    let over = knob_curve::Over::new(model, &curve);
    let points = if area.width >= ROOM_FOR_POINTS { POINTS } else { 0 };
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

/// The most important of it in a few lines.
pub fn draw_few(paint: &mut Paint, area: Rect, scene: &Scene) {
    if area.height >= LEAST_CHARTS + 2 || scene.model.pairs_shown().is_some() {
        return draw(paint, area, scene);
    }
    match scene.model.curve().filter(|curve| !curve.points().is_empty()) {
        Some(curve) => points_list(paint, area, &knob_curve::Over::new(scene.model, &curve)),
        None => nothing(paint, area, scene.model),
    }
}

fn nothing(paint: &mut Paint, area: Rect, model: &Model) {
    let runs = model.experiment().is_some_and(|experiment| !experiment.is_over());
    let text = match model.playback {
        Some(_) => "in this recording no knob has two values under load, so there is no curve",
        None if runs => "the first point comes soon",
        None => {
            "no knob has two values under load yet: turn one, or type :sweep clients 1..1000, :find p99<1ms or :ab pipeline 16"
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

/// The line at the left, the mark, the value, throughput, three levels, and a blank.
pub const POINTS: u16 = 48;
/// `1.00 MiB`, and a blank before it.
const VALUE: u16 = 10;
/// `119 k/s`, and a blank before it.
const FIGURE: u16 = 8;
/// The line, a blank and the mark.
const MARK: u16 = 3;

/// Draws the heading and the points, those around the best where not all fit.
pub fn points_list(paint: &mut Paint, area: Rect, over: &Over) {
    if area.width < MARK + VALUE + FIGURE || area.height < 2 {
        return;
    }
    let glyphs = paint.glyphs();
    (area.top()..area.bottom()).for_each(|y| paint.dot(area.x, y, glyphs.vertical, Ink::Faint));
    paint.rule(Rect { x: area.x + 1, width: area.width - 1, ..row(area, 0) }, "points");
    paint.dot(area.x, area.y, glyphs.branch_down, Ink::Faint);
    let list = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let heading = [over.name(), "ops/s"].into_iter().chain(LEVELS.map(Level::name));
    point_line(paint, row(list, 0), heading.map(|name| (name.to_owned(), Ink::Faint)));
    let points = over.curve.points();
    let best = over.best_under_limit().or_else(|| over.best());
    let at =
        points.iter().position(|point| best.is_some_and(|best| best.segments == point.segments)).unwrap_or(0);
    for (n, point) in (1..).zip(&points[around(at, points.len(), list.height - 1)]) {
        let place = row(list, n);
        let (mark, ink) = over.mark(point, glyphs);
        paint.dot(place.x + 2, place.y, mark, ink);
        let first = [over.curve.dimension().written(point.value), units::count(point.ops_per_s())];
        let levels = LEVELS.map(|level| figure(level.of(point.latency())));
        let ink = |text: &str| if text == NONE { Ink::Faint } else { Ink::Text };
        point_line(paint, place, first.into_iter().chain(levels).map(|text| (text.clone(), ink(&text))));
    }
}

fn point_line(paint: &mut Paint, place: Rect, cells: impl Iterator<Item = (String, Ink)>) {
    let mut x = place.x + MARK;
    for (n, (text, ink)) in cells.enumerate() {
        let width = if n == 0 { VALUE } else { FIGURE };
        if x + width > place.right() {
            return;
        }
        paint.right(Rect { x, width, ..place }, &text, ink);
        x += width;
    }
}

/// So many rows are kept for the lines, so that the charts stay as they are when there is more to say.
const LEAST_WORDS: usize = 3;

/// The lines, the most telling first.
pub fn curve_words(over: &Over, glyphs: &Glyphs) -> Vec<(String, Ink)> {
    let told = [best(over, glyphs), held(over, glyphs), bounds(over), knee(over), doubts(over, glyphs)];
    let mut lines: Vec<_> = told.into_iter().flatten().collect();
    lines.resize(lines.len().max(LEAST_WORDS), (String::new(), Ink::Text));
    lines
}

fn told(over: &Over, point: &Point) -> String {
    let dimension = over.curve.dimension();
    let level =
        Level::P99.of(point.latency()).map_or_else(String::new, |ns| format!(", p99 {}", units::latency(ns)));
    format!(
        "{} {}: {}{level}",
        dimension.name(),
        dimension.written(point.value),
        units::rate(point.ops_per_s())
    )
}

fn best(over: &Over, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let best = over.best().filter(|_| over.curve.points().len() > 1)?;
    Some((format!("{} the most at {}", glyphs.best, told(over, best)), Ink::Text))
}

fn held(over: &Over, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let limit = over.limit.as_ref()?;
    Some(match over.best_under_limit() {
        Some(point) => {
            (format!("{} of what holds {limit} at {}", glyphs.best_held, told(over, point)), Ink::Text)
        }
        None => (format!("no point holds {limit}"), Ink::Warn),
    })
}

fn bounds(over: &Over) -> Option<(String, Ink)> {
    let bounds = over.bounds.as_ref()?;
    let written = |value: u64| over.curve.dimension().written(value);
    let text = match (bounds.lower, bounds.upper) {
        (Some(lower), Some(upper)) => format!("holds up to {}, not for {}", written(lower), written(upper)),
        (Some(lower), None) => format!("holds up to {}", written(lower)),
        (None, Some(upper)) => format!("does not hold for {}", written(upper)),
        (None, None) => return None,
    };
    Some((format!("{} {text}", bounds.limit), Ink::Text))
}

fn knee(over: &Over) -> Option<(String, Ink)> {
    let knee = over.law?.knee()?;
    let at = over.curve.dimension().written(knee.at.round() as u64);
    let peak = units::rate(knee.peak);
    Some((format!("the knee is near {at}, {peak} (a model: universal scalability law)"), Ink::Text))
}

/// What is not to be trusted.
fn doubts(over: &Over, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let points = over.curve.points();
    let count = |is: fn(&Point) -> bool| points.iter().filter(|point| is(point)).count();
    let (limited, unsteady) =
        (count(|point| point.our_limit().is_some()), count(|point| point.is_steady == Some(false)));
    let all = points.len();
    let limited = (limited > 0)
        .then(|| format!("{} redyno itself was the limit at {limited} of {all} points", glyphs.off));
    let unsteady = (unsteady > 0).then(|| format!("{unsteady} of {all} not steady"));
    let told: Vec<_> = [limited, unsteady].into_iter().flatten().collect();
    (!told.is_empty()).then(|| (told.join("; "), Ink::Warn))
}
