//! The chart of throughput over time. The line shows the mean. The band around the line extends from the slowest to the
//! fastest quarter of a second. In each column, the line has two braille dots, or one point in ASCII.
//!
//! ```text
//! ─ throughput, replies/s; L: log axis ──────────────
//! 200 k┤   ▲322 k          ⡀                now  166 k/s
//!      │⠤⠤⠤⠤⡇⠤⠤⠤⠤⠤⡀  ⣀⣀⣀⣀⣀⡇⣀⣀⣀⣀⣀⣀⣀       due  180 k/s
//! 150 k┤             ⠉⠉                     lag  3.20 s
//! ```
//! The band shows even a dip of a quarter of a second. The line shows changes of the mean despite noise. The axis fits
//! the last segment in view. A value outside the axis is drawn at the edge, with a mark and the value as text.
//!
//! A reference value is a dashed line through a chart, with its name.
//!
//! ```text
//!  ┄┄┄┄┄┄┄┄┄┄┄┄┄ due 100 k/s ┄
//! ```

use std::{collections::BTreeSet, ops::Range};

use ratatui::layout::Rect;

use super::{
    ChartContext,
    figures::{NONE, figure, trimmed},
    value_axis::{self, ClippedMarks, Height},
};
use crate::{
    app::{AxisScale, ValueAxis},
    session::{Segment, timeline::LoadCell},
    tui::{Dots, Ink, Paint, row},
    units,
};

/// Draws the heading, the chart and its axis.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &ChartContext) {
    if area.height < 2 {
        return;
    }
    let scope = match lanes.reading.segment() {
        _ if lanes.is_part() => " of this node",
        Some(segment) if !segment.total.nodes.is_empty() => " of all nodes",
        _ => "",
    };
    let (unit, key) = match lanes.throughput_scale {
        AxisScale::Linear => ("replies/s", "log axis"),
        AxisScale::Log => ("replies/s, log axis", "linear"),
    };
    paint.rule(row(area, 0), &format!("throughput{scope}, {unit}; L: {key}"));
    let chart = Rect { y: area.y + 1, height: area.height - 1, ..area };
    figures(paint, chart, lanes);
    let plot = lanes.plot(chart);
    let Some(axis) = lanes.throughput_axis else {
        paint.text(row(plot, plot.height / 2), "  no load in this period", Ink::Faint);
        return;
    };
    value_axis::draw(paint, chart, plot.x.saturating_sub(1), &axis, |rate| trimmed(&units::count(rate)));
    let means = line_in_band(paint, plot, lanes, &axis);
    lanes.outages(paint, plot);
    lanes.lines(paint, plot);
    draw_clipped(paint, plot, lanes, &axis);
    draw_requested_rates(paint, plot, lanes, &axis, &means);
    if let Some((number, ops_per_s)) = lanes.baseline {
        let name = format!("baseline {number}");
        let reached = reached(paint, plot, &axis, ops_per_s, &means);
        let columns = 0..plot.width;
        LevelLine { value: ops_per_s, name: &name, columns, reached: &reached, every: 2 }
            .draw(paint, plot, &axis);
    }
}

