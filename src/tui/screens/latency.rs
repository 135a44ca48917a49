//! The Latency screen: complete distributions as a curve, a table and bars.
//!
//! ```text
//!  ─ percentiles, the whole segment ─────── ─ service response   GET ─
//!   10 ms ┤                     ⣀⠤⠒         p50   312 µs   330 µs
//!    1 ms ┤   ⣀⣀⡠⠤⠤⠒⠒⠉⠉⠉⠉                  p99   910 µs   980 µs
//!         ┼─────────────────────────        ─ distribution ───────
//!         0 %     90 %     99 %   99.9 %     500 µs ▇▇▇▇▇▇▇ 71 %
//!  knobs
//! ```
//! Without load, the screen shows the distributions of PING. Below them, bars show the parts of a request's
//! time, and a table shows the execution times of all clients' commands.

use std::borrow::Cow;

use ratatui::layout::Rect;

use crate::{
    app::{Lookback, Model, Pane, Subject},
    session::{
        Interval,
        timeline::{Level, Measure, Reading, SegmentTotal},
    },
    stats::Latency,
    tui::{
        Ink, Paint, Scene, row,
        widgets::{
            command_table,
            figures::{figure, ping_figure},
            knobs,
            percentiles::{self, LatencySeries},
            receivers, results, spent,
            table::{ScreenTable, TableColumn},
        },
    },
};

/// The minimum width of the curve next to a table.
const LEAST_CURVE: u16 = 34;
/// The minimum height of the distribution as bars: a horizontal rule and some bars.
const LEAST_BARS: u16 = 5;

/// Draws the Latency screen, without header and footer.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    let series = series(model, reading);
    let below = knob_rows(paint, area, model, reading);
    let body = Rect { height: area.height.saturating_sub(below), ..area };
    match model.maximised {
        Some(Pane::Percentiles) => table(paint, body, &series),
        Some(Pane::Distribution) => bars(paint, body, model, &series),
        Some(_) => lines(paint, body, model, &series),
        None => {
            let rows = command_rows(body, model, reading);
            let width = body.width.saturating_sub(1);
            let below = Rect { y: body.bottom() - rows, width, height: rows, ..body };
            let all_spent = model.spent();
            let bars = spent::rows(&all_spent).min((body.height - rows) / 4);
            let spent_at = Rect { y: below.y - bars, height: bars, ..below };
            all(paint, Rect { height: body.height - rows - bars, ..body }, model, &series);
            spent::draw(paint, spent_at, &all_spent);
            match model.subject() {
                Subject::Load => results::operations_from(paint, below, reading, model.first_operation),
                Subject::Server => {
                    command_table::draw(paint, below, &reading.commands_minute(), reading.words(), |_| None);
                }
            }
        }
    }
}

/// Draws the knobs in the last row of `area`, and above them a row about the receivers, if there are some. Returns the
/// number of rows.
fn knob_rows(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) -> u16 {
    knobs::lines(paint, row(area, area.height.saturating_sub(1)), model);
    1 + u16::from(receivers::line(paint, row(area, area.height.saturating_sub(2)), reading))
}

/// Returns the number of rows for the table of commands, at most a third of `area`. Under load, returns 0 if the
/// table of percentiles already has a column for each operation.
fn command_rows(area: Rect, model: &Model, reading: &Reading) -> u16 {
    let commands = match model.subject() {
        Subject::Load => results::count(reading),
        Subject::Server => reading.commands_minute().stats.len(),
    };
    let is_shown = model.subject() == Subject::Load && commands <= results::FEW;
    if is_shown { 0 } else { (commands as u16 + 1).min(area.height / 3) }
}

fn all(paint: &mut Paint, area: Rect, model: &Model, series: &[LatencySeries]) {
    let room = area.width.saturating_sub(LEAST_CURVE);
    let most = area.width / 2;
    let columns = (1..=series.len()).rev().find(|n| percentiles::width(*n) <= most.min(room));
    let Some(columns) = columns else {
        lines(paint, area, model, series);
        return;
    };
    let width = percentiles::width(columns);
    lines(paint, Rect { width: area.width - width - 1, ..area }, model, series);
    let side = Rect { x: area.right() - width, width, ..area };
    let rows = (percentiles::ROWS + 1).min(side.height);
    table(paint, Rect { height: rows, ..side }, series);
    let rest = Rect { y: side.y + rows, height: side.height - rows, ..side };
    if rest.height >= LEAST_BARS {
        bars(paint, rest, model, series);
    }
}

