//! Charts of throughput and latency over the values of a load setting (knob), with a point for each value. The charts
//! share an axis. If the load searches for nearest vectors, a third chart shows the recall.
//!
//! ```text
//! ─ throughput over clients, replies/s ───────────── ┊ knee (model)
//!  100 k┤         ⣀⠤●⠤⠒⠒◆⠒⠒⠒●
//!     0 ┤●⠤⠔⠊
//! ─ service time over clients ──────── ● p50  ■ p99  ○ p99.9
//!   1 ms┤              ⣀⡠■⠤⠒⠒
//! 100 µs┤●⠤⠤⠤●⠤⠤⠒⠒●
//!       └┴─────┴──────┴─────┴─
//!        1    10     100   clients
//! ```
//! A line joins points that differ only in this knob. If there are several lines, each label names the other
//! knobs of the line. The horizontal axis is logarithmic if the largest value is at least ten times the
//! smallest.

use ratatui::layout::Rect;

use super::{
    figures::{decade, trimmed},
    value_axis::{self, Height},
};
use crate::{
    app::{AxisScale, Model, ValueAxis},
    experiment::{Curve, CurvePoint, Limit, SearchBounds},
    session::timeline::Level,
    stats::Usl,
    tui::{Dots, Glyphs, Ink, Paint, linear_top, row},
    units,
};

/// A curve with its annotations.
pub struct AnnotatedCurve<'a> {
    /// The curve.
    pub curve: &'a Curve,
    /// The fit of the universal scalability law to the curve, if there is one.
    pub law: Option<Usl>,
    /// The limit of a search, if there was one.
    pub limit: Option<Limit>,
    /// The bounds of the search.
    pub bounds: Option<SearchBounds>,
    x: ValueAxis,
}

impl<'a> AnnotatedCurve<'a> {
    /// Adds the annotations from `model` to a curve.
    pub fn new(model: &Model, curve: &'a Curve) -> Self {
        let dimension = curve.dimension;
        let (limit, bounds) = (model.curve_limit(dimension), model.curve_bounds(dimension));
        Self {
            law: curve.law(),
            x: x_axis(curve, model.curve_values(dimension), bounds.as_ref()),
            limit,
            bounds,
            curve,
        }
    }

    /// Returns the point with the most throughput.
    pub fn best(&self) -> Option<&CurvePoint> {
        self.curve.best(None)
    }

    /// Returns the point with the most throughput among the points that keep the limit.
    pub fn best_under_limit(&self) -> Option<&CurvePoint> {
        self.limit.as_ref().and_then(|limit| self.curve.best(Some(limit)))
    }

    /// Returns the name of the knob.
    pub fn name(&self) -> &'static str {
        self.curve.dimension.name()
    }

    /// Returns the mark of a point in the throughput chart.
    pub fn mark(&self, point: &CurvePoint, glyphs: &Glyphs) -> (char, Ink) {
        let is = |best: Option<&CurvePoint>| best.is_some_and(|best| best.segments == point.segments);
        match () {
            () if is(self.best_under_limit()) => (glyphs.best_held, Ink::Good),
            () if is(self.best()) => (glyphs.best, Ink::Strong),
            () if point.our_limit().is_some() => (glyphs.off, Ink::Warn),
            () => (glyphs.lines[0], Ink::Throughput),
        }
    }
}

/// The horizontal axis is logarithmic if the largest value is at least this many times the smallest.
const WIDE: f64 = 10.0;
/// The margin before the first and after the last value, as a share of the axis.
const BESIDE: f64 = 0.03;

/// Returns a horizontal axis that contains the points of the curve, the values that an experiment will measure, and
/// the bounds of a search.
fn x_axis(curve: &Curve, planned: &[u64], bounds: Option<&SearchBounds>) -> ValueAxis {
    let bounds = bounds.into_iter().flat_map(|bounds| [bounds.lower, bounds.upper]).flatten();
    let values = curve.points.iter().map(|point| point.value).chain(planned.iter().copied()).chain(bounds);
    let values = values.map(|value| value as f64);
    let (low, high) =
        values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    if low > 0.0 && high / low >= WIDE {
        let beside = (high / low).powf(BESIDE);
        return ValueAxis { low: low / beside, high: high * beside, scale: AxisScale::Log };
    }
    let beside = ((high - low) * BESIDE).max(high * 0.01).max(0.5);
    ValueAxis { low: low - beside, high: high + beside, scale: AxisScale::Linear }
}

/// The width of `100 µs` and of the axis line.
const GUTTER: u16 = 8;

