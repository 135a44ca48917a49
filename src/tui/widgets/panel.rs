//! The panel beside the charts: knobs, new connections where they are not kept, an experiment, ping windows, this machine, errors, results, events.
//!
//! ```text
//!  ├─ knobs ──────────
//!  │ ▸ clients     50 ◂▸
//!  ├─ ping, 15 s, ms ─
//!  │ …
//! ```

use ratatui::layout::Rect;

use super::{knobs, openings, operations, ping_parts, results, spectrum, tables};
use crate::{
    app::{Model, Subject},
    experiment::Experiment,
    session::timeline::Reading,
    tui::{Ink, Paint, row, wrapped},
};

/// Draws the sections from the top down, as many as there is room for.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    if area.width < 4 || area.height == 0 {
        return;
    }
    let glyphs = paint.glyphs();
    for y in area.top()..area.bottom() {
        paint.dot(area.x, y, glyphs.vertical, Ink::Faint);
    }
    let mut rest = area;
    knobs::draw(paint, &mut rest, model);
    if let Some(segment) = reading.segment()
        && let Some(after) = segment.start.knobs.reconnect
    {
        let title = format!("reconnect after {after}");
        let place = section(paint, &mut rest, &title, openings::rows(&segment.total));
        openings::draw(paint, roomy(place), &segment.total);
    }
    if let Some(experiment) = model.experiment() {
        draw_experiment(paint, &mut rest, experiment);
    }
    let error_rows = tables::error_rows(reading).min(6);
    // The ping windows take what the sections below can spare, up to what one takes in at a glance.
    let below = 1 + MACHINE_ROWS + 1 + error_rows;
    let parts = ping_parts::rows(reading, area.width.saturating_sub(2));
    let windows = (parts + 1 + tables::ping_rows(reading).clamp(2, (rest.height / 4).max(5)))
        .min(rest.height.saturating_sub(below + 1));
    let title = format!("ping by {} s, ms", reading.ping_window_s());
    let pings = section(paint, &mut rest, &title, windows);
    let parts = parts.min(pings.height);
    ping_parts::draw(paint, Rect { height: parts, ..pings }, reading);
    let pings = Rect { y: pings.y + parts, height: pings.height - parts, ..pings };
    tables::pings(paint, pings, reading);
    let machine = section(paint, &mut rest, "this machine, 60 s", MACHINE_ROWS);
    tables::machine(paint, machine, model, reading);
    let errors = section(paint, &mut rest, "errors", error_rows);
    tables::errors(paint, roomy(errors), reading);
    if area.width >= results::MIN_WIDTH + 3 {
        match model.subject() {
            Subject::Load => draw_results(paint, &mut rest, reading),
            Subject::Server => draw_pings(paint, &mut rest, reading),
        }
    }
    if rest.height >= 3 {
        let room = rest.height - 1;
        let events = section(paint, &mut rest, "events", room);
        tables::events(paint, roomy(events), reading);
    }
}

/// More rows of an experiment would leave too few for what it is judged by.
const MOST_EXPERIMENT: u16 = 8;

/// What the experiment does and found so far, until its answer is put away.
fn draw_experiment(paint: &mut Paint, rest: &mut Rect, experiment: &dyn Experiment) {
    let width = usize::from(rest.width.saturating_sub(3));
    let told = if experiment.is_over() { experiment.answer() } else { experiment.progress() };
    let lines: Vec<_> = told.lines().flat_map(|line| wrapped(line, width)).collect();
    let rows = (lines.len() as u16).min(MOST_EXPERIMENT).min(rest.height / 2);
    let place = section(paint, rest, &experiment.title(), rows);
    for (n, line) in (0..place.height).zip(&lines) {
        paint.text(roomy(row(place, n)), line, Ink::Text);
    }
}

/// From this many rows on, the current segment is shown from closer by, and the segments and events keep enough.
const ROOM_FOR_DETAIL: u16 = 22;

/// Below this width, bars and figures of commands say little.
const WIDE_ENOUGH_FOR_DETAIL: u16 = 40;

/// How long the pings took.
fn draw_pings(paint: &mut Paint, rest: &mut Rect, reading: &Reading) {
    if rest.height >= ROOM_FOR_DETAIL {
        let bars = spectrum::bars(reading.ping().minute(), rest.height / 3);
        let title = format!("{} answered within, 60 s", reading.words().ping);
        let place = section(paint, rest, &title, (bars.len() as u16).max(1));
        spectrum::draw(paint, roomy(place), &bars);
    }
}

/// The segments and, where there is room, commands and distribution of the current one.
fn draw_results(paint: &mut Paint, rest: &mut Rect, reading: &Reading) {
    if rest.height >= ROOM_FOR_DETAIL && rest.width >= WIDE_ENOUGH_FOR_DETAIL {
        // A third of it, and the rest for the distribution, the segments and the events.
        let rows = (operations::count(reading) as u16).min(rest.height / 3);
        let commands = section(paint, rest, "commands, this segment", 1 + rows);
        operations::draw(paint, roomy(commands), reading);
        let bars = reading.segment_service().map(|service| spectrum::bars(service, rest.height / 3));
        let bars = bars.unwrap_or_default();
        let title = "service time up to, this segment";
        let place = section(paint, rest, title, (bars.len() as u16).max(1));
        spectrum::draw(paint, roomy(place), &bars);
    }
    if rest.height >= 4 {
        // Two thirds, and the rest for the events.
        let most = (rest.height * 2 / 3).max(3);
        let rows = 1 + reading.segments().count().min(most.into()) as u16;
        let segments = section(paint, rest, "segments", rows);
        results::segments(paint, roomy(segments), reading);
    }
}

/// Without the last column, which keeps figures off the edge.
fn roomy(area: Rect) -> Rect {
    Rect { width: area.width.saturating_sub(1), ..area }
}

/// Wake and intrinsic.
const MACHINE_ROWS: u16 = 2;

/// Takes a heading and `rows` rows from the top of `rest`; what is inside.
pub(super) fn section(paint: &mut Paint, rest: &mut Rect, title: &str, rows: u16) -> Rect {
    let height = (rows + 1).min(rest.height);
    let area = Rect { height, ..*rest };
    *rest = Rect { y: rest.y + height, height: rest.height - height, ..*rest };
    if height == 0 {
        return area;
    }
    let glyphs = paint.glyphs();
    paint.rule(Rect { x: area.x + 1, width: area.width - 1, ..row(area, 0) }, title);
    // Only the first heading has nothing above it.
    let joint = if paint.at(area.x, area.y.saturating_sub(1)) == Some(&glyphs.vertical.to_string()) {
        glyphs.branch_right
    } else {
        glyphs.branch_down
    };
    paint.dot(area.x, area.y, joint, Ink::Faint);
    Rect { x: area.x + 2, y: area.y + 1, width: area.width - 2, height: height - 1 }
}