fn lines(paint: &mut Paint, area: Rect, model: &Model, series: &[LatencySeries]) {
    paint.rule(row(area, 0), &format!("percentiles, {}", model.period.name()));
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    percentiles::draw_curve(paint, below, series);
}

fn table(paint: &mut Paint, area: Rect, series: &[LatencySeries]) {
    paint.rule(row(area, 0), "latency");
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    percentiles::draw_table(paint, below, series);
}

fn bars(paint: &mut Paint, area: Rect, model: &Model, series: &[LatencySeries]) {
    let Some(first) = series.first() else { return };
    paint.rule(row(area, 0), &format!("{}, {}", first.name, model.period.name()));
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    percentiles::draw_bars(paint, below, &percentiles::bars(&first.latency, below.height));
}

/// The inks of the operations, by the position of the operation in the workload. After the last ink, the first ink is
/// used again.
const OPERATIONS: [Ink; 4] = [Ink::Throughput, Ink::Level(Level::P90), Ink::Level(Level::P999), Ink::Machine];

/// The number of operations with a line in the chart, if the workload has many operations.
const MOST_LINES: usize = 3;

fn one<'a>(name: &str, letter: char, ink: Ink, latency: Cow<'a, Latency>) -> LatencySeries<'a> {
    LatencySeries { name: name.to_owned(), letter, ink, is_comparison: false, latency }
}

/// Returns the distribution of PING. If the kernel gives timestamps, also returns the distributions of the parts of a
/// PING.
fn pings<'a>(model: &Model, reading: &'a Reading<'a>) -> Vec<LatencySeries<'a>> {
    let parts = [
        ("ping", 'p', Ink::Ping, Measure::Ping),
        ("kernel", 'k', Ink::Throughput, Measure::PingKernel),
        ("receive", 'r', Ink::Level(Level::P999), Measure::PingPickup),
        ("send", 's', Ink::Level(Level::P99), Measure::PingSend),
    ];
    let latency = |measure| match model.period {
        Lookback::Segment => Cow::Owned(reading.of_segment(measure)),
        stretch => recent(stretch, reading, measure),
    };
    let all = parts.into_iter().map(|(name, letter, ink, measure)| one(name, letter, ink, latency(measure)));
    all.enumerate()
        .filter(|(n, series)| *n == 0 || !series.latency.is_empty())
        .map(|(_, series)| series)
        .collect()
}

/// Returns all distributions to draw. Without load, returns the distributions of PING. Under load, returns service
/// time, response time, the baseline, the time to open connections if the load reconnects, and the operations if there
/// are several.
fn series<'a>(model: &'a Model, reading: &'a Reading<'a>) -> Vec<LatencySeries<'a>> {
    let (segment, service) = (reading.segment(), recent(model.period, reading, Measure::Service));
    // The charts of the load stay for a while after the load has stopped, but the new segment has only PINGs.
    let is_over = service.is_empty() && segment.is_some_and(|segment| !segment.start.knobs.load);
    if model.subject() == Subject::Server || is_over {
        return pings(model, reading);
    }
    let mut all = vec![one("service", 's', Ink::Ping, service)];
    let response = recent(model.period, reading, Measure::Response);
    if !response.is_empty() {
        all.push(one("response", 'r', Ink::Level(Level::P99), response));
    }
    if let Some((name, got)) = segment.and_then(|segment| segment.total.arrivals.iter().next()) {
        let times = match model.period {
            Lookback::Segment => Cow::Borrowed(&got.times),
            stretch => recent(stretch, reading, Measure::Received),
        };
        all.push(one(name, name.chars().next().unwrap_or('d'), Ink::Level(Level::P999), times));
    }
    let is_other = |base: &&SegmentTotal| segment.is_none_or(|s| s.start.segment != base.start.segment);
    if let Some(base) = model.baseline().filter(is_other) {
        let name = format!("base {}", base.start.segment);
        let latency = Cow::Borrowed(&base.total.service);
        all.push(LatencySeries { is_comparison: true, ..one(&name, '.', Ink::Faint, latency) });
    }
    if let Some(segment) = segment.filter(|segment| segment.start.knobs.renewal().is_some()) {
        all.extend(stages(model, reading, &segment.total));
    }
    if let Some(segment) = segment.filter(|segment| segment.total.commands.len() > 1) {
        all.extend(busiest(model, reading, segment));
    }
    all
}

