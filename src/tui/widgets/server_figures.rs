//! The server's own figures in groups: memory, clients, traffic, persistence, replication.

use ratatui::layout::Rect;

use crate::{
    server::Status,
    tui::{
        paint::{Paint, row},
        theme::Ink,
    },
    units,
};

/// A name and its value, and whether that needs attention.
struct Figure(&'static str, String, Ink);

/// Columns of a group's name.
const NAME: u16 = 9;

/// Draws all groups below one another; where there is not room for all figures, the most telling of each.
pub fn draw(paint: &mut Paint, area: Rect, status: &Status) {
    let groups = groups(status);
    let width = area.width.saturating_sub(NAME);
    let rows = |figures: &[Figure]| flow(figures, width).len() as u16;
    let all: u16 = groups.iter().map(|(_, figures)| rows(figures)).sum();
    let most = if all <= area.height { u16::MAX } else { (area.height / groups.len().max(1) as u16).max(1) };
    let mut y = 0;
    for (name, figures) in &groups {
        paint.text(Rect { width: NAME.min(area.width), ..row(area, y) }, name, Ink::Strong);
        for line in flow(figures, width).into_iter().take(most.into()) {
            let place = row(area, y);
            let place = Rect { x: place.x + NAME.min(place.width), width, ..place };
            paint_line(paint, place, &figures[line]);
            y += 1;
        }
    }
}

/// Draws the most telling figures of all groups in as few rows as they need; how many that were.
pub fn few(paint: &mut Paint, area: Rect, status: &Status) -> u16 {
    let memory = status.used_memory.map(|used| match status.maxmemory {
        Some(limit) if limit > 0 => format!("{} of {}", units::bytes(used), units::bytes(limit)),
        _ => units::bytes(used),
    });
    let some = |n: Option<u64>| n.filter(|n| *n > 0);
    let figures = told(
        [
            ("cpu", status.cpu.map(units::percent), false),
            ("ops", status.ops_per_s.map(units::rate), false),
            ("memory", memory, false),
            ("clients", count(status.clients), false),
            ("blocked", count(some(status.blocked_clients)), true),
            ("evicted", some(status.evicted_keys).and_then(|n| per_s(status, Some(n))), true),
            ("hits", status.hit_rate().map(units::percent), false),
            ("keys", count(status.keys), false),
        ],
        Ink::Warn,
    );
    let lines = flow(&figures, area.width);
    let rows = (lines.len() as u16).min(area.height);
    for (n, line) in lines.into_iter().enumerate().take(rows.into()) {
        paint_line(paint, row(area, n as u16), &figures[line]);
    }
    rows
}

fn paint_line(paint: &mut Paint, place: Rect, figures: &[Figure]) {
    let parts = figures.iter().flat_map(|Figure(name, value, ink)| {
        [(*name, Ink::Faint), (" ", Ink::Text), (value.as_str(), *ink), ("  ", Ink::Text)]
    });
    paint.parts(place, &parts.collect::<Vec<_>>());
}

/// Which figures share a line, two blanks between them; one that is wider than a line has its own.
fn flow(figures: &[Figure], width: u16) -> Vec<std::ops::Range<usize>> {
    let mut lines = Vec::new();
    let (mut from, mut used) = (0, 0);
    for (n, Figure(name, value, _)) in figures.iter().enumerate() {
        let length = name.chars().count() + 1 + value.chars().count();
        if n > from && used + 2 + length > width.into() {
            lines.push(from..n);
            (from, used) = (n, 0);
        }
        used += length + if used > 0 { 2 } else { 0 };
    }
    lines.push(from..figures.len());
    lines
}

/// What the server does not tell is not there.
fn groups(status: &Status) -> [(&'static str, Vec<Figure>); 6] {
    [
        ("work", work(status)),
        ("memory", memory(status)),
        ("clients", clients(status)),
        ("keys", keys(status)),
        ("saving", saving(status)),
        ("replicas", replication(status)),
    ]
}

fn told(figures: impl IntoIterator<Item = (&'static str, Option<String>, bool)>, bad: Ink) -> Vec<Figure> {
    let figure = |(name, value, is_bad): (&'static str, Option<String>, bool)| {
        Some(Figure(name, value?, if is_bad { bad } else { Ink::Text }))
    };
    figures.into_iter().filter_map(figure).collect()
}

fn count(n: Option<u64>) -> Option<String> {
    n.map(|n| units::count(n as f64))
}

fn per_s(status: &Status, n: Option<u64>) -> Option<String> {
    status.per_s(n?).map(units::rate)
}

fn bytes_per_s(status: &Status, n: Option<u64>) -> Option<String> {
    status.per_s(n?).map(|n| format!("{}/s", units::bytes(n as u64)))
}

fn work(status: &Status) -> Vec<Figure> {
    let up = status.uptime_s.map(|s| units::elapsed(s.saturating_mul(1_000_000_000)));
    let figures = [
        ("cpu", status.cpu.map(units::percent), false),
        ("active", status.active.map(units::percent), false),
        ("ops", status.ops_per_s.map(units::rate), false),
        ("in", bytes_per_s(status, status.traffic.input), false),
        ("out", bytes_per_s(status, status.traffic.output), false),
        ("up", up, false),
    ];
    told(figures, Ink::Warn)
}

fn memory(status: &Status) -> Vec<Figure> {
    let limit = status.maxmemory.map(|n| if n == 0 { "none".to_owned() } else { units::bytes(n) });
    let fragmentation = status.memory.fragmentation.map(|ratio| format!("{ratio:.2}"));
    let figures = [
        ("used", status.used_memory.map(units::bytes), false),
        ("limit", limit, false),
        ("rss", status.used_memory_rss.map(units::bytes), false),
        ("peak", status.memory.peak.map(units::bytes), false),
        ("fragmentation", fragmentation, false),
        ("policy", status.memory.policy.clone(), false),
    ];
    told(figures, Ink::Warn)
}

fn clients(status: &Status) -> Vec<Figure> {
    let connections = &status.connections;
    let some = |n: Option<u64>| n.is_some_and(|n| n > 0);
    let figures = [
        ("connected", count(status.clients), false),
        ("blocked", count(status.blocked_clients), some(status.blocked_clients)),
        ("rejected", per_s(status, connections.rejected), some(connections.rejected)),
        ("limit", count(connections.max), false),
        ("in buffer", connections.input_buffer.map(units::bytes), false),
        ("out buffer", connections.output_buffer.map(units::bytes), false),
    ];
    told(figures, Ink::Warn)
}

fn keys(status: &Status) -> Vec<Figure> {
    let some = |n: Option<u64>| n.is_some_and(|n| n > 0);
    let figures = [
        ("held", count(status.keys), false),
        ("hits", status.hit_rate().map(units::percent), false),
        ("evicted", per_s(status, status.evicted_keys), some(status.evicted_keys)),
        ("expired", per_s(status, status.expired_keys), false),
    ];
    told(figures, Ink::Warn)
}

fn saving(status: &Status) -> Vec<Figure> {
    let saved = &status.persistence;
    let took = saved.last_save_s.map_or_else(String::new, |s| format!(", {s} s"));
    let snapshot = match (saved.saving, saved.last_save_ok) {
        (Some(true), _) => Some("under way".to_owned()),
        (_, Some(true)) => Some(format!("ok{took}")),
        (_, Some(false)) => Some(format!("failed{took}")),
        (_, None) => None,
    };
    let aof = saved.aof.map(|on| match (on, saved.aof_rewriting, saved.aof_ok) {
        (false, ..) => "off",
        (true, _, Some(false)) => "failed",
        (true, Some(true), _) => "rewriting",
        (true, ..) => "on",
    });
    let figures = [
        ("snapshot", snapshot, saved.last_save_ok == Some(false)),
        ("aof", aof.map(str::to_owned), saved.aof_ok == Some(false)),
        ("unsaved", count(saved.unsaved_changes), false),
        ("last fork", saved.last_fork_us.map(|us| units::latency(us.saturating_mul(1000))), false),
    ];
    told(figures, Ink::Bad)
}

fn replication(status: &Status) -> Vec<Figure> {
    let place = &status.replication;
    let link = place.link_up.map(|up| if up { "up" } else { "down" }.to_owned());
    let figures = [
        ("role", Some(status.role.clone()).filter(|role| !role.is_empty()), false),
        ("of", place.master.clone(), false),
        ("link", link, place.link_up == Some(false)),
        ("heard", place.heard_s.map(|s| format!("{s} s ago")), false),
        ("replicas", count(place.replicas), false),
        ("behind", place.lag_bytes.map(units::bytes), false),
    ];
    told(figures, Ink::Bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_flow_into_lines_and_none_is_lost() {
        let figure = |value: &str| Figure("a", value.to_owned(), Ink::Text);
        let figures = [figure("12345"), figure("12"), figure("1234567890123"), figure("1")];
        assert_eq!(flow(&figures, 13), [0..2, 2..3, 3..4]);
        assert_eq!(flow(&figures, 0).len(), 4);
    }
}
