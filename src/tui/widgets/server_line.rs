//! What the server says of itself, in one line; the least telling figures go first when room runs out.

use ratatui::layout::Rect;

use crate::{
    server::Status,
    session::timeline::Reading,
    tui::{paint::Paint, theme::Ink},
    units,
};

/// Draws the line.
pub fn draw(paint: &mut Paint, area: Rect, reading: &Reading) {
    let Some(status) = reading.status() else {
        paint.parts(area, &[(" server ", Ink::Strong), ("has not said anything yet", Ink::Faint)]);
        return;
    };
    let mut used = 8;
    let figures = figures(&status.body);
    let fitting = figures.iter().take_while(|(name, value)| {
        used += name.len() + value.chars().count() + 3;
        used <= usize::from(area.width)
    });
    let mut parts = vec![(" server", Ink::Strong)];
    for (name, value) in fitting {
        parts.extend([("  ", Ink::Text), (*name, Ink::Faint), (" ", Ink::Text), (value.as_str(), Ink::Text)]);
    }
    paint.parts(area, &parts);
}

/// Name and value, the most telling first. What the server does not tell is not there.
fn figures(status: &Status) -> Vec<(&'static str, String)> {
    let count = |n: u64| units::count(n as f64);
    let memory = status.used_memory.map(|used| match status.maxmemory {
        Some(limit) if limit > 0 => format!("{} of {}", units::bytes(used), units::bytes(limit)),
        _ => units::bytes(used),
    });
    let up = status.uptime_s.map(|s| units::elapsed(s.saturating_mul(1_000_000_000)));
    [
        ("ops", status.ops_per_s.map(units::rate)),
        ("clients", status.clients.map(count)),
        ("memory", memory),
        ("hits", status.hit_rate().map(units::percent)),
        ("keys", status.keys.map(count)),
        ("evicted", status.evicted_keys.map(count)),
        ("rss", status.used_memory_rss.map(units::bytes)),
        ("blocked", status.blocked_clients.map(count)),
        ("expired", status.expired_keys.map(count)),
        ("up", up),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}