/// Draws the charts and the horizontal axis.
pub fn draw(paint: &mut Paint, area: Rect, over: &AnnotatedCurve) {
    if area.height < 6 || area.width < GUTTER + 12 {
        return;
    }
    let (charts, name) = (area.height - 2, over.name());
    let upper = if over.curve.has_recall() { charts / 3 } else { charts * 2 / 5 };
    let lowest = if over.curve.has_recall() { charts / 4 } else { 0 };
    let [above, below, lowest] = [(0, upper), (upper, charts - upper - lowest), (charts - lowest, lowest)]
        .map(|(y, height)| Rect { y: area.y + y, height, ..area });
    paint.rule(row(above, 0), &format!("throughput over {name}, replies/s"));
    let title = format!("{} time over {name}", over.curve.latency_name());
    paint.rule(row(below, 0), &title);
    legend(paint, row(below, 0), over, title.chars().count() as u16 + 3);
    let plots = [above, below, lowest].map(|chart| Rect {
        x: chart.x + GUTTER,
        y: chart.y + 1,
        width: chart.width - GUTTER - 1,
        height: chart.height.saturating_sub(1),
    });
    throughput(paint, plots[0], over);
    latency(paint, plots[1], over);
    if over.curve.has_recall() {
        paint.rule(row(lowest, 0), &format!("recall over {name}"));
        recall(paint, plots[2], over);
    }
    plots.iter().for_each(|plot| marks(paint, *plot, over));
    labels(paint, plots[0], over);
    x_labels(paint, Rect { y: area.bottom() - 2, height: 2, ..plots[1] }, over);
}

/// The percentile whose colour and mark are used for the p99 of the receivers' times. The replies have no line for this
/// percentile.
const RECEIVED: Level = Level::P90;

fn legend(paint: &mut Paint, line: Rect, over: &AnnotatedCurve, title: u16) {
    let glyphs = paint.glyphs();
    let entry =
        |level: Level| (format!(" {} {} ", glyphs.lines[level as usize], level.name()), Ink::Level(level));
    let mark = glyphs.lines[RECEIVED as usize];
    let received =
        over.curve.received_heading().map(|name| (format!(" {mark} {name}"), Ink::Level(RECEIVED)));
    let entries: Vec<_> = Curve::LEVELS.map(entry).into_iter().chain(received).collect();
    let length: usize = entries.iter().map(|(text, _)| text.chars().count()).sum();
    let x = line.right().saturating_sub(length as u16 + 1).max(line.x + title.min(line.width / 2));
    paint.parts(Rect { x, width: line.right().saturating_sub(x), ..line }, &entries);
}

/// Returns the column of dots for a value of the knob.
fn column(over: &AnnotatedCurve, value: f64, dots: Dots) -> u16 {
    let last = dots.columns().saturating_sub(1);
    (over.x.share(value).clamp(0.0, 1.0) * f64::from(last)).round() as u16
}

fn throughput(paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
    let rates = over.curve.points.iter().map(CurvePoint::ops_per_s);
    let top = linear_top(rates.fold(0.0, f64::max));
    let axis = ValueAxis { low: 0.0, high: top * 1.02, scale: AxisScale::Linear };
    y_axis(paint, plot, &axis, |rate| trimmed(&units::count(rate)));
    law(paint, plot, over, &axis);
    let (value, glyphs) = (|point: &CurvePoint| Some(point.ops_per_s()), paint.glyphs());
    let mark = |point: &CurvePoint| over.mark(point, glyphs);
    let trace = CurveTrace { axis: &axis, value: &value, ink: Ink::Throughput, mark: &mark };
    trace.draw(paint, plot, over);
    trace.names(paint, plot, over);
}

/// Draws the vertical axis left of `plot`. `label` formats its values.
fn y_axis(paint: &mut Paint, plot: Rect, axis: &ValueAxis, label: impl Fn(f64) -> String) {
    let chart = Rect { x: plot.x - GUTTER, width: plot.width + GUTTER, ..plot };
    value_axis::draw(paint, chart, plot.x - 1, axis, label);
}

/// The largest distance of a line's label from its last point, in columns.
const FAR: u16 = 12;

/// A figure to draw at the points of a curve, with its axis, ink and marks.
struct CurveTrace<'a> {
    /// The vertical axis of the quantity.
    axis: &'a ValueAxis,
    /// Returns the value of the figure at a point, if known.
    value: &'a dyn Fn(&CurvePoint) -> Option<f64>,
    /// The ink of the lines between points.
    ink: Ink,
    /// Returns the mark and the ink of a point.
    mark: &'a dyn Fn(&CurvePoint) -> (char, Ink),
}

