//! The chart of latency over time. The chart has a line for each percentile and for the maximum. The background shows
//! the distribution of the requests.
//!
//! ```text
//! ─ response time, v shows service ─────────────────────────        now
//!  10 ms┤░░░░░▲12.1 ms░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ max     8.34 ms
//!       │⠤⠒⠒⠒⠉⠉⠉⠒⠒⠒⠤⠤⠒⠒⠉⠉⠉⠒⠒⠒⠤⠤⠒⠒⠒⠒⠒⠒⠉⠉⠉⠉⠉⠒⠒⠒ p99.9   4.76 ms
//!   1 ms┤▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ p90      812 µs
//!       │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠔⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒ p50      583 µs
//! ```
//! The axis extends from p50 to most p99.9 values in the period shown. Values outside the axis are drawn at its edge.
//! If several neighbouring values are outside the axis, only the largest value has a mark and a text.
//!
//! The background of the latency chart is denser if a cell has more requests. Even a single request in a cell is
//! visible. The top row counts latencies above the axis.

use std::collections::BTreeSet;

use ratatui::layout::Rect;

use super::{
    ChartContext,
    chart_context::{self, LegendEntry},
    figures::{decade, figure, ping_figure},
    probes::unusual,
    value_axis::{self, ClippedMarks, Height},
};
use crate::{
    app::{Subject, ValueAxis},
    diagnose::Cause,
    session::{
        WatchedFigure,
        timeline::{Heat, Level, Measure, PingCell, Quantiles, Timed},
    },
    tui::{Dots, Ink, Paint, row, theme::colours::STEPS},
    units,
};

/// Draws the heading, the chart, its axis and its legend.
pub fn draw(paint: &mut Paint, area: Rect, context: &ChartContext) {
    if area.height < 2 {
        return;
    }
    let chart = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let plot = context.plot(chart);
    context.heading_of_figures(paint, row(area, 0), &title(context));
    let Some(axis) = context.latency_axis else {
        let why = match context.subject {
            Subject::Load => "  no replies in this period".to_owned(),
            Subject::Server => format!("  no {} answered", context.reading.words().ping),
        };
        paint.text(row(plot, plot.height / 2), &why, Ink::Faint);
        legend(paint, chart, context, None);
        return;
    };
    value_axis::draw(paint, chart, plot.x.saturating_sub(1), &axis, |ns| decade(ns.round() as u64));
    // The lowest line is drawn last, above the others.
    let dots = Dots::of(paint, plot);
    for level in Level::ALL.into_iter().rev() {
        let mark = paint.glyphs().lines[level as usize];
        let heights = values(context, level).map(|ns| Some(Height::of(ns? as f64, &axis, dots).dot(dots)));
        dots.steps(paint, heights, mark, Ink::Level(level));
    }
    context.outages(paint, plot);
    context.lines(paint, plot);
    draw_ground(paint, plot, context, &axis);
    draw_clipped(paint, plot, context, &axis);
    legend(paint, chart, context, Some(&axis));
}

fn title(context: &ChartContext) -> String {
    let title = match (context.has_open_loop(), context.timed) {
        (true, Timed::FromDue) => "response time; v: service time",
        (true, Timed::FromWrite) => "service time; v: response time",
        (false, _) if context.is_part() => "service time of this node",
        (false, _) => "latency",
    };
    if context.subject == Subject::Load {
        return title.to_owned();
    }
    let reach_s = |level| context.window.reach_s(level);
    let is_longer = |level: &Level| reach_s(*level) > context.axis.step_s;
    let reaching = [Level::P90, Level::P99].into_iter().filter(is_longer);
    let part = |level: Level| {
        // The maximum is never below a percentile beside it.
        let name = if level == Level::P99 { "p99 and max" } else { level.name() };
        format!("{name} over {:.0} s", reach_s(level))
    };
    let parts: Vec<_> = reaching.map(part).collect();
    let ping = context.reading.words().ping;
    if parts.is_empty() { format!("latency of {ping}") } else { format!("{ping}: {}", parts.join(", ")) }
}

/// Returns a percentile of each column.
fn values(context: &ChartContext, level: Level) -> impl Iterator<Item = Option<u64>> {
    context.latency.iter().map(move |column| column.as_ref().and_then(|column: &Quantiles| column.get(level)))
}

