//! The panel next to the charts shows load settings (knobs), the time to open connections, an experiment, ping windows,
//! this machine, errors, results and events. Without load, the panel shows slow commands, clients and this machine
//! instead of the knobs.
//!
//! ```text
//!  ├─ knobs ──────────
//!  │ ▸ clients     50 ◂▸
//!  ├─ ping, 15 s, ms ─
//!  │ …
//! ```
//!
//! If the load reconnects, a table shows the time to open a connection in the current segment.
//!
//! ```text
//!  1.21 k/s      p50     p99     max
//!  connect   45.0 µs  102 µs 1.20 ms
//!  greeting  88.0 µs  190 µs 1.90 ms
//! ```
//!
//! Other figures show the parts of a PING's time: the time between the kernel's timestamps (network and
//! server), and the delays of this machine.
//!
//! ```text
//!  kernel 71.0 µs  receive delay 17.0 µs
//!  send   2.10 µs  tcp           52.0 µs
//! ```

use ratatui::layout::Rect;

use super::{
    figures::{NONE, figure, part_figure, written},
    knobs, percentiles, results, slowdown,
    table::{ScreenTable, TableColumn, fitting},
    tables,
};
use crate::{
    app::{Model, Subject},
    experiment::Experiment,
    probe::Timing,
    session::{
        Interval,
        figures::{self, Row},
        timeline::{Level, Measure, Reading},
    },
    stats::Latency,
    tui::{Ink, Paint, row, wrapped},
    units,
};

/// Draws as many sections of the panel as fit, from top to bottom.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    if area.width < 4 || area.height == 0 {
        return;
    }
    let glyphs = paint.glyphs();
    for y in area.top()..area.bottom() {
        paint.dot(area.x, y, glyphs.vertical, Ink::Faint);
    }
    let mut rest = area;
    let subject = model.subject();
    match subject {
        Subject::Load => knobs::draw(paint, &mut rest, model),
        Subject::Server => slowdown::draw(paint, &mut rest, model, reading),
    }
    if let Some(segment) = reading.segment()
        && let Some(title) = segment.start.knobs.renewal()
    {
        let place = section(paint, &mut rest, &title, opening_rows(&segment.total));
        draw_openings(paint, without_edge(place), &segment.total);
    }
    if let Some(experiment) = model.experiment() {
        draw_experiment(paint, &mut rest, experiment);
    }
    let has_errors = subject == Subject::Load || reading.errors().has_any();
    let error_rows = tables::error_rows(reading).min(6);
    // The ping windows get the rows that the sections below do not need, up to a limit.
    let below = if subject == Subject::Load { 1 + MACHINE_ROWS } else { 0 }
        + if has_errors { 1 + error_rows } else { 0 };
    let parts = part_rows(reading, area.width.saturating_sub(2));
    let windows =
        (parts + 1 + (reading.ping_windows().count().min(100) as u16).clamp(2, (rest.height / 4).max(5)))
            .min(rest.height.saturating_sub(below + 1));
    let title = format!("ping by {} s, ms", reading.ping_window_s());
    let pings = section(paint, &mut rest, &title, windows);
    let parts = parts.min(pings.height);
    draw_parts(paint, Rect { height: parts, ..pings }, reading);
    let pings = Rect { y: pings.y + parts, height: pings.height - parts, ..pings };
    tables::pings(paint, pings, reading);
    if subject == Subject::Load {
        let machine = section(paint, &mut rest, "this machine, 60 s", MACHINE_ROWS);
        tables::machine(paint, machine, model, reading);
    }
    if has_errors {
        let errors = section(paint, &mut rest, "errors", error_rows);
        tables::errors(paint, without_edge(errors), reading);
    }
    if area.width >= results::MIN_WIDTH + 3 {
        match subject {
            Subject::Load => draw_results(paint, &mut rest, reading),
            Subject::Server => draw_pings(paint, &mut rest, reading),
        }
    }
    if rest.height >= 3 {
        let room = rest.height - 1;
        let events = section(paint, &mut rest, "events", room);
        tables::events(paint, without_edge(events), reading);
    }
}

/// The maximum number of rows for an experiment. More rows would leave too few rows for measurements.
const MOST_EXPERIMENT: u16 = 8;

