//! The commands of all clients over the last minute, the most frequent first: their rate, and how long they ran.
//!
//! ```text
//! ─ commands, 60 s ──────────── calls/s   time   mean    p50     p99   p99.9  failed rejected
//!  get                         110 k/s   71 %  0.9 µs  ≤1 µs   ≤4 µs  ≤33 µs       0        0
//!  config get                     1 /s  0.1 %   19 µs
//!   and 4 more, 3 /s
//! ```
//! Times are execution times: they do not include waiting. Percentiles come from LATENCY HISTOGRAM, whose buckets
//! are about powers of two. The true value is at most the value shown, and more than half of it. If the server
//! reports percentiles only since its start, the heading says so.
//!
//! The rates of all clients' commands over time: a line for all commands together, and one for each of the most
//! frequent commands.
//!
//! ```text
//! ─ commands on the server, calls/s ────────────────────        now
//! 160 k┤                  ⣀⣀⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤  all     158 k/s
//!      │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠊                     get     121 k/s
//!    0 ┼                                         set      37 k/s
//! ```

use ratatui::layout::Rect;

use super::{
    Lanes,
    figures::{NONE, trimmed},
    lanes::{self, Entry},
    table::{Column, Table, fitting},
};
use crate::{
    protocol::Words,
    server::CommandStat,
    session::timeline::{CommandCell, Level},
    tui::{Dots, Ink, Paint, linear_top, row},
    units,
};

/// The figures of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Name,
    Calls,
    Share,
    Mean,
    P50,
    P99,
    P999,
    Failed,
    Rejected,
}

use Figure::{Calls, Failed, Mean, Name, P50, P99, P999, Rejected, Share};

/// The columns from left to right, with their headings and widths.
const FIGURES: [(Figure, &str, u16); 8] = [
    (Calls, "calls/s", 9),
    (Share, "time", 7),
    (Mean, "mean", 8),
    // The width of `≤2.11 ms`.
    (P50, "p50", 9),
    (P99, "p99", 9),
    (P999, "p99.9", 9),
    (Failed, "failed", 8),
    (Rejected, "rejected", 9),
];
/// The figures, the most important first.
const NEEDED: [Figure; 8] = [Calls, P99, P50, P999, Mean, Share, Failed, Rejected];
/// The least and the largest width of names. If names were wider, they would be too far from their figures.
const NAME: (u16, u16) = (15, 36);

/// The largest true upper bound of a bucket of LATENCY HISTOGRAM, in µs. The bucket after it counts all longer
/// times.
const LONGEST_US: u64 = 1_000_000;

/// Draws the heading and as many commands as fit. If a chart has a line for a command, `ink` returns its look.
pub fn draw(
    paint: &mut Paint,
    area: Rect,
    commands: &CommandCell,
    words: &Words,
    ink: impl Fn(&str) -> Option<Ink>,
) {
    if area.height == 0 {
        return;
    }
    let width =
        |figure: Figure| FIGURES.iter().find(|(known, ..)| *known == figure).map_or(0, |(.., width)| *width);
    let has_percentiles = !has_means_only(commands);
    let needed = NEEDED.into_iter().filter(|figure| has_percentiles || !matches!(figure, P50 | P99 | P999));
    let needed: Vec<_> = needed.collect();
    let fit = fitting(area.width.saturating_sub(NAME.0), needed.iter().map(|figure| width(*figure)));
    let shown = FIGURES.into_iter().filter(|(figure, ..)| needed[..fit].contains(figure));
    let columns: Vec<_> = shown.clone().map(|(figure, _, width)| Column::right(figure, width)).collect();
    let figures: u16 = shown.clone().map(|(.., width)| width).sum();
    let area = Rect { width: area.width.min(NAME.1 + figures), ..area };
    let table = Table::new(area, std::iter::once(Column::rest(Name, 1)).chain(columns));
    let mut by_calls: Vec<_> = commands.stats.iter().collect();
    by_calls.sort_by_key(|(_, stat)| std::cmp::Reverse(stat.calls));
    paint.rule(Rect { width: table.cell(0, Name).area.right() - area.x, ..row(area, 0) }, &title(commands));
    for (figure, heading, _) in shown {
        table.cell(0, figure).write(paint, heading, Ink::Faint);
    }
    if by_calls.is_empty() {
        paint.text(row(area, 1), &format!(" {}", words.no_commands), Ink::Faint);
    }
    let sum_us: f64 = by_calls.iter().map(|(_, stat)| stat.usec as f64).sum();
    let room = usize::from(area.height - 1);
    let rows = if by_calls.len() > room && room > 3 { room - 1 } else { room.min(by_calls.len()) };
    for (n, (name, stat)) in (1..).zip(&by_calls[..rows]) {
        table.write(paint, n, |figure, _| match figure {
            Name => (name.replace('|', " "), ink(name).unwrap_or(Ink::Text)),
            figure => written(figure, stat, commands, sum_us),
        });
    }
    if rows < by_calls.len() && rows < room {
        let calls: f64 = by_calls[rows..].iter().map(|(_, stat)| stat.calls as f64).sum();
        let text = format!(" and {} more, {}", by_calls.len() - rows, units::rate(calls / commands.length_s));
        paint.text(row(area, rows as u16 + 1), &text, Ink::Faint);
    }
}

