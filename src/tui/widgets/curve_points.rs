//! The points of a curve as a table: the value, and what the load did there.

use ratatui::layout::Rect;

use super::{
    figures::{NONE, figure},
    knob_curve::{LEVELS, Over},
    table::around,
};
use crate::{
    session::timeline::Level,
    tui::{Ink, Paint, row},
    units,
};

/// The line at the left, the mark, the value, throughput, three levels, and a blank.
pub const WIDTH: u16 = 48;
/// `1.00 MiB`, and a blank before it.
const VALUE: u16 = 10;
/// `119 k/s`, and a blank before it.
const FIGURE: u16 = 8;
/// The line, a blank and the mark.
const MARK: u16 = 3;

/// Draws the heading and the points, those around the best where not all fit.
pub fn draw(paint: &mut Paint, area: Rect, over: &Over) {
    if area.width < MARK + VALUE + FIGURE || area.height < 2 {
        return;
    }
    let glyphs = paint.glyphs();
    (area.top()..area.bottom()).for_each(|y| paint.dot(area.x, y, glyphs.vertical, Ink::Faint));
    paint.rule(Rect { x: area.x + 1, width: area.width - 1, ..row(area, 0) }, "points");
    paint.dot(area.x, area.y, glyphs.branch_down, Ink::Faint);
    let list = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let heading = [over.name(), "ops/s"].into_iter().chain(LEVELS.map(Level::name));
    line(paint, row(list, 0), heading.map(|name| (name.to_owned(), Ink::Faint)));
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
        line(paint, place, first.into_iter().chain(levels).map(|text| (text.clone(), ink(&text))));
    }
}

fn line(paint: &mut Paint, place: Rect, cells: impl Iterator<Item = (String, Ink)>) {
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
