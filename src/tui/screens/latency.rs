//! The Latency screen shows complete distributions as a curve, a table and bars.
//!
//! ```text
//!  ─ percentiles, the whole segment ─────── ─ service response   GET ─
//!   10 ms ┤                     ⣀⠤⠒         p50   312 µs   330 µs
//!    1 ms ┤   ⣀⣀⡠⠤⠤⠒⠒⠉⠉⠉⠉                  p99   910 µs   980 µs
//!         ┼─────────────────────────        ─ distribution ───────
//!         0 %     90 %     99 %   99.9 %     500 µs ▇▇▇▇▇▇▇ 71 %
//!  knobs
//! ```
//! Without load, the screen shows the distributions of PING. Below the distributions, bars show the parts of a
//! request's time, and a table shows the execution times of all clients' commands.

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
            command_table, knobs,
            percentiles::{self, LatencySeries},
            receivers, results, spent,
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

/// Draws the knobs in the last row of `area`. If there are receivers, a row about the receivers is above the knobs.
/// Returns the number of rows.
fn knob_rows(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) -> u16 {
    knobs::lines(paint, row(area, area.height.saturating_sub(1)), model);
    1 + u16::from(receivers::line(paint, row(area, area.height.saturating_sub(2)), reading))
}

/// Returns the number of rows for the table of commands, at most a third of `area`. Under load, returns 0 if the
/// table of percentiles already has a column for each operation, and without commands.
fn command_rows(area: Rect, model: &Model, reading: &Reading) -> u16 {
    let commands = match model.subject() {
        Subject::Load => results::count(reading),
        Subject::Server => reading.commands_minute().stats.len(),
    };
    let is_shown = model.subject() == Subject::Load && commands <= results::FEW;
    if is_shown || commands == 0 { 0 } else { (commands as u16 + 1).min(area.height / 3) }
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

/// The inks of the operations, by the position of the operation in the workload. After the last ink, the inks start
/// again with the first.
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

/// Returns all distributions to draw. Without load, the result is the distributions of PING. Under load, these are
/// service time, response time and the baseline. If the load reconnects, the time to open connections is added. If
/// there are several operations, the operations are added.
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

/// Returns the distributions of the operations. If there are many operations, returns only the distributions of the
/// operations with the most requests. The operations are in the order of their names, so that each operation keeps its
/// ink.
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

/// Returns the length of the period in seconds. Returns `None` for the whole segment.
fn seconds(stretch: Lookback) -> Option<f64> {
    match stretch {
        Lookback::Now => Some(1.0),
        Lookback::Minute => Some(60.0),
        Lookback::Segment => None,
    }
}

/// Returns the latencies of a measurement in the period. The result is empty if the latencies of a segment are not
/// kept.
fn recent<'a>(stretch: Lookback, reading: &'a Reading, measure: Measure) -> Cow<'a, Latency> {
    let latency: Option<&Latency> = match (stretch, measure) {
        (Lookback::Now, _) => Some(&reading.recent(measure).now),
        (Lookback::Minute, _) => Some(&reading.recent(measure).minute),
        (Lookback::Segment, Measure::Service) => reading.segment_service(),
        (Lookback::Segment, Measure::Response) => {
            reading.segment().and_then(|segment| segment.total.response.as_ref())
        }
        // Probes are not part of a segment.
        (Lookback::Segment, _) => None,
    };
    latency.map_or_else(Cow::default, Cow::Borrowed)
}