/// The time until percentiles are known, with the third poll, in seconds.
const SOON_S: f64 = 4.0;

/// Returns whether percentiles are unknown: the recording is old, or the server does not track latencies.
fn has_means_only(commands: &CommandCell) -> bool {
    let has_none = |stat: &CommandStat| stat.times.is_none() && stat.since_start_us.is_empty();
    commands.length_s > SOON_S && commands.stats.values().all(has_none)
}

fn title(commands: &CommandCell) -> String {
    let has = |of: fn(&CommandStat) -> bool| commands.stats.values().any(of);
    let is_since_start = has(|stat| !stat.since_start_us.is_empty()) && !has(|stat| stat.times.is_some());
    let note = if is_since_start { ", p since its start" } else { "" };
    match commands.length_s.min(60.0) {
        0.0 => "commands".to_owned(),
        length_s => format!("commands, {length_s:.0} s{note}"),
    }
}

fn written(figure: Figure, stat: &CommandStat, commands: &CommandCell, sum_us: f64) -> (String, Ink) {
    let text = match figure {
        Calls => Some(units::rate(stat.calls as f64 / commands.length_s)),
        Share => (sum_us > 0.0).then(|| units::percent(stat.usec as f64 / sum_us)),
        Mean => stat.mean_us().map(|us| units::latency((us * 1e3) as u64)),
        P50 => percentile(stat, 0.5, "p50"),
        P99 => percentile(stat, 0.99, "p99"),
        P999 => percentile(stat, 0.999, "p99.9"),
        Name => None,
        Failed => return count(stat.failed),
        Rejected => return count(stat.rejected),
    };
    text.map_or((NONE.to_owned(), Ink::Faint), |text| (text, Ink::Text))
}

/// Returns a count of errors, with a warning look if it is not zero.
fn count(n: Option<u64>) -> (String, Ink) {
    match n {
        Some(n) if n > 0 => (units::count(n as f64), Ink::Bad),
        n => (n.map_or(NONE, |_| "0").to_owned(), Ink::Faint),
    }
}

/// Returns a percentile: `≤16 µs` for the time shown, `16.1 µs` since the server's start.
fn percentile(stat: &CommandStat, quantile: f64, name: &str) -> Option<String> {
    match &stat.times {
        Some(times) => times.percentile(quantile).map(bounded),
        None => stat.since_start_us.get(name).map(|us| units::latency((us * 1e3) as u64)),
    }
}

/// Returns the text for a histogram bucket with the upper bound `up_to_us`.
fn bounded(up_to_us: u64) -> String {
    let written = |us: u64| super::figures::decade(us.saturating_mul(1000));
    if up_to_us > LONGEST_US {
        format!(">{}", written(up_to_us / 2))
    } else {
        format!("≤{}", written(up_to_us))
    }
}

/// The looks of the lines for single commands.
const INKS: [Ink; 3] = [Ink::Throughput, Ink::Level(Level::P90), Ink::Level(Level::P999)];

/// Draws the heading, the chart, its axis and its legend.
pub fn chart(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    if area.height < 2 {
        return;
    }
    lanes.heading_of_figures(paint, row(area, 0), "commands on the server, calls/s");
    let chart = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let plot = lanes.plot(chart);
    let cells = &lanes.commands;
    let values =
        |name: Option<&str>| cells.iter().map(move |cell| per_s(cell.as_ref()?, name)).collect::<Vec<_>>();
    let all = values(None);
    let highest = all.iter().flatten().copied().fold(0.0, f64::max);
    if all.iter().all(Option::is_none) {
        let waits = lanes.reading.status().is_none_or(|status| status.body.dialect().times_commands());
        let why = if waits { "waiting for the server" } else { lanes.reading.words().no_commands };
        paint.text(row(plot, plot.height / 2), &format!("  {why}"), Ink::Faint);
        return;
    }
    let top = linear_top(highest);
    axis(paint, chart, plot.x.saturating_sub(1), top);
    let marks = paint.glyphs().lines;
    let busiest = busiest(lanes);
    let named = busiest.iter().enumerate().map(|(n, name)| (Some(*name), marks[n], INKS[n % INKS.len()]));
    let lines: Vec<CommandLook> = std::iter::once((None, marks[4], Ink::Text)).chain(named).collect();
    // The line of all commands is below the others.
    let dots = Dots::of(paint, plot);
    let last = dots.rows().saturating_sub(1);
    for (name, mark, ink) in &lines {
        let height = |value: f64| (value / top * f64::from(last)).round().clamp(0.0, last.into()) as u16;
        dots.steps(paint, values(*name).into_iter().map(|value| value.map(height)), *mark, *ink);
    }
    lanes.lines(paint, plot);
    legend(paint, chart, lanes, lines);
}