impl CurveTrace<'_> {
    /// Draws the lines, and the points above the lines.
    fn draw(&self, paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
        let dots = Dots::of(paint, plot);
        for line in over.curve.lines() {
            line.points.windows(2).for_each(|pair| self.join(paint, over, dots, [pair[0], pair[1]]));
        }
        over.curve.points.iter().for_each(|point| self.dot(paint, over, dots, point));
    }

    /// Returns the dot of a point: its column from the left and its row from the bottom.
    fn place(&self, over: &AnnotatedCurve, dots: Dots, point: &CurvePoint) -> Option<(u16, u16)> {
        let height = Height::of((self.value)(point)?, self.axis, dots);
        Some((column(over, point.value as f64, dots), height.dot(dots)))
    }

    /// Joins two points with a line of dots.
    fn join(&self, paint: &mut Paint, over: &AnnotatedCurve, dots: Dots, ends: [&CurvePoint; 2]) {
        let [Some(from), Some(to)] = ends.map(|point| self.place(over, dots, point)) else { return };
        let [x, y, end_x, end_y] = [from.0, from.1, to.0, to.1].map(i32::from);
        let few = paint.glyphs().few;
        let steps = (end_x - x).abs().max((end_y - y).abs()).max(1);
        for n in 0..=steps {
            let at = |from: i32, to: i32| {
                (f64::from(from) + f64::from(to - from) * f64::from(n) / f64::from(steps)).round() as u16
            };
            dots.draw(paint, (at(x, end_x), at(y, end_y)), few, self.ink);
        }
    }

    /// Draws the label of each line near its last point, if there is room. The label is at the right or left of the
    /// point, in the same or a neighbouring row.
    fn names(&self, paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
        let dots = Dots::of(paint, plot);
        for line in over.curve.lines().into_iter().filter(|line| !line.label.is_empty()) {
            let Some((x, up)) = line.points.last().and_then(|point| self.place(over, dots, point)) else {
                continue;
            };
            let (x, y) = dots.cell(x, up);
            let width = line.label.chars().count() as u16;
            let rows = [y, y + 1, y.saturating_sub(1)].into_iter().filter(|y| plot.rows().any(|r| r.y == *y));
            let near = (1..=FAR).map(|gap| x.saturating_sub(width + gap));
            let places =
                rows.flat_map(|y| std::iter::once(x + 2).chain(near.clone()).map(move |from| (from, y)));
            let is_free = |&(from, y): &(u16, u16)| {
                let is_inside = from > plot.x && from + width <= plot.right();
                is_inside && (from - 1..=from + width).all(|x| paint.at(x, y) == Some(" "))
            };
            if let Some((x, y)) = places.into_iter().find(is_free) {
                paint.text(Rect { x, y, width, height: 1 }, &line.label, self.ink);
            }
        }
    }

    /// Draws one point.
    fn dot(&self, paint: &mut Paint, over: &AnnotatedCurve, dots: Dots, point: &CurvePoint) {
        let Some((x, up)) = self.place(over, dots, point) else { return };
        let ((x, y), (mark, ink)) = (dots.cell(x, up), (self.mark)(point));
        paint.dot(x, y, mark, ink);
    }
}

/// Draws the fit of the universal scalability law as a dashed line behind the measurements, if there is one.
fn law(paint: &mut Paint, plot: Rect, over: &AnnotatedCurve, axis: &ValueAxis) {
    let Some(law) = over.law else { return };
    let dots = Dots::of(paint, plot);
    let mark = paint.glyphs().target_line;
    for x in (0..dots.columns()).filter(|x| !dots.is_braille() || x % 4 < 2) {
        let value = over.x.value(f64::from(x) / f64::from(dots.columns().max(2) - 1));
        if let Height::At(up) = Height::of(law.at(value.max(1.0)), axis, dots) {
            dots.draw(paint, (x, up), mark, Ink::Faint);
        }
    }
}

