//! The Log screen shows events, errors, marks and segments as text, the newest last. Below the list is the full text of
//! the selected line. Matches of a search are highlighted.
//!
//! ```text
//!    00:35  ◆ slowlog  14 ms KEYS *
//!  ▸ 00:47  ! LOADING  ×37, last 00:00:47: LOADING Redis is loading the dataset in memory
//! ```

use ratatui::layout::Rect;

use crate::{
    app::{LogKind, LogLine, Model, Purpose},
    tui::{
        Ink, Paint, Scene, from_column, row,
        widgets::{dialog::input, table::around},
        wrapped,
    },
    units::{count_with_noun, grouped},
};

/// Draws the Log screen: the heading, the lines and the search.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let lines = model.log_lines();
    let selected = model.selected_line(lines.len());
    paint.rule(row(area, 0), &title(model, &lines));
    let search = search_rows(model);
    let room = area.height.saturating_sub(1 + search);
    let full = selected.map(|at| in_full(&lines[at], area.width)).unwrap_or_default();
    // If the selected line was cut, it is repeated in full below the list. The list keeps at least half of
    // the screen.
    let below = if full.len() > 1 { (full.len() as u16 + 1).min(room / 2) } else { 0 };
    let list = Rect { y: area.y + 1, height: room - below, ..area };
    draw_list(paint, list, model, &lines, selected);
    let rest = Rect { y: list.bottom(), height: below, ..area };
    if below > 0 {
        paint.rule(row(rest, 0), "");
        for (n, text) in full.iter().take(usize::from(below) - 1).enumerate() {
            paint.text(padded(row(rest, n as u16 + 1)), text, Ink::Text);
        }
    }
    if search > 0 {
        draw_search(paint, row(area, area.height - 1), model, &lines);
    }
}

fn title(model: &Model, lines: &[LogLine]) -> String {
    let what = match model.log_view.filter() {
        None => "everything",
        Some(LogKind::Event) => "events",
        Some(LogKind::Error) => "errors by kind",
        Some(LogKind::Mark) => "marks",
        Some(LogKind::Segment) => "segments",
    };
    let follows = if model.log_view.follows() { ", follows new lines" } else { "" };
    let forgotten = match model.track().shown().forgotten {
        0 => String::new(),
        n => format!("; {} older lines are not kept", grouped(n)),
    };
    format!("log: {what}, {}{follows}{forgotten}", count_with_noun(lines.len() as u64, "line"))
}

fn draw_list(paint: &mut Paint, area: Rect, model: &Model, lines: &[LogLine], selected: Option<usize>) {
    let Some(selected) = selected else {
        paint.text(padded(row(area, 0)), "no line of this kind yet", Ink::Faint);
        return;
    };
    let shown = around(selected, lines.len(), area.height);
    let needle = model.search_text();
    for (y, n) in shown.enumerate() {
        let (place, line) = (row(area, y as u16), &lines[n]);
        // Lines later than the moment shown are faint.
        let is_later = model.is_after_cursor(line.t_s);
        let time = model.timeline().time_text(line.t_s);
        draw_line(
            paint,
            place,
            line,
            &LogLineStyle { is_selected: n == selected, is_later, needle: &needle, time },
        );
    }
}

struct LogLineStyle<'a> {
    is_selected: bool,
    is_later: bool,
    needle: &'a str,
    time: String,
}

/// The column in which the text of a line begins, after the pointer, the time and the sign.
const WORDS: u16 = 14;

fn draw_line(paint: &mut Paint, place: Rect, line: &LogLine, look: &LogLineStyle) {
    let glyphs = paint.glyphs();
    if look.is_selected {
        paint.dot(place.x + 1, place.y, glyphs.pointer, Ink::Selected);
    }
    let quiet = |ink| if look.is_later { Ink::Faint } else { ink };
    let moment = Rect { x: place.x + 2, width: 9, ..place }.intersection(place);
    paint.right(moment, &look.time, Ink::Faint);
    let (sign, ink) = match line.kind {
        LogKind::Event if line.is_recovery => (glyphs.on, Ink::Good),
        LogKind::Event => (glyphs.event, Ink::Warn),
        LogKind::Error => ('!', Ink::Bad),
        LogKind::Mark => (glyphs.mark, Ink::Strong),
        LogKind::Segment => (glyphs.border, Ink::Faint),
    };
    if place.width > WORDS {
        paint.dot(place.x + WORDS - 2, place.y, sign, quiet(ink));
    }
    let words = from_column(place, place.x + WORDS);
    let name = if look.is_selected { Ink::Selected } else { Ink::Strong };
    let text = format!(" {}", line.text);
    let end = paint.parts(words, &[(line.name.as_ref(), quiet(name)), (&text, quiet(Ink::Text))]);
    for hit in line.hits(look.needle) {
        let shown: String = line.words().chars().skip(hit.start).take(hit.len()).collect();
        let x = words.x.saturating_add(hit.start as u16);
        if x.saturating_add(hit.len() as u16) <= end {
            paint.text(Rect { x, width: hit.len() as u16, ..words }, &shown, Ink::Found);
        }
    }
}

/// Returns the selected line in as many rows as needed. The result is empty if the line fits into one row of the list.
fn in_full(line: &LogLine, width: u16) -> Vec<String> {
    let words = line.words();
    if words.chars().count() <= usize::from(width.saturating_sub(WORDS)) {
        return Vec::new();
    }
    let mut lines = wrapped(&words, usize::from(width.saturating_sub(4)));
    if lines.len() == 1 {
        // A line that was cut in the list may fit into one row here, without its time. It is repeated
        // nevertheless.
        lines.push(String::new());
    }
    lines
}

fn search_rows(model: &Model) -> u16 {
    u16::from(model.entry(Purpose::Search).is_some() || !model.search_text().is_empty())
}

fn draw_search(paint: &mut Paint, place: Rect, model: &Model, lines: &[LogLine]) {
    let needle = model.search_text();
    let hits = lines.iter().filter(|line| !line.hits(&needle).is_empty()).count();
    let place = padded(place);
    let rest = from_column(place, paint.text(place, "/", Ink::Strong));
    let x = match model.entry(Purpose::Search) {
        Some(entry) => input(paint, rest, entry),
        None => paint.text(rest, &needle, Ink::Strong),
    };
    if !needle.is_empty() {
        paint.text(from_column(rest, x), &format!("   {}", count_with_noun(hits as u64, "line")), Ink::Faint);
    }
}

fn padded(area: Rect) -> Rect {
    Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area }
}