/// A command, or all commands together, and the look of its line.
type CommandLook<'a> = (Option<&'a str>, char, Ink);

/// Draws the legend: all commands together first, then the most frequent.
fn legend(paint: &mut Paint, chart: Rect, lanes: &Lanes, mut lines: Vec<CommandLook>) {
    let commands = lanes.reading.status().map(|status| CommandCell::of(&status.body));
    let now = |name: Option<&str>| commands.as_ref().and_then(|cell| per_s(cell, name));
    let order = |line: &CommandLook| now(line.0).unwrap_or(0.0);
    lines[1..].sort_by(|a, b| order(b).total_cmp(&order(a)));
    lines.truncate(chart.height.into());
    let written = |rate: Option<f64>| rate.map_or_else(|| NONE.to_owned(), units::rate);
    let marks = paint.theme().marks_lines();
    let entries = lines.iter().map(|(name, mark, ink)| Entry {
        name: name.unwrap_or("all"),
        mark: marks.then_some(*mark),
        ink: *ink,
        row: None,
        values: [written(now(*name)), written(per_s(&lanes.commands_minute, *name)), String::new()],
    });
    lanes::legend(paint, chart, lanes, &entries.collect::<Vec<_>>());
}

fn per_s(cell: &CommandCell, name: Option<&str>) -> Option<f64> {
    name.map_or_else(|| cell.all_per_s(), |name| cell.per_s(name))
}

/// Returns the commands that have a line: those with the most calls in the stretch shown, in the order of their names,
/// so that each keeps its look.
pub fn busiest<'a>(lanes: &'a Lanes) -> Vec<&'a str> {
    let mut calls: Vec<(&str, u64)> = Vec::new();
    for (name, stat) in lanes.commands.iter().flatten().flat_map(|cell| &cell.stats) {
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

/// Returns the look of a command that has a line.
pub fn ink(lanes: &Lanes, name: &str) -> Option<Ink> {
    busiest(lanes).iter().position(|known| *known == name).map(|n| INKS[n % INKS.len()])
}

fn axis(paint: &mut Paint, chart: Rect, x: u16, top: f64) {
    let glyphs = paint.glyphs();
    let last = chart.height - 1;
    (chart.top()..chart.bottom()).for_each(|y| paint.dot(x, y, glyphs.vertical, Ink::Faint));
    let middle = (last >= 12 || last >= 4 && last.is_multiple_of(2)).then_some((last / 2, top / 2.0));
    for (n, value) in [Some((0, top)), middle, Some((last, 0.0))].into_iter().flatten() {
        let label = Rect { width: x.saturating_sub(chart.x), ..row(chart, n) };
        paint.right(label, &trimmed(&units::count(value)), Ink::Faint);
        paint.dot(x, chart.y + n, if n == last { glyphs.origin } else { glyphs.tick }, Ink::Faint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_named_by_its_upper_border_and_the_last_by_its_lower() {
        assert_eq!(
            [1, 33, 1056, 540_672, 1_081_344].map(bounded),
            ["≤1 µs", "≤33 µs", "≤1.06 ms", "≤541 ms", ">541 ms"]
        );
    }

    #[test]
    fn a_percentile_is_of_the_time_shown_or_else_since_the_start() {
        let mut stat =
            CommandStat { since_start_us: [("p99".to_owned(), 7.0)].into(), ..CommandStat::default() };
        let percentiles =
            |stat: &CommandStat| [(0.99, "p99"), (0.999, "p99.9")].map(|(q, name)| percentile(stat, q, name));
        assert_eq!(percentiles(&stat), [Some("7.00 µs".to_owned()), None]);
        stat.times = Some(vec![(1, 900), (16, 100)].into());
        assert_eq!(percentiles(&stat), [Some("≤16 µs".to_owned()), None], "fewer than ten above");
    }
}
