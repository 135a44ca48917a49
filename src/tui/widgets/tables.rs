//! The tables of the panel: ping windows, this machine, errors, events.

use ratatui::layout::Rect;

use super::{
    figures::{NONE, figure},
    table::{ScreenTable, TableColumn},
};
use crate::{
    app::Model,
    session::{
        Timeline,
        timeline::{Level, PingWindow, Reading, folded},
    },
    tui::{Ink, Paint, from_column, row},
    units,
};

/// Returns the number of rows for the errors.
pub fn error_rows(reading: &Reading) -> u16 {
    (reading.errors().by_count().len() as u16).clamp(1, 100)
}

/// The columns of a ping window: the name of each figure, and the width of its column.
const PING_COLUMNS: [(&str, u16); 5] = [("min", 7), ("avg", 7), ("max", 7), ("n", 5), ("until", 9)];

/// Draws the windows of pings, newest first, like redis-cli --latency-history: minimum, mean and maximum in
/// milliseconds. If there is room, the row also has the number of samples and the end of the window.
pub fn pings(paint: &mut Paint, area: Rect, reading: &Reading) {
    let all = PING_COLUMNS.len();
    let shown = if area.width >= ping_columns_end(all) { all } else { 3 };
    let table = ScreenTable::new(area, (0..shown).map(|n| TableColumn::right(n, PING_COLUMNS[n].1)));
    table.write(paint, 0, |key, _| (PING_COLUMNS[key].0.to_owned(), Ink::Faint));
    for (n, window) in reading.ping_windows().enumerate().take(area.height.into()) {
        ping_window(paint, &table, n as u16 + 1, &ping_texts(window, reading.timeline), window.lost);
    }
}

/// Returns the width of the first `n` columns of a ping window.
fn ping_columns_end(n: usize) -> u16 {
    PING_COLUMNS[..n].iter().map(|(_, width)| width).sum()
}

/// Draws a window of pings, with the number of lost pings at the left. If there is too little room, the number of
/// lost pings replaces other figures, but never the maximum.
fn ping_window(paint: &mut Paint, table: &ScreenTable<usize>, n: u16, texts: &[String; 5], lost: u64) {
    let lost = if lost > 0 { format!("{} lost", units::count(lost as f64)) } else { String::new() };
    let taken = lost.chars().count();
    let ink = if n == 1 { Ink::Strong } else { Ink::Text };
    for (key, cell) in table.row(n) {
        let end = usize::from(ping_columns_end(key + 1));
        // A blank must separate the number of lost pings from the figures.
        if taken == 0 || taken < end.saturating_sub(texts[key].chars().count()) {
            cell.write(paint, &texts[key], ink);
        }
    }
    paint.text(table.line(n), &lost, Ink::Bad);
}

fn ping_texts(window: &PingWindow, timeline: &Timeline) -> [String; 5] {
    let rtt = &window.rtt;
    let ms = |ns: f64| if rtt.is_empty() { NONE.to_owned() } else { milliseconds(ns) };
    [
        ms(rtt.min_ns() as f64),
        ms(rtt.mean_ns()),
        ms(rtt.max_ns() as f64),
        rtt.count().to_string(),
        timeline.time_text(window.end_s),
    ]
}

