//! What the server says of itself, in one line; the least telling figures go first when room runs out.

use ratatui::layout::Rect;

use crate::{
    gauge::Gauge,
    server::Status,
    session::timeline::Reading,
    tui::{paint::Paint, theme::Ink},
};

const SHOWN: [Gauge; 10] = [
    Gauge::OpsPerS,
    Gauge::Clients,
    Gauge::UsedMemory,
    Gauge::HitRate,
    Gauge::Keys,
    Gauge::EvictedKeys,
    Gauge::ResidentMemory,
    Gauge::BlockedClients,
    Gauge::ExpiredKeys,
    Gauge::Uptime,
];

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
    let told = |gauge| match gauge {
        Gauge::UsedMemory => status.memory_told(),
        gauge => status.told(gauge),
    };
    SHOWN.into_iter().filter_map(|gauge| Some((gauge.alone(), told(gauge)?))).collect()
}
