//! The cursor of the charts: a line through all charts, and the events and values at this moment as text.
//!
//! ```text
//!  01:07  28.3 ms ← KEYS * 27.1 ms  slowlog: 27.1 ms KEYS *  segment 3: 200 clients × 4, closed loop
//!  in 2 s  322 k/s  p50 2.43 ms, p99 5.75 ms, max 28.3 ms  ping 229 µs (kernel 183 µs, receive delay 39.0 µs)
//! ```
//! The first time is the time of the cursor. The figures cover exactly the cursor's column. The figures begin with the
//! length of this column. The first column of a table's figures covers the second that begins at the cursor.

use ratatui::layout::Rect;

use super::{
    ChartContext,
    figures::{NONE, trimmed},
    status, time_axis,
};
use crate::{
    app::{Occurrence, OccurrenceKind, turned},
    events::EventKind,
    gauge::Gauge,
    session::{
        Event,
        timeline::{Level, LoadCell, Measure},
    },
    tui::{Ink, Paint, layout::ScreenPlan, row},
    units,
};

/// A piece of the text at the cursor. Most pieces are shown completely or not at all.
pub type StyledText = (String, Ink);

/// Draws the line through all charts of `plan`, behind their content.
pub fn line(paint: &mut Paint, plan: &ScreenPlan, lanes: &ChartContext) {
    let Some(column) = lanes.cursor() else { return };
    let glyphs = paint.glyphs();
    let charts = [plan.throughput, plan.latency, plan.probes, plan.axis];
    for area in charts.into_iter().filter(|area| !area.is_empty()) {
        let plot = lanes.plot(area);
        let x = plot.x + column;
        if x >= plot.right() {
            continue;
        }
        // The last row of the axis contains the times as text, so the line ends above this row.
        let bottom = if area == plan.axis && area.height > 1 { plot.bottom() - 1 } else { plot.bottom() };
        for y in plot.top()..bottom {
            let symbol = paint.at(x, y).and_then(|symbol| symbol.chars().next()).unwrap_or(' ');
            let lines = [' ', glyphs.border_line, glyphs.event_line, glyphs.target_line];
            let is_rule = y == area.y && (plan.probe_rule || area != plan.probes);
            if symbol == glyphs.horizontal || !is_rule && lines.contains(&symbol) {
                paint.dot(x, y, glyphs.cursor_line, Ink::Selected);
            } else if area != plan.latency && !is_rule {
                paint.restyle(x, y, Ink::Strong);
            }
        }
    }
}

/// Draws the line through the charts in `area` only.
pub fn through(paint: &mut Paint, area: Rect, lanes: &ChartContext) {
    let Some(column) = lanes.cursor() else { return };
    let (plot, glyph) = (lanes.plot(area), paint.glyphs().cursor_line);
    for y in (plot.top()..plot.bottom()).filter(|_| column < plot.width) {
        paint.dot_if_blank(plot.x + column, y, glyph, Ink::Selected);
        paint.restyle(plot.x + column, y, Ink::Strong);
    }
}

/// Draws the text in two rows, or in one row with the most important pieces first.
pub fn draw(paint: &mut Paint, what: Rect, figures: Rect, lanes: &ChartContext) {
    let (events, mut shown) = (event_texts(lanes), self::figures(lanes));
    if what.is_empty() {
        let (first, rest) = events.split_at(events.len().saturating_sub(1));
        // The knobs are the longest piece, so they are last.
        shown = [first, &shown, rest].concat();
    } else {
        write(paint, what, &events);
        // An interval of the load may be longer than a column.
        let length_s = lanes.load_shown().map_or(0.0, |load| load.length_s).max(lanes.axis.step_s);
        shown.insert(0, (format!("in {}", stretch(length_s)), Ink::Faint));
    }
    write(paint, figures, &shown);
}

/// Writes the pieces that fit completely. The first two pieces are always shown, and cut if necessary.
fn write(paint: &mut Paint, area: Rect, pieces: &[StyledText]) {
    let mut x = area.x + 1;
    for (n, (text, ink)) in pieces.iter().enumerate() {
        let place = Rect { x, width: area.right().saturating_sub(x + 1), ..area };
        if text.chars().count() > place.width.into() && n > 1 {
            continue;
        }
        x = paint.text(place, text, *ink) + 2;
        if x >= area.right() {
            return;
        }
    }
}

/// Draws the latest events, while the view is live.
pub fn news(paint: &mut Paint, area: Rect, lanes: &ChartContext) {
    let reading = lanes.reading;
    // An event that only counts further slow log entries is skipped: the event before it is more useful.
    let says = |event: &&Event| !matches!(event.what, EventKind::MoreSlowCommands { .. });
    // The event of a level shift has the time of the change, and may be reported after later events.
    let event = reading.events().filter(says).max_by(|a, b| a.t_s.total_cmp(&b.t_s));
    let event = event.map(|event| Occurrence::event(event).worded(reading.words()));
    let mark = reading.marks().next_back().map(Occurrence::mark);
    let last = event.into_iter().chain(mark).max_by(|a, b| a.t_s.total_cmp(&b.t_s));
    let heading = (" last   ", Ink::Strong);
    match last {
        None => paint.parts(row(area, 0), &[heading, ("no event yet", Ink::Faint)]),
        Some(last) => {
            let at = format!("{}  ", reading.timeline.time_text(last.t_s));
            let ink = time_axis::ink(last.kind);
            paint.parts(row(area, 0), &[heading, (&at, Ink::Faint), (&last.sentence, ink)])
        }
    };
}

