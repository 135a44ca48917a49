//! Tables of the server: its commands between two polls, its slow log, what its latency monitor saw.

use ratatui::layout::Rect;

use super::{
    figures::{NONE, clock},
    table::{Column, Table},
};
use crate::{
    server::{CommandStat, Status},
    session::timeline::Reading,
    tui::{
        paint::{Paint, from_column, row},
        theme::Ink,
    },
    units,
};

/// Columns of a figure: `12.4 k/s`, and a blank.
const FIGURE: u16 = 9;
/// From this width on there is room for five figures beside a name.
const WIDE: u16 = 5 * FIGURE + 14;

/// The commands since the previous poll, the one with the most time first: calls per second, share of the time that all
/// took, mean time, and calls that failed or were rejected; on a narrow screen those in one, and no share.
pub fn commands(paint: &mut Paint, area: Rect, status: &Status) {
    let is_wide = area.width >= WIDE;
    let heading: &[_] =
        if is_wide { &["calls", "time", "mean", "failed", "rejected"] } else { &["calls", "mean", "errors"] };
    // The name in the first column, then the figures.
    let columns = (1..=heading.len()).map(|n| Column::right(n, FIGURE));
    let table = Table::new(area, std::iter::once(Column::rest(0, 0)).chain(columns));
    let named = |key: usize| if key == 0 { "command" } else { heading[key - 1] };
    table.write(paint, 0, |key, _| (named(key).to_owned(), Ink::Faint));
    let stats = by_time(status);
    if stats.is_empty() {
        let why = if status.poll_s.is_some() {
            "none since the poll before"
        } else {
            "known from the second poll on"
        };
        paint.text(row(area, 1), why, Ink::Faint);
        return;
    }
    let sum = total(stats.iter().map(|(_, stat)| stat.usec));
    let room = usize::from(area.height.saturating_sub(1));
    let shown = if stats.len() > room { room.saturating_sub(1) } else { stats.len() };
    for (n, (name, stat)) in stats.iter().take(shown).enumerate() {
        let figures = figures(status, stat, sum, is_wide);
        table.write(paint, n as u16 + 1, |key, _| match key {
            0 => (name.replace('|', " "), Ink::Strong),
            key => figures[key - 1].clone(),
        });
    }
    if shown < stats.len() {
        let calls = total(stats[shown..].iter().map(|(_, stat)| stat.calls));
        let text = format!("{} more commands, {} calls", stats.len() - shown, units::count(calls as f64));
        paint.text(row(area, shown as u16 + 1), &text, Ink::Faint);
    }
}

/// The figures of one command among those that took `sum_us`.
fn figures(status: &Status, stat: &CommandStat, sum_us: u64, is_wide: bool) -> Vec<(String, Ink)> {
    let text = |text: Option<String>| (text.unwrap_or_else(|| NONE.to_owned()), Ink::Text);
    let count = |n: Option<u64>| match n {
        Some(n) if n > 0 => (units::count(n as f64), Ink::Bad),
        n => (n.map_or(NONE, |_| "0").to_owned(), Ink::Faint),
    };
    let calls = text(status.per_s(stat.calls as f64).map(units::rate));
    let mean = text(stat.mean_us().map(|us| units::latency((us * 1e3) as u64)));
    if !is_wide {
        return vec![
            calls,
            mean,
            count(stat.failed.zip(stat.rejected).map(|(failed, rejected)| failed.saturating_add(rejected))),
        ];
    }
    let share = text((sum_us > 0).then(|| units::percent(stat.usec as f64 / sum_us as f64)));
    vec![calls, share, mean, count(stat.failed), count(stat.rejected)]
}

/// The sum of what the server counted. Nobody vouches for its numbers: what goes beyond 64 bits is as much as these hold.
fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn by_time(status: &Status) -> Vec<(&String, &CommandStat)> {
    let mut stats: Vec<_> = status.command_stats.iter().collect();
    stats.sort_by_key(|(_, stat)| std::cmp::Reverse((stat.usec, stat.calls)));
    stats
}

/// How many rows the commands need, with their heading.
pub fn command_rows(status: &Status) -> u16 {
    status.command_stats.len().clamp(1, 100) as u16 + 1
}

/// The entries of the slow log, the newest first.
pub fn slow_log(paint: &mut Paint, area: Rect, reading: &Reading) {
    let mut entries = reading.events().rev().filter(|event| event.what.name() == "slowlog").peekable();
    if entries.peek().is_none() {
        let threshold = reading.status().and_then(|s| s.body.config.get("slowlog-log-slower-than"));
        let text = match threshold.and_then(|us| us.parse::<i64>().ok()) {
            Some(us) if us < 0 => "off (slowlog-log-slower-than -1)".to_owned(),
            Some(us) => {
                format!(
                    "no command took longer than {} in the session",
                    units::latency(us.unsigned_abs().saturating_mul(1000))
                )
            }
            None => "nothing in the session".to_owned(),
        };
        paint.text(row(area, 0), &text, Ink::Faint);
    }
    for (n, event) in entries.take(area.height.into()).enumerate() {
        let line = row(area, n as u16);
        let x = paint.text(line, &format!("{} ", clock(event.t_s)), Ink::Faint);
        paint.text(from_column(line, x), &event.what.to_string(), Ink::Text);
    }
}

/// How many rows [`latency`] needs.
pub fn latency_rows(status: &Status) -> u16 {
    status.latency_events.len().clamp(1, 20) as u16
}

/// What the latency monitor saw last of each kind, the longest first.
pub fn latency(paint: &mut Paint, area: Rect, status: &Status) {
    let mut events: Vec<_> = status.latency_events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.max_ms));
    if events.is_empty() {
        let is_off = status.config.get("latency-monitor-threshold").is_some_and(|ms| ms == "0");
        let text = if is_off { "off (latency-monitor-threshold 0)" } else { "nothing" };
        paint.text(row(area, 0), text, Ink::Faint);
    }
    for (n, event) in events.into_iter().take(area.height.into()).enumerate() {
        let age = event.age_s.map_or_else(String::new, |s| {
            format!("  {} ago", units::elapsed(s.saturating_mul(1_000_000_000)))
        });
        let last = format!("{} ms", event.last_ms);
        let max = format!("{} ms", event.max_ms);
        let parts = [
            (event.name.as_str(), Ink::Strong),
            ("  last ", Ink::Faint),
            (&last, Ink::Text),
            ("  max ", Ink::Faint),
            (&max, Ink::Text),
            (&age, Ink::Faint),
        ];
        paint.parts(row(area, n as u16), &parts);
    }
}