/// Returns the distributions of the operations, or if there are many, of the operations with the most requests. The
/// operations are in the order of their names, so that each operation keeps its ink.
fn busiest<'a>(
    model: &'a Model,
    reading: &'a Reading<'a>,
    segment: &'a SegmentTotal,
) -> impl Iterator<Item = LatencySeries<'a>> {
    let mut operations = segment.total.busiest();
    let is_many = operations.len() > results::FEW;
    if is_many {
        operations.truncate(MOST_LINES);
    }
    operations.sort_by_key(|(label, _)| *label);
    operations.into_iter().enumerate().map(move |(n, (label, part))| {
        let latency = match seconds(model.period) {
            Some(length_s) => Cow::Owned(reading.of_operation(label, length_s)),
            None => Cow::Borrowed(&part.service),
        };
        let place = segment.start.knobs.workload.place(label).unwrap_or(0);
        // If there are many operations, their names may begin with the same letter, so digits are used.
        let (n, letter) = match char::from_digit(n as u32 + 1, 10).filter(|_| is_many) {
            Some(digit) => (n, digit),
            None => (place, label.chars().next().unwrap_or('c')),
        };
        one(label, letter, OPERATIONS[n % OPERATIONS.len()], latency)
    })
}

/// Returns the distributions of the time to open a connection, one for each stage.
fn stages<'a>(
    model: &'a Model,
    reading: &'a Reading<'a>,
    total: &'a Interval,
) -> impl Iterator<Item = LatencySeries<'a>> {
    let stages = total.opening.stages().into_iter().filter(|(_, took)| !took.is_empty());
    stages.zip([Ink::Throughput, Ink::Level(Level::P90), Ink::Machine]).map(|((name, took), ink)| {
        let latency = match seconds(model.period) {
            Some(length_s) => Cow::Owned(reading.of_stage(name, length_s)),
            None => Cow::Borrowed(took),
        };
        one(name, name.chars().next().unwrap_or('c'), ink, latency)
    })
}

/// Returns the length of the period in seconds; `None` for the whole segment.
fn seconds(stretch: Lookback) -> Option<f64> {
    match stretch {
        Lookback::Now => Some(1.0),
        Lookback::Minute => Some(60.0),
        Lookback::Segment => None,
    }
}

fn recent<'a>(stretch: Lookback, reading: &'a Reading, measure: Measure) -> Cow<'a, Latency> {
    stretch_of(reading, measure, stretch).map_or_else(Cow::default, Cow::Borrowed)
}

/// Returns the latencies of a measurement in the period; `None` for a segment's latencies that are not kept.
fn stretch_of<'a>(reading: &'a Reading, measure: Measure, stretch: Lookback) -> Option<&'a Latency> {
    match (stretch, measure) {
        (Lookback::Now, _) => Some(&reading.recent(measure).now),
        (Lookback::Minute, _) => Some(&reading.recent(measure).minute),
        (Lookback::Segment, Measure::Service) => reading.segment_service(),
        (Lookback::Segment, Measure::Response) => reading.segment()?.total.response.as_ref(),
        // Probes are not part of a segment.
        (Lookback::Segment, _) => None,
    }
}

/// The width of `ping p50` and a blank on either side.
const NAME: u16 = 10;
/// The width of `1.68 ms` and the blanks before it.
const FIGURE: u16 = 9;