fn latency(paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
    let value = |point: &CurvePoint, level: Level| {
        let ns = if level == RECEIVED { point.received_p99() } else { level.of(point.latency()) };
        ns.map(|ns| ns.max(1) as f64)
    };
    let [p50, p99, p999] = Curve::LEVELS;
    let levels = [p50, p99, p999, RECEIVED];
    let all = || over.curve.points.iter().flat_map(|point| levels.map(|level| value(point, level))).flatten();
    let (low, high) = all().fold((f64::MAX, 0.0_f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    if high <= 0.0 {
        paint.text(row(plot, plot.height / 2), "  too few replies for a percentile", Ink::Faint);
        return;
    }
    let axis = value_axis::log_axis(low, high);
    y_axis(paint, plot, &axis, |ns| decade(ns.round() as u64));
    // The line of the lowest percentile is drawn last, above the other lines.
    for level in levels.into_iter().rev() {
        let look = (paint.glyphs().lines[level as usize], Ink::Level(level));
        let value = |point: &CurvePoint| value(point, level);
        CurveTrace { axis: &axis, value: &value, ink: look.1, mark: &|_| look }.draw(paint, plot, over);
    }
}

fn recall(paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
    let least = over.curve.points.iter().filter_map(CurvePoint::recall).fold(1.0, f64::min);
    let low = ((least * 10.0).ceil() - 1.0).max(0.0) / 10.0;
    let axis = ValueAxis { low, high: 1.02, scale: AxisScale::Linear };
    y_axis(paint, plot, &axis, units::percent);
    let look = (paint.glyphs().lines[0], Ink::Server);
    CurveTrace { axis: &axis, value: &CurvePoint::recall, ink: look.1, mark: &|_| look }
        .draw(paint, plot, over);
}

/// Returns the vertical lines of the charts: the bounds of a search, and the knee.
fn lines(over: &AnnotatedCurve) -> Vec<(f64, &'static str, Ink)> {
    let knee = over.law.and_then(|law| law.knee).map(|knee| (knee.at, "knee (model)", Ink::Faint));
    let bounds = over.bounds.as_ref();
    let lower = bounds.and_then(|bounds| bounds.lower).map(|value| (value as f64, "holds", Ink::Good));
    let upper = bounds.and_then(|bounds| bounds.upper).map(|value| (value as f64, "does not", Ink::Bad));
    [knee, lower, upper]
        .into_iter()
        .flatten()
        .filter(|(value, ..)| (0.0..=1.0).contains(&over.x.share(*value)))
        .collect()
}

fn marks(paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
    let dots = Dots::of(paint, plot);
    let glyph = paint.glyphs().event_line;
    for (value, _, ink) in lines(over) {
        let (x, _) = dots.cell(column(over, value, dots), 0);
        (plot.top()..plot.bottom()).for_each(|y| paint.dot_if_blank(x, y, glyph, ink));
    }
}

/// Draws the names of the vertical lines, each in its own row. The name of the lower bound is left of its line, and
/// the other names are right of their lines.
fn labels(paint: &mut Paint, plot: Rect, over: &AnnotatedCurve) {
    let dots = Dots::of(paint, plot);
    for (value, name, ink) in lines(over) {
        let (x, _) = dots.cell(column(over, value, dots), 0);
        let length = name.chars().count() as u16;
        let before = x.saturating_sub(length + 1);
        let is_before = before > plot.x && (ink == Ink::Good || x + 2 + length > plot.right());
        let from = if is_before { before } else { x + 2 };
        let is_free = |y: &u16| (from..from + length).all(|x| paint.at(x, *y) == Some(" "));
        if let Some(y) = (plot.top()..plot.bottom()).rev().find(is_free) {
            paint.text(Rect { x: from, y, width: length, height: 1 }, name, ink);
        }
    }
}

/// The assumed width of a label on the horizontal axis, with a blank.
const LABEL: u16 = 6;

/// Draws the horizontal axis with a mark and a label for each round value, and the name of the knob at the left if
/// there is room.
fn x_labels(paint: &mut Paint, area: Rect, over: &AnnotatedCurve) {
    let glyphs = paint.glyphs();
    let (line, words) = (row(area, 0), row(area, 1));
    (area.x..area.right()).for_each(|x| paint.dot(x, line.y, glyphs.horizontal, Ink::Faint));
    paint.dot(area.x - 1, line.y, glyphs.origin, Ink::Faint);
    paint.right(Rect { x: area.x - GUTTER, width: GUTTER, ..words }, over.name(), Ink::Text);
    let dots = Dots::of(paint, area);
    let mut free_from = area.x + 1;
    for value in x_ticks(over, area.width) {
        let (x, _) = dots.cell(column(over, value, dots), 0);
        let text = trimmed(&over.curve.dimension.written(value as u64));
        let length = text.chars().count() as u16;
        let from = x.saturating_sub(length / 2).max(area.x + 1).min(area.right().saturating_sub(length));
        if from >= free_from {
            paint.dot(x, line.y, glyphs.border, Ink::Faint);
            paint.text(Rect { x: from, width: length, ..words }, &text, Ink::Faint);
            free_from = from + length + 1;
        }
    }
}

/// Returns the values to label on the horizontal axis, ascending. The labels are round values or, for sizes in bytes,
/// the values of the points.
fn x_ticks(over: &AnnotatedCurve, width: u16) -> Vec<f64> {
    if over.curve.dimension.is_bytes() {
        return over.curve.points.iter().map(|point| point.value as f64).collect();
    }
    let ticks = value_axis::ticks(&over.x, (width / LABEL).max(2));
    let mut values: Vec<_> =
        ticks.into_iter().map(|(_, value)| value).filter(|value| value.fract() == 0.0).collect();
    values.sort_by(f64::total_cmp);
    values
}