/// Draws the experiment with its progress, or its result until the user closes it.
fn draw_experiment(paint: &mut Paint, rest: &mut Rect, experiment: &dyn Experiment) {
    let width = usize::from(rest.width.saturating_sub(3));
    let text = if experiment.is_over() { experiment.answer() } else { experiment.progress() };
    let lines: Vec<_> = text.lines().flat_map(|line| wrapped(line, width)).collect();
    let rows = (lines.len() as u16).min(MOST_EXPERIMENT).min(rest.height / 2);
    let place = section(paint, rest, &experiment.title(), rows);
    for (n, line) in (0..place.height).zip(&lines) {
        paint.text(without_edge(row(place, n)), line, Ink::Text);
    }
}

/// The number of free rows from which the details of the current segment are shown. Segments and events then still have
/// enough room.
const ROOM_FOR_DETAIL: u16 = 22;

/// The minimum width for the details of the current segment.
const WIDE_ENOUGH_FOR_DETAIL: u16 = 40;

/// Draws the distribution of the pings in the last minute, if there is room.
fn draw_pings(paint: &mut Paint, rest: &mut Rect, reading: &Reading) {
    if rest.height >= ROOM_FOR_DETAIL {
        let bars = percentiles::bars(&reading.ping().minute, rest.height / 3);
        let title = format!("{} answered within (last 60 s)", reading.words().ping);
        let place = section(paint, rest, &title, (bars.len() as u16).max(1));
        percentiles::draw_bars(paint, without_edge(place), &bars);
    }
}

/// Draws the segments and, if there is room, the operations and the distribution of the current segment.
fn draw_results(paint: &mut Paint, rest: &mut Rect, reading: &Reading) {
    if rest.height >= ROOM_FOR_DETAIL && rest.width >= WIDE_ENOUGH_FOR_DETAIL {
        // The commands get a third of the rows; the distribution, the segments and the events get the rest.
        let rows = (results::count(reading) as u16).min(rest.height / 3);
        let commands = section(paint, rest, "commands, this segment", 1 + rows);
        results::operations(paint, without_edge(commands), reading);
        let bars = reading.segment_service().map(|service| percentiles::bars(service, rest.height / 3));
        let bars = bars.unwrap_or_default();
        let title = "service time up to (this segment)";
        let place = section(paint, rest, title, (bars.len() as u16).max(1));
        percentiles::draw_bars(paint, without_edge(place), &bars);
    }
    if rest.height >= 4 {
        // The segments get two thirds of the rows; the events get the rest.
        let most = (rest.height * 2 / 3).max(3);
        let rows = 1 + reading.segments().count().min(most.into()) as u16;
        let segments = section(paint, rest, "segments", rows);
        results::segments(paint, without_edge(segments), reading);
    }
}

/// Returns `area` without the last column, which separates figures from the edge.
fn without_edge(area: Rect) -> Rect {
    Rect { width: area.width.saturating_sub(1), ..area }
}

/// The number of rows for this machine: one row for wake, and one row for intrinsic.
pub(super) const MACHINE_ROWS: u16 = 2;

/// Removes a heading and `rows` rows from the top of `rest`, and draws the heading. Returns the rows below the
/// heading.
pub(super) fn section(paint: &mut Paint, rest: &mut Rect, title: &str, rows: u16) -> Rect {
    let height = (rows + 1).min(rest.height);
    let area = Rect { height, ..*rest };
    *rest = Rect { y: rest.y + height, height: rest.height - height, ..*rest };
    if height == 0 {
        return area;
    }
    let glyphs = paint.glyphs();
    paint.rule(Rect { x: area.x + 1, width: area.width - 1, ..row(area, 0) }, title);
    // Only the first heading has no rule above it.
    let joint = if paint.at(area.x, area.y.saturating_sub(1)) == Some(&glyphs.vertical.to_string()) {
        glyphs.branch_right
    } else {
        glyphs.branch_down
    };
    paint.dot(area.x, area.y, joint, Ink::Faint);
    Rect { x: area.x + 2, y: area.y + 1, width: area.width - 2, height: height - 1 }
}

/// The width of `handshake` and a blank after it.
const NAME: u16 = 10;
/// The width of `8.85 ms` and a blank before it.
const FIGURE: u16 = 8;
/// The percentiles for each stage of opening a connection, the most important first.
const LEVELS: [Level; 3] = [Level::P50, Level::P99, Level::Max];