/// A row of the small screen: its name, the measurement, and the percentile.
type FewRow = (&'static str, Measure, Level);

/// All rows of the small screen under load, from top to bottom, each with a rank. If not all rows fit, the rows with
/// the highest ranks are left out.
const OF_LOAD: [(u8, FewRow); 7] = [
    (0, ("p50", Measure::Service, Level::P50)),
    (4, ("p90", Measure::Service, Level::P90)),
    (1, ("p99", Measure::Service, Level::P99)),
    (3, ("p99.9", Measure::Service, Level::P999)),
    (2, ("max", Measure::Service, Level::Max)),
    (5, ("resp p99", Measure::Response, Level::P99)),
    (6, ("ping p50", Measure::Ping, Level::P50)),
];

/// All rows of the small screen without load, each with a rank.
const OF_PINGS: [(u8, FewRow); 7] = [
    (0, ("p50", Measure::Ping, Level::P50)),
    (4, ("p90", Measure::Ping, Level::P90)),
    (1, ("p99", Measure::Ping, Level::P99)),
    (3, ("p99.9", Measure::Ping, Level::P999)),
    (2, ("max", Measure::Ping, Level::Max)),
    (5, ("kernel", Measure::PingKernel, Level::P50)),
    (6, ("wake max", Measure::Wake, Level::Max)),
];

/// Draws the latency in a few rows and the selected knob, for screens that are too small for curves and bars.
///
/// ```text
///  service        now     60 s  segment
///  p50         312 µs   298 µs   301 µs
///  p99         910 µs   822 µs   850 µs
///  ping p50     88 µs    90 µs
///  ▸ clients 50 ◂ ▸  pipeline 1
/// ```
/// If not all rows or columns fit, the least important rows or columns are left out.
pub fn draw_few(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    let below = knob_rows(paint, area, model, reading);
    rows(paint, Rect { height: area.height.saturating_sub(below), ..area }, model, reading);
}

fn rows(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    let is_load = model.subject() == Subject::Load;
    // The first column contains the name, and each other column a period.
    let figures = stretches(area.width).iter().map(|stretch| TableColumn::right(Some(*stretch), FIGURE));
    let table = ScreenTable::new(area, std::iter::once(TableColumn::left(None, NAME, 1)).chain(figures));
    table.write(paint, 0, |key, _| match key {
        None => (if is_load { "service" } else { reading.words().ping }.to_owned(), Ink::Faint),
        Some(stretch) if stretch == model.period => (short_name(stretch, model, reading), Ink::Strong),
        Some(stretch) => (short_name(stretch, model, reading), Ink::Faint),
    });
    let lines = if is_load { OF_LOAD } else { OF_PINGS };
    for (n, (name, measure, level)) in fitting(reading, lines, area.height.saturating_sub(1)).enumerate() {
        table.write(paint, n as u16 + 1, |key, _| {
            let Some(stretch) = key else { return (name.to_owned(), Ink::Faint) };
            let text = match stretch_of(reading, measure, stretch) {
                Some(latency) if (measure, stretch) == (Measure::Ping, Lookback::Now) => {
                    ping_figure(level, latency, reading.pings_now())
                }
                Some(latency) => figure(level.of(latency)),
                // Probes are not part of a segment.
                None => String::new(),
            };
            (text, Ink::Text)
        });
    }
}

/// Returns the periods whose columns fit, from left to right.
fn stretches(width: u16) -> &'static [Lookback] {
    match width.saturating_sub(NAME) / FIGURE {
        0 | 1 => &[Lookback::Now],
        2 => &[Lookback::Now, Lookback::Segment],
        _ => &[Lookback::Now, Lookback::Minute, Lookback::Segment],
    }
}

fn short_name(stretch: Lookback, model: &Model, reading: &Reading) -> String {
    match stretch {
        // In a frozen view, the heading of this column is the time at the cursor.
        Lookback::Now if model.cursor_s().is_some() => reading.timeline.time_text(model.moment_s()),
        Lookback::Now => "now".to_owned(),
        Lookback::Minute => "60 s".to_owned(),
        Lookback::Segment => "segment".to_owned(),
    }
}

/// Returns the rows to show. Rows with response times are shown only if response times were measured.
fn fitting(reading: &Reading, of: [(u8, FewRow); 7], rows: u16) -> impl Iterator<Item = FewRow> {
    let is_open = stretch_of(reading, Measure::Response, Lookback::Segment).is_some_and(|l| !l.is_empty());
    let lines = move || of.into_iter().filter(move |(_, line)| is_open || line.1 != Measure::Response);
    let mut ranks: Vec<_> = lines().map(|(rank, _)| rank).collect();
    ranks.sort_unstable();
    ranks.truncate(rows.into());
    lines().filter(move |(rank, _)| ranks.contains(rank)).map(|(_, line)| line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Timeline;

    #[test]
    fn the_least_important_rows_are_left_out_first_and_the_order_stays() {
        let timeline = Timeline::default();
        let names = |rows| -> Vec<&str> {
            fitting(&timeline.latest(), OF_LOAD, rows).map(|(name, ..)| name).collect()
        };
        assert_eq!(names(9), ["p50", "p90", "p99", "p99.9", "max", "ping p50"]);
        assert_eq!(names(4), ["p50", "p99", "p99.9", "max"]);
        assert_eq!(names(1), ["p50"]);
    }
}