/// Draws marks for values above or below the axis.
fn draw_clipped(paint: &mut Paint, plot: Rect, context: &ChartContext, axis: &ValueAxis) {
    let dots = Dots::of(paint, plot);
    let is = |height: Height| move |ns: &u64| Height::of(*ns as f64, axis, dots) == height;
    let beyond = |level, height| values(context, level).map(|ns| ns.filter(is(height))).collect::<Vec<_>>();
    let borders = BTreeSet::new;
    let below = ClippedMarks { borders: borders(), ink: Ink::Level(Level::P50), words: None };
    below.below(paint, plot, &beyond(Level::P50, Height::Below));
    let above = beyond(Level::Max, Height::Above);
    let longest = (0..).zip(&above).filter_map(|(n, ns)| Some((n, (*ns)?))).max_by_key(|(_, ns)| *ns);
    // The wait of a request without a reply is at least this long, as in the figures.
    let is_wait = |ns: u64| {
        context.load.iter().flatten().any(|load| load.wait_beyond(Some(ns.saturating_sub(1))) == Some(ns))
    };
    let written = |ns: u64| format!("{}{}", if is_wait(ns) { ">" } else { "" }, units::latency(ns));
    let words = |ns: u64| {
        let cause = longest.filter(|(_, longest)| *longest == ns).and_then(|(n, _)| context.longest(n));
        let cause = cause.map(|(_, cause)| cause).filter(|cause| cause.explains);
        let with = |cause: &Cause| format!("{}{cause}", written(ns));
        let whole = cause.as_ref().map(with);
        let whole = whole.filter(|text| text.chars().count() <= usize::from(plot.width / 2));
        let short = cause.map(|cause| with(&cause.in_short()));
        whole.into_iter().chain(short).chain([written(ns)]).collect()
    };
    ClippedMarks { borders: borders(), ink: Ink::Strong, words: Some(&words) }.above(paint, plot, &above);
}

/// The number of last values of a line whose median determines the row of the line's name. With only the last value,
/// the name would often jump.
const END: usize = 12;

fn legend(paint: &mut Paint, chart: Rect, context: &ChartContext, axis: Option<&ValueAxis>) {
    let dots = Dots::of(paint, chart);
    let reading = context.reading;
    let measure = context.measure();
    let recent = reading.recent(measure);
    let segment = reading.segment().map(|segment| &segment.total);
    let segment = segment.and_then(|total| match measure {
        Measure::Response => total.response.as_ref(),
        Measure::Ping => None,
        _ => Some(&total.service),
    });
    // An unanswered request may have waited longer than the longest finished request.
    let wait_ns = context.load_shown().and_then(|load| load.wait_beyond(Level::Max.of(&recent.now)));
    let now = |level: Level| match (wait_ns, level) {
        (Some(wait_ns), Level::Max) => format!(">{}", units::latency(wait_ns)),
        _ => figure(level.of(&recent.now)),
    };
    let entry = |level: Level, name| {
        let end = end(context, level).zip(axis).map(|(ns, axis)| Height::of(ns as f64, axis, dots).dot(dots));
        let of_segment = segment.and_then(|latency| level.of(latency));
        LegendEntry {
            name,
            mark: paint.theme.marks_lines().then(|| paint.glyphs().lines[level as usize]),
            ink: Ink::Level(level),
            row: end.map(|up| dots.cell(0, up).1 - chart.y),
            values: match measure {
                Measure::Ping => [
                    ping_now(context, level),
                    ping_figure(level, &recent.minute, reading.pings_minute()),
                    String::new(),
                ],
                _ => [now(level), figure(level.of(&recent.minute)), figure(of_segment)],
            },
        }
    };
    let names = shown(chart.height).iter().rev().map(|level| (*level, name(context, *level)));
    let names: Vec<_> = names.collect();
    let entries: Vec<_> = names.iter().map(|(level, name)| entry(*level, name)).collect();
    chart_context::legend(paint, chart, context, &entries);
}

/// Returns the name of a percentile's line. If the value is far from its usual level and there is room, the name
/// contains the ratio: `p50×12`.
fn name(context: &ChartContext, level: Level) -> String {
    let watched = match level {
        Level::P50 => WatchedFigure::PingP50,
        Level::P99 => WatchedFigure::PingP99,
        Level::Max => WatchedFigure::PingMax,
        Level::P90 | Level::P999 => return level.name().to_owned(),
    };
    let ratio = context.reading.ratio_to_usual(&watched).filter(|_| context.measure() == Measure::Ping);
    let least = watched.smallest_shift().map_or(f64::INFINITY, |least| least.factor);
    let ratio = ratio.filter(|ratio| *ratio >= least).map(unusual);
    let name = ratio.map(|ratio| level.name().to_owned() + &ratio);
    // A cut number would be a wrong number.
    let name = name.filter(|name| name.chars().count() + 2 <= context.columns.name.into());
    name.unwrap_or_else(|| level.name().to_owned())
}

