//! Probes and the server's CPU beside the load, on the same time axis; latencies on the same scale.

use ratatui::layout::Rect;

use super::lanes::{Cell, Lanes, NONE, Row, figure, steps};
use crate::{
    probe::Timing,
    session::timeline::{ErrorCell, Level, Measure},
    tui::{
        layout::{PROBE_LANES, Plan},
        paint::{Paint, row},
        scale::{LogScale, linear_top},
        theme::Ink,
    },
    units,
};

/// Names of the lanes, short and long, the most telling lane first.
const NAMES: [(&str, &str); PROBE_LANES as usize] = [
    ("ping", "ping p50"),
    (" max", "ping max"),
    ("kern.", "kernel"),
    ("wake", "wake max"),
    ("cpu", "srv cpu"),
    ("errs", "errors"),
    ("intr.", "intrins."),
];

/// The lane of the ping's part between the kernel's stamps.
const KERNEL: usize = 2;

/// Draws as many lanes as the plan has room for.
pub fn draw(paint: &mut Paint, plan: &Plan, lanes: &Lanes, scale: LogScale) {
    let mut area = plan.probes;
    if plan.probe_rule {
        lanes.heading(paint, row(area, 0), "probes and server", false);
        area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    }
    let rows = plan.probe_rows;
    let room = area.height.checked_div(rows).unwrap_or(0);
    for n in 0..room.min(PROBE_LANES) {
        let place = Rect { y: area.y + n * rows, height: rows, ..area };
        lanes.draw(paint, place, &lane(usize::from(n), lanes, scale, rows));
        if usize::from(n) == KERNEL {
            draw_obstacle(paint, row(place, rows - 1), lanes);
        }
    }
}

/// Says in the lane itself why it is empty.
fn draw_obstacle(paint: &mut Paint, foot: Rect, lanes: &Lanes) {
    if let Some(obstacle) = lanes.reading.ping_timing().and_then(Timing::obstacle) {
        paint.text(lanes.plot(foot), &format!("{NONE} {obstacle}"), Ink::Faint);
    }
}

fn lane(n: usize, lanes: &Lanes, scale: LogScale, rows: u16) -> Row {
    let latency = |measure: Measure, level: Level, ink| {
        let recent = lanes.reading.recent(measure);
        Row {
            name: "",
            ink,
            cells: lanes.cells(measure, level, scale, rows),
            values: [figure(level.of(recent.now())), figure(level.of(recent.minute())), String::new()],
        }
    };
    let row = match n {
        0 => latency(Measure::Ping, Level::P50, Ink::Ping),
        1 => latency(Measure::Ping, Level::Max, Ink::Ping),
        KERNEL => latency(Measure::PingKernel, Level::P50, Ink::Ping),
        3 => latency(Measure::Wake, Level::Max, Ink::Machine),
        4 => server_cpu(lanes, rows),
        5 => errors(lanes, rows),
        _ => latency(Measure::Intrinsic, Level::Max, Ink::Machine),
    };
    let (short, long) = NAMES[n];
    Row { name: if usize::from(lanes.columns.gutter) > long.len() + 1 { long } else { short }, ..row }
}

/// Share of one core, on a linear scale to 100 % or to what a server of many threads needs.
fn server_cpu(lanes: &Lanes, rows: u16) -> Row {
    let shares: Vec<_> = lanes.window.server().into_iter().map(|cell| cell?.cpu).collect();
    let top = linear_top(shares.iter().flatten().copied().fold(1.0, f64::max));
    let now = lanes.reading.status().and_then(|status| status.body.cpu);
    Row {
        name: "",
        ink: Ink::Server,
        cells: shares.into_iter().map(|share| share.map_or(Cell::Gap, |s| linear(s, top, rows))).collect(),
        values: [now.map_or_else(|| NONE.to_owned(), units::percent), String::new(), String::new()],
    }
}

/// Errors in each column; one without any is blank.
fn errors(lanes: &Lanes, rows: u16) -> Row {
    let errors = lanes.window.errors();
    let counts: Vec<_> = errors.iter().map(|cell| cell.as_ref().map_or(0, ErrorCell::total)).collect();
    let top = linear_top(counts.iter().copied().max().unwrap_or(0) as f64);
    let total = lanes.reading.errors().total();
    Row {
        name: "",
        ink: Ink::Bad,
        cells: counts
            .iter()
            .map(|n| if *n == 0 { Cell::Gap } else { linear(*n as f64, top, rows) })
            .collect(),
        values: [
            if total == 0 { "none".to_owned() } else { units::count(total as f64) },
            String::new(),
            String::new(),
        ],
    }
}

fn linear(value: f64, top: f64, rows: u16) -> Cell {
    let share = (value / top).clamp(0.0, 1.0);
    Cell::Step(1 + (share * (steps(rows) - 1) as f64).round() as usize)
}
