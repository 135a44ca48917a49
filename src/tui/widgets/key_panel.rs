//! The panel with the results of sampling the server's keys: keys by prefix, the largest keys and the hottest
//! keys.
//!
//! ```text
//! ┌─ keys ───────────────────────────────────────────────┐
//! │ 34.1 k of 1.00 M keys of database 0 (3.4 %), …       │
//! │ ─ prefix ──────────── keys ──── memory ─── no TTL ── │
//! │ session:      300 k ±9.5 k   1.20 GiB ±40 MiB   12 % │
//! │ ─ largest keys ───────────────────────────────────── │
//! │ cart:all                  hash              41.3 MiB │
//! └────────── Enter sample  m MONITOR  h HOTKEYS  x stop ┘
//! ```

use ratatui::layout::Rect;

use super::{
    dialog::{centred, padded},
    table::{ScreenTable, TableColumn},
};
use crate::{
    app::Model,
    server::{Estimate, HotUnit, KeyMethod, KeyReport, KeyState},
    tui::{Ink, Paint, row, wrapped},
    units,
};

/// The maximum width. In a wider box, the figures would be too far from the names.
const WIDEST: u16 = 100;
/// The text before the first sampling. The text names the requests that redyno sends to the server after Enter, m or h.
const OFFER: &str = "Enter samples the keys with SCAN, MEMORY USAGE and PTTL, and with OBJECT FREQ under an LFU policy. The \
    sampling uses at most 2 % of the main thread's time. The sampling ends when redyno has seen all keys, or when you \
    press x. Each sampled key adds up to three to the server's number of hits.\nm runs MONITOR for 1 s, and shows the most \
    frequent commands and keys. redyno asks first.\nh lets the server measure its time for each key for 5 s (HOTKEYS, \
    Redis 8.6 or later).\nredyno changes no key and no parameter.";
const KEYS: &str = " Enter sample  m MONITOR  h HOTKEYS  x stop  Esc close ";

/// Draws the view of the keys over a screen with this `area`.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    // The status line stays visible: it shows the effect of a key.
    let below = Rect { y: area.y + area.height.min(2), height: area.height.saturating_sub(3), ..area };
    let place = centred(below, area.width.min(WIDEST), below.height);
    paint.clear(place);
    let title = model.keys_of().map_or_else(|| "keys".to_owned(), |address| format!("keys of {address}"));
    let inner = padded(paint.frame(place, &title));
    let seen = model.keys_seen();
    let (text, ink) = seen.map_or_else(|| (OFFER.to_owned(), Ink::Text), status);
    let lines: Vec<_> = text.lines().flat_map(|line| wrapped(line, inner.width.into())).collect();
    for (n, line) in (0..).zip(&lines) {
        paint.text(row(inner, n), line, ink);
    }
    let used = (lines.len() as u16).min(inner.height);
    let rest = Rect { y: inner.y + used, height: inner.height - used, ..inner };
    if let Some(seen) = seen {
        tables(paint, rest, seen);
    }
    if place.height > 1 {
        let foot = Rect { width: place.width.saturating_sub(2), ..row(place, place.height - 1) };
        paint.right(foot, KEYS, Ink::Strong);
    }
}

/// Returns a text about the progress and the cost of the sampling, with its ink.
fn status(seen: &KeyReport) -> (String, Ink) {
    let count = |n: u64| units::count(n as f64);
    let is_over = seen.state != KeyState::Running;
    let text = match (&seen.state, seen.way) {
        (KeyState::Failed(why), _) => return (why.clone(), Ink::Warn),
        (_, KeyMethod::HotKeys) if is_over => "HOTKEYS: the main thread's time by key".to_owned(),
        (_, KeyMethod::HotKeys) => "HOTKEYS: the server counts for 5 s".to_owned(),
        (_, KeyMethod::Monitor) if is_over => {
            let cpu = seen.cpu.map_or_else(String::new, |(before, during)| {
                let [before, during] = [before, during].map(units::percent);
                format!("; the main thread was busy for {during} of that time, and for {before} of the time before")
            });
            let none = if seen.hottest.is_empty() { "; no command names a key" } else { "" };
            format!("MONITOR: {} commands in at most 1 s{none}{cpu}", count(seen.sampled))
        }
        (_, KeyMethod::Monitor) => {
            "redyno measures one second without MONITOR, then one second with MONITOR".to_owned()
        }
        (state, KeyMethod::Scan) => {
            let took = units::clock(seen.took_s);
            let cost =
                format!("in {took}, with at most {} of the main thread's time", units::percent(seen.cost));
            let all = if *state == KeyState::Complete { seen.sampled } else { seen.keys.max(seen.sampled) };
            let (all_text, db) = (count(all), seen.db);
            match state {
                KeyState::Complete => format!("All {all_text} keys of database {db} {cost}."),
                state => {
                    let share = units::percent(seen.sampled as f64 / all.max(1) as f64);
                    let stopped = if *state == KeyState::Stopped { "Stopped: " } else { "" };
                    let sampled = count(seen.sampled);
                    format!(
                        "{stopped}{sampled} of {all_text} keys of database {db} ({share}) {cost}. Figures are estimates; ± \
                         is their 95 % interval."
                    )
                }
            }
        }
    };
    (text, Ink::Text)
}