/// Returns a time in milliseconds, with at most three decimals. The result has as many decimals as fit.
fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    match ms {
        ms if ms < 99.9995 => format!("{ms:.3}"),
        ms if ms < 9999.95 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

/// Draws the delays of this machine that the wake and intrinsic probes measure.
pub fn machine(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    let wake = &reading.wake().minute;
    let (p99, max) = (figure(Level::P99.of(wake)), figure(Level::Max.of(wake)));
    let mut parts = vec![("wake p99 ", Ink::Faint), (&p99, Ink::Text)];
    if area.width >= WIDE_MACHINE {
        parts.extend([("  max ", Ink::Faint), (&max, Ink::Text)]);
    }
    paint.parts(row(area, 0), &parts);
    let line = row(area, 1);
    let Some(run) = reading.intrinsic_run() else {
        paint.text(line, "intrinsic: press i", Ink::Faint);
        return;
    };
    let max = units::latency(run.gaps.max_ns());
    let (state, ink) = match run.remaining_s {
        Some(s) if s > 0.0 => (format!("{s:.0} s to go"), Ink::Strong),
        Some(_) => {
            (run.worst_ratio().map_or_else(String::new, |ratio| format!("{ratio:.0}× the mean")), Ink::Text)
        }
        None if model.gentle_intrinsic => ("gentle".to_owned(), Ink::Good),
        None => ("gentle, off".to_owned(), Ink::Faint),
    };
    let mut parts = vec![("intr. max ", Ink::Faint), (max.as_str(), Ink::Text)];
    if area.width >= WIDE_MACHINE {
        parts.extend([("  ", Ink::Text), (state.as_str(), ink)]);
    } else if run.is_running() {
        parts = vec![("intrinsic ", Ink::Faint), (state.as_str(), ink)];
    }
    paint.parts(line, &parts);
}

/// The minimum width with room for two figures in a row.
const WIDE_MACHINE: u16 = 32;

/// Draws each kind of error with its count and its first message. Errors of PINGs have their own rows.
pub fn errors(paint: &mut Paint, area: Rect, reading: &Reading) {
    let log = reading.errors();
    let kinds = log.by_count();
    if kinds.is_empty() {
        paint.text(row(area, 0), "none", Ink::Text);
        return;
    }
    let shown = if kinds.len() > area.height.into() {
        usize::from(area.height.saturating_sub(1))
    } else {
        kinds.len()
    };
    for (n, (kind, error)) in kinds.iter().take(shown).enumerate() {
        let count = units::count(error.count as f64);
        let first = error.first.as_deref().unwrap_or_default();
        let first = first.strip_prefix(&format!("{kind} ")).unwrap_or(first);
        let of = error.ping.map_or_else(|| " ".to_owned(), |ping| format!(" of {ping} "));
        let parts = [
            (count.as_str(), Ink::Bad),
            (" ", Ink::Text),
            (kind, Ink::Strong),
            (&of, Ink::Text),
            (first, Ink::Text),
        ];
        paint.parts(row(area, n as u16), &parts);
    }
    if shown < kinds.len() {
        let rest: u64 = kinds[shown..].iter().map(|(_, error)| error.count).sum();
        let text = format!("{rest} of {} more kinds", kinds.len() - shown);
        paint.text(row(area, shown as u16), &text, Ink::Bad);
    }
}

/// Draws the latest events, newest first. A long event continues in a second row.
pub fn events(paint: &mut Paint, area: Rect, reading: &Reading) {
    let mut newest = folded(reading.events()).into_iter().rev().peekable();
    let forgotten = reading.timeline.forgotten;
    let (area, foot) = if forgotten > 0 && area.height > 1 {
        (Rect { height: area.height - 1, ..area }, Some(row(area, area.height - 1)))
    } else {
        (area, None)
    };
    if let Some(foot) = foot {
        paint.text(foot, &format!("{forgotten} earlier events are no longer listed"), Ink::Faint);
    }
    if newest.peek().is_none() {
        paint.text(row(area, 0), "none", Ink::Text);
    }
    let mut n = 0;
    for listed in newest {
        if n >= area.height {
            break;
        }
        let line = row(area, n);
        let event = listed.last.event;
        let at = format!("{} ", reading.timeline.time_text(listed.last.from_s));
        let ink = if event.what.is_recovery() { Ink::Good } else { Ink::Warn };
        let parts = [(at.as_str(), Ink::Faint), (event.what.name(), ink), (" ", Ink::Text)];
        let rest = from_column(line, paint.parts(line, &parts));
        let indent = if area.width < ROOM_FOR_INDENT { 2 } else { at.len() as u16 };
        let below = Rect { x: area.x + indent, width: area.width.saturating_sub(indent), ..row(area, n + 1) };
        let detail = reading.words().worded(listed.text);
        let (first, second) = split(&detail, rest.width.into());
        n += 1;
        if second.is_empty() || n >= area.height {
            paint.text(rest, &detail, Ink::Text);
        } else {
            paint.text(rest, first, Ink::Text);
            paint.text(below, second, Ink::Text);
            n += 1;
        }
    }
}

/// The minimum width at which the second row of an event is below its name.
const ROOM_FOR_INDENT: u16 = 36;

/// Returns `text` in two pieces, divided at a blank that does not follow a number. The first piece fits into `width`.
fn split(text: &str, width: usize) -> (&str, &str) {
    if text.chars().count() <= width {
        return (text, "");
    }
    let end = text.char_indices().nth(width).map_or(text.len(), |(at, _)| at);
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let follows_number = |at: usize| text[..at].rsplit(' ').next().is_some_and(is_number);
    let mut blanks = text.rmatch_indices(' ').map(|(at, _)| at);
    let at = blanks.find(|at| *at <= end && !follows_number(*at)).unwrap_or(0);
    (&text[..at], text[at..].trim_start())
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::tui::theme::{Colours, GlyphSet, Theme};

    /// Returns a row of the panel: one window of time with this many lost pings.
    fn drawn(lost: u64, width: u16) -> String {
        let rtt = crate::stats::fixture::repeated(12_345_678, 100);
        let window = PingWindow { end_s: 60.0, rtt, lost, ..PingWindow::default() };
        let area = Rect::new(0, 0, width, 2);
        let mut buffer = Buffer::empty(area);
        let mut paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, GlyphSet::Ascii));
        let columns = if width > 30 { 5 } else { 3 };
        let table = ScreenTable::new(area, (0..columns).map(|n| TableColumn::right(n, PING_COLUMNS[n].1)));
        let texts = ping_texts(&window, &Timeline::default());
        ping_window(&mut paint, &table, 1, &texts, window.lost);
        let line: String = (0..width).filter_map(|x| Some(buffer.cell((x, 1))?.symbol())).collect();
        line.trim_end().to_owned()
    }

    #[test]
    fn numbers_of_lost_pings_of_any_size_never_cut_a_figure() {
        assert_eq!(drawn(0, 22), " 12.346 12.346 12.346");
        assert_eq!(drawn(7, 22), "7 lost  12.346 12.346");
        assert_eq!(drawn(1234, 22), "1.23 k lost    12.346");
        assert_eq!(drawn(1_234_567, 35), "1.23 M lost    12.346  100    01:00");
    }

    #[test]
    fn a_long_text_is_divided_at_a_blank() {
        assert_eq!(split("short", 5), ("short", ""));
        assert_eq!(split("two words", 5), ("two", "words"));
        assert_eq!(split("two words", 3), ("two", "words"));
        assert_eq!(split("unbreakable", 5), ("", "unbreakable"));
        assert_eq!(split("größere Wörter", 7), ("größere", "Wörter"));
        assert_eq!(
            split("all 10 000 keys", 11),
            ("all", "10 000 keys"),
            "a number and its noun stay on one line"
        );
    }
}
