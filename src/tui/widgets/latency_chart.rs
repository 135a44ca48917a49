//! Latency over time: a line for each percentile and the maximum, over how many requests took how long.
//!
//! ```text
//! ─ response time, v shows service ─────────────────────────        now
//!  10 ms┤░░░░░▲12.1 ms░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ max     8.34 ms
//!       │⠤⠒⠒⠒⠉⠉⠉⠒⠒⠒⠤⠤⠒⠒⠉⠉⠉⠒⠒⠒⠤⠤⠒⠒⠒⠒⠒⠒⠉⠉⠉⠉⠉⠒⠒⠒ p99.9   4.76 ms
//!   1 ms┤▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ p90      812 µs
//!       │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠔⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒ p50      583 µs
//! ```
//! The axis fits p50 to most p99.9 of what is shown; what lies beyond stands at the edge, and the longest of each such
//! stretch has a mark and its value.

use ratatui::layout::Rect;

use super::{
    Lanes,
    figures::{decade, figure},
    ground,
    legend::{self, Entry},
    value_axis::{self, Height},
};
use crate::{
    app::ValueAxis,
    session::timeline::{Level, Measure, Quantiles, Timed},
    tui::{
        dots::Dots,
        paint::{Paint, row},
        theme::Ink,
    },
    units,
};

/// Draws the heading, the chart, its axis and its legend.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    if area.height < 2 {
        return;
    }
    let chart = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let plot = lanes.plot(chart);
    lanes.heading_of_figures(paint, row(area, 0), title(lanes));
    let Some(axis) = lanes.latency_axis else {
        let middle = Rect { y: plot.y + plot.height / 2, height: 1, ..plot };
        paint.text(middle, "  no replies in this stretch", Ink::Faint);
        legend(paint, chart, lanes, None);
        return;
    };
    value_axis::draw(paint, chart, plot.x.saturating_sub(1), &axis, |ns| decade(ns.round() as u64));
    // The lowest lies on top of the others.
    for level in Level::ALL.into_iter().rev() {
        line(paint, plot, lanes, &axis, level);
    }
    lanes.outages(paint, plot);
    lanes.lines(paint, plot);
    ground::draw(paint, plot, lanes, &axis);
    beyond(paint, plot, lanes, &axis);
    legend(paint, chart, lanes, Some(&axis));
}

fn title(lanes: &Lanes) -> &'static str {
    match (lanes.has_open_loop(), lanes.timed) {
        (true, Timed::FromDue) => "response time; v: service time",
        (true, Timed::FromWrite) => "service time; v: response time",
        (false, _) => "latency",
    }
}

/// A level of each column.
fn values(lanes: &Lanes, level: Level) -> impl Iterator<Item = Option<u64>> {
    lanes.latency().iter().map(move |column| column.as_ref().and_then(|column: &Quantiles| column.get(level)))
}

/// Draws a level as steps, joined where they differ.
fn line(paint: &mut Paint, plot: Rect, lanes: &Lanes, axis: &ValueAxis, level: Level) {
    let dots = Dots::of(paint, plot);
    let (glyphs, ink) = (paint.glyphs(), Ink::Level(level));
    let mark = glyphs.lines[level as usize];
    let mut before: Option<u16> = None;
    let mut end = None;
    for (column, value) in (0..plot.width).zip(values(lanes, level)) {
        let up = value.map(|ns| Height::of(ns as f64, axis, dots).dot(dots));
        let wide = dots.in_a_column() as u16;
        if let Some(up) = up {
            if let Some(before) = before.filter(|before| before.abs_diff(up) > 1) {
                let between = before.min(up) + 1..before.max(up);
                between.for_each(|up| dots.draw(paint, (column * wide, up), glyphs.rise, ink));
            }
            (0..wide).for_each(|n| dots.draw(paint, (column * wide + n, up), mark, ink));
            end = Some(dots.cell(column * wide, up));
        }
        before = up;
    }
    if let Some((x, y)) = end.filter(|_| paint.theme().marks_lines()) {
        paint.dot(x, y, mark, ink);
    }
}