fn tables(paint: &mut Paint, area: Rect, seen: &KeyReport) {
    // The lists share the rows; the list of prefixes gets twice as many rows as each other list.
    let wants = [seen.prefixes.len(), seen.largest.len(), seen.hottest.len()].map(|n| n as u16);
    let lists = wants.iter().filter(|rows| **rows > 0).count() as u16;
    let (mut rest, parts) = (area, if wants[0] > 0 { lists + 1 } else { lists });
    let mut room = |rows: u16, parts_of: u16, is_last: bool| {
        let share = if is_last { rest.height } else { area.height * parts_of / parts.max(1) };
        let height = if rows == 0 { 0 } else { (rows + 1).min(share).min(rest.height) };
        let place = Rect { height, ..rest };
        rest = Rect { y: rest.y + height, height: rest.height - height, ..rest };
        place
    };
    prefixes(paint, room(wants[0], 2, lists == 1), seen);
    let place = room(wants[1], 1, wants[2] == 0);
    keys(
        paint,
        place,
        "largest keys",
        seen.largest
            .iter()
            .map(|key| [key.key.clone(), key.kind.clone().unwrap_or_default(), units::bytes(key.amount)]),
    );
    let place = room(wants[2], 1, true);
    let title = match seen.hot_unit {
        Some(HotUnit::Commands) => "hottest keys, by commands",
        Some(HotUnit::Micros) => "hottest keys, by time of the main thread",
        Some(HotUnit::Counter) | None => "hottest keys, by OBJECT FREQ (0 to 255, logarithmic)",
    };
    keys(
        paint,
        place,
        title,
        seen.hottest.iter().map(|key| {
            let (amount, share) = match seen.hot_unit {
                Some(HotUnit::Micros) => (units::latency(key.amount.saturating_mul(1000)), String::new()),
                Some(HotUnit::Commands) => {
                    let share = units::percent(key.amount as f64 / seen.sampled.max(1) as f64);
                    (units::count(key.amount as f64), share)
                }
                Some(HotUnit::Counter) | None => (key.amount.to_string(), String::new()),
            };
            [key.key.clone(), share, amount]
        }),
    );
}

fn prefixes(paint: &mut Paint, area: Rect, seen: &KeyReport) {
    let table = ScreenTable::new(
        area,
        [
            TableColumn::rest(0, 0),
            TableColumn::right(1, 18),
            TableColumn::right(2, 24),
            TableColumn::right(3, 8),
        ],
    );
    let with_error = |estimate: Estimate, written: fn(f64) -> String| match estimate.error {
        error if error > 0.0 => format!("{} ±{}", written(estimate.value), written(error)),
        _ => written(estimate.value),
    };
    let head = ["prefix", "keys", "memory", "no TTL"];
    table.write(paint, 0, |column: usize, _| (head[column].to_owned(), Ink::Faint));
    for (n, prefix) in (1..).zip(&seen.prefixes) {
        let name = if prefix.prefix.is_empty() { "(others)" } else { &prefix.prefix };
        let bytes = |value: f64| units::bytes(value as u64);
        let cells = [
            name.to_owned(),
            with_error(prefix.keys, units::count),
            with_error(prefix.memory, bytes),
            units::percent(prefix.without_ttl),
        ];
        table.write(paint, n, |column: usize, _| (cells[column].clone(), Ink::Text));
    }
}

/// Draws a list of keys, each with its name, a short text and an amount.
fn keys(paint: &mut Paint, area: Rect, title: &str, keys: impl Iterator<Item = [String; 3]>) {
    let table = ScreenTable::new(
        area,
        [TableColumn::rest(0, 0), TableColumn::right(1, 10), TableColumn::right(2, 12)],
    );
    paint.text(row(area, 0), title, Ink::Faint);
    for (n, cells) in (1..area.height).zip(keys) {
        table.write(paint, n, |column: usize, _| {
            (cells[column].clone(), if column == 2 { Ink::Strong } else { Ink::Text })
        });
    }
}