/// Draws the rates of the last second, of the last 60 s and of the segment. For an open loop, also draws the requested
/// rate, the send lag and the number of dropped requests. The most important figures are at the top.
fn figures(paint: &mut Paint, chart: Rect, lanes: &ChartContext) {
    let reading = lanes.reading;
    let segment = reading.segment().map(|segment| &segment.total);
    let of_segment = segment.filter(|total| total.length_s > 0.0).map(|total| total.ops_per_s);
    let rate = |name, rate: Option<f64>| (name, rate.map_or_else(|| NONE.to_owned(), units::rate), Ink::Text);
    // In a frozen view, the heading of the chart below shows the time.
    let now = if lanes.cursor_s.is_some() { "then" } else { "now" };
    let mut figures = vec![rate(now, reading.ops_per_s())];
    if let Some(due) = lanes.rate_due() {
        let lag = lanes.load_shown().map(|load| load.behind_us.saturating_mul(1000));
        let shed = segment.map_or(0, |total| total.shed);
        figures.extend([
            rate("due", Some(due.into())),
            ("lag", figure(lag), Ink::Text),
            ("shed", units::count(shed as f64), if shed > 0 { Ink::Warn } else { Ink::Text }),
        ]);
    }
    figures.extend([rate("60 s", reading.ops_per_s_minute()), rate("seg.", of_segment)]);
    for (n, (name, text, ink)) in (0..chart.height).zip(&figures) {
        let (line, ink) = (row(chart, n), if n == 0 { Ink::Strong } else { *ink });
        lanes.name(paint, line, name, Ink::Faint);
        paint.right(lanes.value(line, 0), text, if text == NONE { Ink::Faint } else { ink });
    }
}

/// The height of the mean in each column of dots, in dots from the bottom.
type MeanHeights = Vec<Option<u16>>;

/// Draws the line of the mean and the band from the slowest to the fastest quarter of a second. Returns the heights
/// of the mean.
fn line_in_band(paint: &mut Paint, plot: Rect, lanes: &ChartContext, axis: &ValueAxis) -> MeanHeights {
    let dots = Dots::of(paint, plot);
    let columns = lanes.shown * dots.in_a_column();
    let window = lanes.reading.timeline.window(lanes.axis.from_s(), lanes.to_s, columns);
    let cells = window.until(lanes.ends_s).load();
    let up = |rate: f64| Height::of(rate, axis, dots).dot(dots);
    let means: MeanHeights =
        cells.iter().map(|cell| cell.as_ref().and_then(LoadCell::ops_per_s).map(up)).collect();
    let taken = line(paint, dots, &means);
    for (x, cell) in (0..dots.columns()).zip(&cells) {
        let Some((low, high)) = cell.as_ref().and_then(LoadCell::extremes) else { continue };
        for dot in (up(low)..=up(high)).map(|up| (x, up)) {
            // The band leaves out the cells of the line, so that the line stays visible.
            if !taken.contains(&dots.cell(x, dot.1)) {
                dots.draw(paint, dot, paint.glyphs().rise, Ink::Faint);
            }
        }
    }
    means
}

/// Draws a line through these heights. Returns the cells of the line.
fn line(paint: &mut Paint, dots: Dots, heights: &MeanHeights) -> BTreeSet<(u16, u16)> {
    let (glyphs, mut cells, mut before) = (paint.glyphs(), BTreeSet::new(), None);
    let mut dot = |x, up, mark| {
        dots.draw(paint, (x, up), mark, Ink::Throughput);
        cells.insert(dots.cell(x, up));
    };
    for (x, height) in (0..dots.columns()).zip(heights) {
        if let Some(up) = *height {
            let from: u16 = before.unwrap_or(up);
            (from.min(up) + 1..from.max(up)).for_each(|up| dot(x, up, glyphs.rise));
            dot(x, up, glyphs.point);
            // The line is two dots thick, since a single row of dots would be too faint.
            if dots.is_braille() {
                dot(x, up.saturating_sub(1), glyphs.point);
            }
        }
        before = *height;
    }
    cells
}