/// Returns the time of the cursor, the events at that time, and the knobs.
fn event_texts(lanes: &ChartContext) -> Vec<StyledText> {
    let reading = lanes.reading;
    let mut pieces =
        vec![(reading.timeline.time_text(lanes.cursor_s.unwrap_or_else(|| reading.now_s())), Ink::Strong)];
    let mut begins = false;
    if let Some(cursor) = lanes.cursor() {
        let here = lanes.occurrences.iter().filter(|(column, _)| *column == cursor);
        let mut here: Vec<_> = here.map(|(_, occurrence)| occurrence).collect();
        here.sort_by_key(|occurrence| occurrence.kind);
        begins = here.iter().any(|occurrence| occurrence.kind == OccurrenceKind::Segment);
        // The event of a stall already contains the cause.
        if here.iter().all(|occurrence| occurrence.kind != OccurrenceKind::Stall) {
            pieces.extend(longest(lanes, cursor));
        }
        pieces.extend(here.iter().map(|o| (o.sentence.clone(), time_axis::ink(o.kind))));
    }
    if let Some(segment) = reading.segment() {
        let before = reading.segments().rev().nth(1).filter(|_| !begins);
        let what = before.map(|before| format!(": {}", turned(&before.start, &segment.start)));
        pieces.push((format!("segment {}{}", segment.start.segment, what.unwrap_or_default()), Ink::Text));
        let knobs = &segment.start.knobs;
        let load = if knobs.load { status::load_in_short(knobs) } else { "load off".to_owned() };
        pieces.push((load, Ink::Faint));
    }
    pieces
}

/// Returns the longest latency in a column with its cause: `602 ms ← DEBUG sleep 600 ms from 127.0.0.1:5000`.
fn longest(lanes: &ChartContext, column: u16) -> Option<StyledText> {
    let (worst, cause) = lanes.longest(column)?;
    Some((format!("{}{cause}", units::latency(worst.ns)), Ink::Warn))
}

/// Returns the figures of the cursor's column.
fn figures(lanes: &ChartContext) -> Vec<StyledText> {
    let mut pieces = Vec::new();
    let rate = lanes.rate_due();
    if let Some(load) = lanes.load_shown() {
        let ops = load.ops_per_s().map(units::rate);
        let due = rate.map(|rate| format!(" of {} due", units::rate(rate.into())));
        pieces.extend(ops.map(|ops| (format!("{ops}{}", due.unwrap_or_default()), Ink::Strong)));
    }
    let open = rate.is_some();
    pieces.extend(latencies(lanes, Measure::Service, if open { "service " } else { "" }));
    let longest_ns = lanes.level_shown(Measure::Service, Level::Max);
    let wait_ns = lanes.load_shown().and_then(|load| load.wait_beyond(longest_ns));
    pieces
        .extend(wait_ns.map(|ns| (format!("a request has waited {} so far", units::latency(ns)), Ink::Warn)));
    pieces.extend(latencies(lanes, Measure::Response, "response "));
    if open && let Some(lag) = lanes.load_shown().map(|load: &LoadCell| load.behind_us) {
        pieces.push((format!("send lag {}", units::latency(lag.saturating_mul(1000))), Ink::Text));
    }
    pieces.extend(ping(lanes));
    let cpu = lanes.reading.status().and_then(|status| status.body.text_of(Gauge::Cpu));
    pieces.extend(cpu.map(|cpu| (format!("server CPU {cpu}"), Ink::Text)));
    let wake = lanes.level_shown(Measure::Wake, Level::Max);
    pieces.extend(wake.map(|ns| (format!("wake max {}", units::latency(ns)), Ink::Text)));
    pieces
}

/// Returns the median ping of the column with its parts: `ping 229 µs (kernel 183 µs, receive delay 39.0 µs, 2 left
/// out)`. If no ping was answered, returns the waiting time of the oldest ping.
fn ping(lanes: &ChartContext) -> Option<StyledText> {
    let pings = lanes.pings_shown();
    let ns = lanes.level_shown(Measure::Ping, Level::P50)?;
    if pings.answered == 0 {
        return Some((format!("ping >{} so far", units::latency(ns)), Ink::Text));
    }
    let part = |measure, name| {
        let ns = lanes.level_shown(measure, Level::P50)?;
        Some(format!("{name} {}", units::latency(ns)))
    };
    let kernel = match pings.lacks_parts() {
        true => Some(format!("kernel {NONE}")),
        false => part(Measure::PingKernel, "kernel"),
    };
    let left_out = (pings.left_out > 0).then(|| format!("{} left out", pings.left_out));
    let parts = [kernel, part(Measure::PingPickup, "receive delay"), left_out];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    Some((format!("ping {}{parts}", units::latency(ns)), Ink::Text))
}

/// Returns the length of a column as text: `0.25 s`, `20 s`, `5.2 min`.
fn stretch(step_s: f64) -> String {
    let (value, unit) = match step_s {
        ..60.0 => (step_s, "s"),
        60.0..3600.0 => (step_s / 60.0, "min"),
        _ => (step_s / 3600.0, "h"),
    };
    let digits = if value < 1.0 { 2 } else { usize::from(value < 10.0) };
    trimmed(&format!("{value:.digits$} {unit}"))
}

/// Returns a text such as `p50 312 µs, p99 910 µs, max 7.70 ms`, without percentiles that have too few samples.
fn latencies(lanes: &ChartContext, measure: Measure, name: &str) -> Option<StyledText> {
    let level = |level: Level| {
        let ns = lanes.level_shown(measure, level)?;
        Some(format!("{} {}", level.name(), units::latency(ns)))
    };
    let known: Vec<_> = [Level::P50, Level::P99, Level::Max].into_iter().filter_map(level).collect();
    (!known.is_empty()).then(|| (format!("{name}{}", known.join(", ")), Ink::Text))
}