/// Returns the number of rows for the time to open connections.
pub fn opening_rows(total: &Interval) -> u16 {
    1 + stages(total).count() as u16
}

fn stages(total: &Interval) -> impl Iterator<Item = (&'static str, &Latency)> {
    total.opening.stages().into_iter().filter(|(_, took)| !took.is_empty())
}

/// Draws the number of connections opened per second, and a row for each stage.
pub fn draw_openings(paint: &mut Paint, area: Rect, total: &Interval) {
    let fit = fitting(area.width.saturating_sub(NAME), LEVELS.map(|_| FIGURE));
    let levels = (1..=fit).map(|n| TableColumn::right(n, FIGURE));
    let table = ScreenTable::new(area, std::iter::once(TableColumn::left(0, NAME, 1)).chain(levels));
    let pace = written(figures::OPENED_PER_S, &Row::of_interval(total)) + "/s";
    table.write(paint, 0, |key, _| match key {
        0 => (pace.clone(), Ink::Strong),
        n => (LEVELS[n - 1].name().to_owned(), Ink::Faint),
    });
    for (n, (name, took)) in stages(total).enumerate() {
        table.write(paint, n as u16 + 1, |key, _| match key {
            0 => (name.to_owned(), Ink::Text),
            n => (figure(LEVELS[n - 1].of(took)), Ink::Text),
        });
    }
}

/// The minimum width at which two figures with their names fit into one row.
const WIDE: u16 = 32;

/// The minimum width at which the figures have their full names.
const ROOM_FOR_NAMES: u16 = 37;

/// Returns the number of rows that the parts of a ping need in this width.
pub fn part_rows(reading: &Reading, width: u16) -> u16 {
    match reading.ping_timing() {
        None => 0,
        Some(Timing::Kernel) if width >= WIDE => 2,
        Some(_) => 1,
    }
}

/// Draws the medians of the parts of a ping in the last second, or the reason why the parts are unknown. After a stall,
/// a server answers many PINGs at once. The parts of most of these PINGs are unknown, and the known parts are not
/// typical.
pub fn draw_parts(paint: &mut Paint, area: Rect, reading: &Reading) {
    if let Some(obstacle) = reading.ping_timing().and_then(Timing::obstacle) {
        paint.text(row(area, 0), &format!("kernel {NONE}  {obstacle}"), Ink::Faint);
        return;
    }
    let pings = reading.pings_now();
    let [left_out, answered] = [pings.left_out, pings.answered].map(units::grouped);
    let median = |measure| part_figure(&reading.recent(measure).now, pings);
    let (send, kernel, receive) =
        (median(Measure::PingSend), median(Measure::PingKernel), median(Measure::PingPickup));
    if area.width < WIDE {
        if pings.lacks_parts() {
            let left_out = format!("{left_out} of {answered} left out");
            paint.text(row(area, 0), &left_out, Ink::Faint);
        } else {
            // The kernel's part has its own lane, so it is left out here.
            figures(paint, row(area, 0), &[("receive delay", &receive)]);
        }
        return;
    }
    let tcp = reading
        .ping_tcp()
        .map_or_else(|| NONE.to_owned(), |tcp| units::latency(u64::from(tcp.rtt_us) * 1_000));
    let (receive_name, tcp_name) = if area.width >= ROOM_FOR_NAMES {
        ("receive delay", "tcp          ")
    } else {
        ("receive", "tcp    ")
    };
    figures(paint, row(area, 0), &[("kernel", &kernel), (receive_name, &receive)]);
    if area.height >= 2 && pings.lacks_parts() {
        let left_out = format!("{left_out} of {answered} answers left out");
        paint.text(row(area, 1), &left_out, Ink::Faint);
    } else if area.height >= 2 {
        figures(paint, row(area, 1), &[("send  ", &send), (tcp_name, &tcp)]);
    }
}

/// Draws figures with their names, in columns.
fn figures(paint: &mut Paint, line: Rect, named: &[(&str, &str)]) {
    let mut parts = Vec::new();
    for (name, value) in named {
        let gap = if parts.is_empty() { "" } else { "  " };
        parts.push((format!("{gap}{name} "), Ink::Faint));
        parts.push((format!("{value:>7}"), Ink::Text));
    }
    paint.parts(line, &parts);
}