/// Returns a percentile of the pings at the moment shown, as text. One second has too few pings for most percentiles,
/// so the value at the end of the line is used. The maximum covers the same time as the p99.
fn ping_now(context: &ChartContext, level: Level) -> String {
    let now = ping_figure(level, &context.reading.ping().now, context.reading.pings_now());
    if now.starts_with('>') {
        return now;
    }
    let shown = context.column_shown() + 1;
    if level == Level::Max {
        let columns = (context.window.reach_s(Level::P99) / context.axis.step_s).ceil() as usize;
        return figure(
            values(context, level).take(shown).skip(shown.saturating_sub(columns)).flatten().max(),
        );
    }
    let answered = |pings: &Option<PingCell>| pings.is_some_and(|pings| pings.answered > 0);
    let ends = values(context, level).zip(&context.pings).take(shown).skip(shown.saturating_sub(END));
    figure(ends.filter(|(_, pings)| answered(pings)).filter_map(|(ns, _)| ns).last())
}

/// Returns the percentiles to name in a legend of this many rows, from p50 up.
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

/// Returns the value that determines the row of a percentile's name. The result is the median of the percentile's last
/// values in the segment shown.
fn end(context: &ChartContext, level: Level) -> Option<u64> {
    let shown = context.column_shown() + 1;
    let began = context.reading.segment().and_then(|segment| context.axis.column(segment.start.t_s));
    let first = shown.saturating_sub(END).max(began.map_or(0, usize::from)).min(shown - 1);
    let mut last: Vec<_> = values(context, level).take(shown).skip(first).flatten().collect();
    last.sort_unstable();
    last.get(last.len() / 2).copied()
}

/// Draws the background behind everything else in `plot`.
pub fn draw_ground(paint: &mut Paint, plot: Rect, context: &ChartContext, axis: &ValueAxis) {
    let cells = |heat: &Option<Heat>| heat.as_ref().map(|heat| rows(heat, axis, plot.height));
    let cells: Vec<_> = context.heat.iter().map(cells).collect();
    let top = round_top(cells.iter().flatten().flatten().copied().max().unwrap_or(0));
    for (x, column) in (plot.left()..plot.right()).zip(&cells) {
        for (y, count) in (plot.top()..plot.bottom()).rev().zip(column.iter().flatten()) {
            if *count > 0 {
                paint.ground(x, y, step(*count, top));
            }
        }
    }
}

/// Returns the number of requests in each row of a column, the lowest row first.
fn rows(heat: &Heat, axis: &ValueAxis, rows: u16) -> Vec<u64> {
    let counts = &heat.counts;
    let border = |row: u16| match row {
        0 => 0,
        row if row == rows => counts.len(),
        row => Heat::bin(axis.value(f64::from(row) / f64::from(rows))),
    };
    let count = |row: u16| match (border(row), border(row + 1)) {
        (from, to) if from < to => counts[from..to].iter().sum(),
        // Rows narrower than a bin of the distribution show the same bin.
        (from, _) => counts[from],
    };
    (0..rows).map(count).collect()
}

/// Returns the lowest power of ten that no cell exceeds. The result is at least ten. Under steady load, this top of the
/// scale does not change.
fn round_top(densest: u64) -> u64 {
    10_u64.saturating_pow(densest.saturating_sub(1).max(1).ilog10() + 1)
}

/// Returns the shade of a cell with `count` requests, on a logarithmic scale from 1 to `top`.
fn step(count: u64, top: u64) -> usize {
    let share = (count.max(1) as f64).log10() / (top as f64).log10();
    ((share * STEPS as f64) as usize).min(STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_gets_the_first_shade_and_the_top_is_a_power_of_ten() {
        assert_eq!([0, 1, 10, 11, 24_000].map(round_top), [10, 10, 10, 100, 100_000]);
        assert_eq!((step(1, 100_000), step(100_000, 100_000), step(1, 10)), (0, STEPS - 1, 0));
        let steps: Vec<_> = (0..5).map(|n| step(10_u64.pow(n), 100_000)).collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    }
}
