//! Tables of the server: its slow log, what its latency monitor saw.

use ratatui::layout::Rect;

use super::figures::clock;
use crate::{
    server::Status,
    session::timeline::Reading,
    tui::{Ink, Paint, from_column, row},
    units,
};

/// The entries of the slow log, the newest first.
pub fn slow_log(paint: &mut Paint, area: Rect, reading: &Reading) {
    let mut entries = reading.events().rev().filter(|event| event.what.name() == "slowlog").peekable();
    if reading.status().is_some_and(|status| !status.body.dialect().has_slow_log()) {
        paint.text(row(area, 0), "memcached has none", Ink::Faint);
        return;
    }
    if entries.peek().is_none() {
        let threshold = reading.status().and_then(|s| s.body.config.get("slowlog-log-slower-than"));
        let text = match threshold.and_then(|us| us.parse::<i64>().ok()) {
            Some(us) if us < 0 => "off (slowlog-log-slower-than -1)".to_owned(),
            Some(us) => {
                let longest = units::latency(us.unsigned_abs().saturating_mul(1000));
                format!("no command took longer than {longest} in the session")
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
        let text = match () {
            () if !status.dialect().has_slow_log() => "memcached has none",
            () if is_off => "off (latency-monitor-threshold 0)",
            () => "nothing",
        };
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
