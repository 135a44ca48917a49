//! The chart of all clients' commands over time: a line for the sum of all commands, and a line for each of
//! the most frequent commands.
//!
//! ```text
//! ─ commands on the server, calls/s ────────────────────        now
//! 160 k┤                  ⣀⣀⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤  all     158 k/s
//!      │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠊                     get     121 k/s
//!    0 ┼                                         set      37 k/s
//! ```

use ratatui::layout::Rect;

use super::{
    ChartContext,
    chart_context::{self, LegendEntry},
    figures::{NONE, trimmed},
    value_axis::{self, Height},
};
use crate::{
    app::{AxisScale, ValueAxis},
    session::timeline::{CommandCell, Level},
    tui::{Dots, Ink, Paint, linear_top, row},
    units,
};

/// The inks of the lines for single commands.
const INKS: [Ink; 3] = [Ink::Throughput, Ink::Level(Level::P90), Ink::Level(Level::P999)];

/// Draws the heading, the chart, its axis and its legend.
pub fn draw(paint: &mut Paint, area: Rect, context: &ChartContext) {
    if area.height < 2 {
        return;
    }
    context.heading_of_figures(paint, row(area, 0), "commands on the server, calls/s");
    let chart = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let plot = context.plot(chart);
    let cells = &context.server;
    let values = |name: Option<&str>| {
        cells.iter().map(move |cell| per_s(&cell.as_ref()?.commands, name)).collect::<Vec<_>>()
    };
    let all = values(None);
    let highest = all.iter().flatten().copied().fold(0.0, f64::max);
    if all.iter().all(Option::is_none) {
        let waits = context.reading.status().is_none_or(|status| status.body.dialect().times_commands());
        let why = if waits { "waiting for the server" } else { context.reading.words().no_commands };
        paint.text(row(plot, plot.height / 2), &format!("  {why}"), Ink::Faint);
        return;
    }
    let top = linear_top(highest);
    // The highest value is below the top edge.
    let axis = ValueAxis { low: 0.0, high: top * 1.02, scale: AxisScale::Linear };
    value_axis::draw(paint, chart, plot.x.saturating_sub(1), &axis, |rate| trimmed(&units::count(rate)));
    let marks = paint.glyphs().lines;
    let busiest = busiest(context);
    let named = busiest.iter().enumerate().map(|(n, name)| (Some(*name), marks[n], INKS[n % INKS.len()]));
    let lines: Vec<CommandLook> = std::iter::once((None, marks[4], Ink::Text)).chain(named).collect();
    // The line for the sum of all commands is drawn first, below the other lines.
    let dots = Dots::of(paint, plot);
    for (name, mark, ink) in &lines {
        let height = |value: f64| Height::of(value, &axis, dots).dot(dots);
        dots.steps(paint, values(*name).into_iter().map(|value| value.map(height)), *mark, *ink);
    }
    context.lines(paint, plot);
    legend(paint, chart, context, lines);
}

/// A line of the chart: the command (`None` for the sum of all commands), the mark, and the ink.
type CommandLook<'a> = (Option<&'a str>, char, Ink);

/// Draws the legend: the sum of all commands first, then the most frequent commands.
fn legend(paint: &mut Paint, chart: Rect, context: &ChartContext, mut lines: Vec<CommandLook>) {
    let commands = context.reading.status().map(|status| CommandCell::of(&status.body));
    let now = |name: Option<&str>| commands.as_ref().and_then(|cell| per_s(cell, name));
    let order = |line: &CommandLook| now(line.0).unwrap_or(0.0);
    lines[1..].sort_by(|a, b| order(b).total_cmp(&order(a)));
    lines.truncate(chart.height.into());
    let written = |rate: Option<f64>| rate.map_or_else(|| NONE.to_owned(), units::rate);
    let marks = paint.theme.marks_lines();
    let entries = lines.iter().map(|(name, mark, ink)| LegendEntry {
        name: name.unwrap_or("all"),
        mark: marks.then_some(*mark),
        ink: *ink,
        row: None,
        values: [written(now(*name)), written(per_s(&context.commands_minute, *name)), String::new()],
    });
    chart_context::legend(paint, chart, context, &entries.collect::<Vec<_>>());
}

fn per_s(cell: &CommandCell, name: Option<&str>) -> Option<f64> {
    name.map_or_else(|| cell.all_per_s(), |name| cell.per_s(name))
}

/// Returns the commands that have a line: the commands with the most calls in the period shown. The commands are in the
/// order of their names, so each command keeps its ink.
pub fn busiest<'a>(context: &'a ChartContext) -> Vec<&'a str> {
    let mut calls: Vec<(&str, u64)> = Vec::new();
    for (name, stat) in context.server.iter().flatten().flat_map(|cell| cell.commands.stats.iter()) {
        if name == "ping" {
            continue;
        }
        match calls.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(stat.calls),
            None => calls.push((name, stat.calls)),
        }
    }
    calls.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    calls.truncate(INKS.len());
    let mut names: Vec<_> = calls.into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

/// Returns the ink of a command, or `None` if the command has no line.
pub fn ink(context: &ChartContext, name: &str) -> Option<Ink> {
    busiest(context).iter().position(|known| *known == name).map(|n| INKS[n % INKS.len()])
}