/// Marks what lies above or below the axis: of each stretch the longest, or the shortest, with its value above.
fn beyond(paint: &mut Paint, plot: Rect, lanes: &Lanes, axis: &ValueAxis) {
    let dots = Dots::of(paint, plot);
    let glyphs = paint.glyphs();
    let is = |height: Height| move |ns: &u64| Height::of(*ns as f64, axis, dots) == height;
    let above: Vec<_> = values(lanes, Level::Max).map(|ns| ns.filter(is(Height::Above))).collect();
    let below: Vec<_> = values(lanes, Level::P50).map(|ns| ns.filter(is(Height::Below))).collect();
    let mut mark = |column: u16, y: u16, mark: char, ink: Ink| {
        paint.over(Rect { x: plot.x + column, y, width: 1, height: 1 }, mark.encode_utf8(&mut [0; 4]), ink);
    };
    for (column, _) in peaks(&below, |ns| u64::MAX - ns) {
        mark(column, plot.bottom() - 1, glyphs.below, Ink::Level(Level::P50));
    }
    let mut peaks = peaks(&above, |ns| ns);
    peaks.iter().for_each(|(column, _)| mark(*column, plot.y, glyphs.above, Ink::Strong));
    // The longest is written first, and at any rate.
    peaks.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let mut taken: Vec<std::ops::Range<u16>> = Vec::new();
    for (n, (column, ns)) in peaks.iter().enumerate() {
        let text = units::latency(*ns);
        let length = text.chars().count() as u16;
        let behind = Some(column + 1).filter(|from| from + length <= plot.width);
        let places = behind.into_iter().chain(column.checked_sub(length)).map(|from| from..from + length);
        let is_free = |place: &std::ops::Range<u16>| {
            // A blank parts it from the next.
            let is_apart = |other: &std::ops::Range<u16>| place.end < other.start || other.end < place.start;
            taken.iter().all(is_apart) && peaks.iter().all(|(mark, _)| !place.contains(mark))
        };
        let mut places = places.into_iter();
        let first = places.clone().next().filter(|_| n == 0);
        if let Some(place) = places.find(is_free).or(first) {
            let area = Rect { x: plot.x + place.start, width: length, height: 1, ..plot };
            paint.over(area, &text, Ink::Strong);
            taken.push(place);
        }
    }
}

/// Of each stretch of columns that have a value the one that `rank` puts highest.
fn peaks(columns: &[Option<u64>], rank: impl Fn(u64) -> u64) -> Vec<(u16, u64)> {
    let mut peaks: Vec<(u16, u64)> = Vec::new();
    let mut goes_on = false;
    for (column, value) in (0..).zip(columns) {
        let peak = value.map(|ns| (column, ns));
        match (peak, peaks.last_mut()) {
            (Some(peak), Some(last)) if goes_on => {
                if rank(peak.1) > rank(last.1) {
                    *last = peak;
                }
            }
            (Some(peak), _) => peaks.push(peak),
            (None, _) => {}
        }
        goes_on = value.is_some();
    }
    peaks
}

/// So many columns tell where a line ends: one alone would let its name jump.
const END: usize = 12;

fn legend(paint: &mut Paint, chart: Rect, lanes: &Lanes, axis: Option<&ValueAxis>) {
    let dots = Dots::of(paint, chart);
    let reading = lanes.reading;
    let measure = if lanes.is_response() { Measure::Response } else { Measure::Service };
    let recent = reading.recent(measure);
    let segment = reading.segment().map(|segment| &segment.total);
    let segment = segment.and_then(|total| match measure {
        Measure::Response => total.response.as_ref(),
        _ => Some(&total.service),
    });
    let entry = |level: Level| {
        let end = end(lanes, level).zip(axis).map(|(ns, axis)| Height::of(ns as f64, axis, dots).dot(dots));
        let of_segment = segment.and_then(|latency| level.of(latency));
        Entry {
            name: level.name(),
            mark: paint.theme().marks_lines().then(|| paint.glyphs().lines[level as usize]),
            ink: Ink::Level(level),
            row: end.map(|up| dots.cell(0, up).1 - chart.y),
            values: [level.of(recent.now()), level.of(recent.minute()), of_segment].map(figure),
        }
    };
    let shown = shown(chart.height);
    let entries: Vec<_> = shown.iter().rev().map(|level| entry(*level)).collect();
    legend::draw(paint, chart, lanes, &entries);
}

/// The levels that so many rows have room for, from p50 up.
fn shown(rows: u16) -> &'static [Level] {
    use Level::{Max, P50, P90, P99, P999};
    match rows {
        0 | 1 => &[P50],
        2 => &[P50, P99],
        3 => &[P50, P99, Max],
        4 => &[P50, P99, P999, Max],
        _ => &[P50, P90, P99, P999, Max],
    }
}

/// About where the line of a level ends: the middle of its last values under the setting that is shown.
fn end(lanes: &Lanes, level: Level) -> Option<u64> {
    let shown = lanes.column_shown() + 1;
    let began = lanes.reading.segment().and_then(|segment| lanes.axis.column(segment.start.t_s));
    let first = shown.saturating_sub(END).max(began.map_or(0, usize::from)).min(shown - 1);
    let mut last: Vec<_> = values(lanes, level).take(shown).skip(first).flatten().collect();
    last.sort_unstable();
    last.get(last.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stretch_beyond_the_axis_has_one_mark_at_its_peak() {
        let columns = [None, Some(3), Some(9), Some(4), None, None, Some(5), Some(5)];
        assert_eq!(peaks(&columns, |ns| ns), [(2, 9), (6, 5)]);
        assert_eq!(peaks(&columns, |ns| u64::MAX - ns), [(1, 3), (6, 5)]);
    }
}