/// Draws marks for values above or below the axis, for each segment. The marked value is the mean of a column. If this
/// mean is on the axis, the marked value is the rate of the slowest or fastest quarter of a second in the column.
fn draw_clipped(paint: &mut Paint, plot: Rect, lanes: &ChartContext, axis: &ValueAxis) {
    let dots = Dots::of(paint, plot);
    let of = |side: Height, extreme: fn((f64, f64)) -> f64| {
        let is = |rate: &f64| Height::of(*rate, axis, dots) == side;
        let value = |cell: &LoadCell| {
            let tick = || cell.extremes().map(extreme).filter(is);
            cell.ops_per_s().filter(is).or_else(tick).map(|rate| rate as u64)
        };
        lanes.load.iter().map(|cell| cell.as_ref().and_then(value)).collect::<Vec<_>>()
    };
    // The column in which a segment begins also contains measurements of the previous segment, so the border
    // is one column later.
    let first = |start: &Segment| lanes.axis.column_ending(start.t_s).map(|column| column + 1);
    let borders = lanes.reading.known_segments().starts().filter_map(first).collect();
    let words = |rate: u64| vec![trimmed(&units::count(rate as f64))];
    let clipped = ClippedMarks { borders, ink: Ink::Strong, words: Some(&words) };
    clipped.above(paint, plot, &of(Height::Above, |(_, high)| high));
    clipped.below(paint, plot, &of(Height::Below, |(low, _)| low));
}

/// Returns the columns in which the line of the mean passes through `rate`.
fn reached(paint: &Paint, plot: Rect, axis: &ValueAxis, rate: f64, means: &MeanHeights) -> BTreeSet<u16> {
    let dots = Dots::of(paint, plot);
    let at = Height::of(rate, axis, dots).dot(dots);
    let near = |mean: &Option<u16>| mean.is_some_and(|up| up.abs_diff(at) <= 2);
    let columns = (0..plot.width).zip(means.chunks(dots.in_a_column()));
    columns
        .filter(|(_, means)| dots.is_braille() && means.iter().any(near))
        .map(|(column, _)| column)
        .collect()
}

/// Draws the requested rate of each open loop behind the line of the mean, over the length of the segment.
fn draw_requested_rates(
    paint: &mut Paint,
    plot: Rect,
    lanes: &ChartContext,
    axis: &ValueAxis,
    means: &MeanHeights,
) {
    let to_s = lanes.reading.known_s().min(lanes.to_s);
    let mut starts = lanes.reading.known_segments().starts().filter(|start| start.t_s < to_s).peekable();
    while let Some(start) = starts.next() {
        let Some(rate) = start.rate_due() else { continue };
        let ended_s = starts.peek().map_or(to_s, |next| next.t_s);
        let Some(last) = lanes.axis.column_ending(ended_s) else { continue };
        let first = lanes.axis.column(start.t_s).unwrap_or(0);
        let name = format!("due {}", trimmed(&units::rate(rate.into())));
        let columns = first..(last + 1).min(plot.width);
        let reached = reached(paint, plot, axis, rate.into(), means);
        LevelLine { value: rate.into(), name: &name, columns, reached: &reached, every: 1 }
            .draw(paint, plot, axis);
    }
}

/// A reference value, drawn as a dashed line.
pub struct LevelLine<'a> {
    /// The value.
    pub value: f64,
    /// The name of the reference value.
    pub name: &'a str,
    /// The columns of the chart to which the value applies.
    pub columns: Range<u16>,
    /// The columns in which the line of the chart is at the value. No dashes are drawn in these columns.
    pub reached: &'a BTreeSet<u16>,
    /// The distance between two dashes, in columns.
    pub every: u16,
}

impl LevelLine<'_> {
    /// Draws the value as a dashed line through blank cells of `plot`. Its name is as far right as possible, in the
    /// same or a neighbouring row. A value above the axis has a mark with its name in the first row. A value below the
    /// axis is not shown.
    pub fn draw(&self, paint: &mut Paint, plot: Rect, axis: &ValueAxis) {
        if plot.is_empty() || self.columns.is_empty() {
            return;
        }
        let dots = Dots::of(paint, plot);
        let height = Height::of(self.value, axis, dots);
        let y = dots.cell(0, height.dot(dots)).1;
        let rows = [Some(y), y.checked_sub(1), Some(y + 1)].into_iter().flatten();
        let mut rows = rows.filter(|y| (plot.top()..plot.bottom()).contains(y));
        match height {
            Height::Below => {}
            Height::Above => {
                let name = format!("{}{}", paint.glyphs().above, self.name);
                rows.any(|y| self.write(paint, plot, y, &name));
            }
            Height::At(_) => {
                let glyph = paint.glyphs().target_line;
                let is_letter =
                    |x| paint.at(x, y).is_some_and(|symbol| symbol.starts_with(char::is_alphanumeric));
                // The blank in a text such as `4.04 k` stays blank.
                let is_in_text = |x: &u16| is_letter(x.saturating_sub(1)) && is_letter(x + 1);
                let dashes = self.columns.clone().step_by(self.every.max(1).into());
                let dashes =
                    dashes.filter(|column| !self.reached.contains(column)).map(|column| plot.x + column);
                let dashes: Vec<_> = dashes.filter(|x| !is_in_text(x)).collect();
                dashes.into_iter().for_each(|x| paint.dot_if_blank(x, y, glyph, Ink::Faint));
                rows.any(|y| self.write(paint, plot, y, self.name));
            }
        }
    }

    /// Writes the name into row `y` if the row has enough blank cells. Returns whether the name was written.
    fn write(&self, paint: &mut Paint, plot: Rect, y: u16, name: &str) -> bool {
        let width = name.chars().count() as u16;
        // The lines of events and borders continue above and below the name.
        let glyphs = paint.glyphs();
        let free = [' ', glyphs.border_line, glyphs.event_line, glyphs.target_line];
        let is_blank = |x: u16| paint.at(x, y).is_some_and(|symbol| symbol.starts_with(free));
        let (first, end) = (plot.x + self.columns.start, plot.x + self.columns.end.min(plot.width));
        // There is a blank column between two names.
        let around = |x: u16| x.saturating_sub(1).max(plot.x)..(x + width + 1).min(plot.right());
        let is_free = |x: &u16| around(*x).all(is_blank);
        let place = (first..=end.saturating_sub(width)).rev().find(is_free);
        if let Some(x) = place {
            paint.text(Rect { x, y, width, height: 1 }, name, Ink::Faint);
        }
        place.is_some()
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::tui::theme::{Colours, GlyphSet, Theme};

    #[test]
    fn a_requested_rate_does_not_cross_the_value_of_a_mark() {
        let plot = Rect::new(0, 0, 24, 1);
        let mut buffer = Buffer::empty(plot);
        let mut paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, GlyphSet::Ascii));
        let axis = ValueAxis { low: 0.0, high: 1000.0, scale: AxisScale::Linear };
        paint.text_over(Rect { x: 9, ..plot }, "4.04 k^", Ink::Strong);
        LevelLine { value: 500.0, name: "", columns: 0..24, reached: &BTreeSet::new(), every: 1 }
            .draw(&mut paint, plot, &axis);
        let row: String = (0..24).map(|x| buffer[(x, 0)].symbol()).collect();
        assert!(row.contains("4.04 k^") && row.matches(' ').count() == 1, "{row}");
    }

    #[test]
    fn the_names_of_two_neighbouring_rates_do_not_touch() {
        let plot = Rect::new(0, 0, 24, 3);
        let mut buffer = Buffer::empty(plot);
        let mut paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, GlyphSet::Unicode));
        let axis = ValueAxis { low: 0.0, high: 1000.0, scale: AxisScale::Linear };
        for columns in [0..12, 12..21] {
            let reached = BTreeSet::new();
            LevelLine { value: 500.0, name: "due 500/s", columns, reached: &reached, every: 1 }
                .draw(&mut paint, plot, &axis);
        }
        let rows: Vec<String> = (0..3).map(|y| (0..24).map(|x| buffer[(x, y)].symbol()).collect()).collect();
        let names = rows.iter().map(|row| row.matches("due 500/s").count()).sum::<usize>();
        assert!(names == 2 && !rows.concat().contains("sdue"), "{rows:?}");
    }
}
