//! Draws the figures that the server reports in groups: memory, clients, traffic, persistence, replication.

use ratatui::layout::Rect;

use crate::{
    gauge::{Gauge, GaugeAlarm, GaugeGroup},
    server::Status,
    session::timeline::Reading,
    tui::{Ink, Paint, from_column, row},
};

/// The name of a figure, its value as text, and its ink. The ink shows whether the figure needs attention.
struct ServerFigure(&'static str, String, Ink);

/// The figures of a single line, the most important first.
const IN_A_LINE: [Gauge; 10] = [
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

/// The width of a group's name.
const NAME: u16 = 9;

/// Draws all groups, one below the other. If not all figures fit, draws the most important figures of each group.
pub fn draw(paint: &mut Paint, area: Rect, status: &Status) {
    if !status.dialect().has_keys() {
        paint.text(row(area, 0), &status.without(OWN), Ink::Faint);
        return;
    }
    let groups = groups(status);
    let width = area.width.saturating_sub(NAME);
    let rows = |figures: &[ServerFigure]| flow(figures, width).len() as u16;
    let all: u16 = groups.iter().map(|(_, figures)| rows(figures)).sum();
    let most = if all <= area.height { u16::MAX } else { (area.height / groups.len().max(1) as u16).max(1) };
    let mut y = 0;
    for (name, figures) in &groups {
        paint.text(Rect { width: NAME.min(area.width), ..row(area, y) }, name, Ink::Strong);
        if figures.is_empty() && !status.dialect().has_config() {
            let what = if *name == GaugeGroup::Replicas.name() { "replication" } else { "persistence" };
            paint.text(from_column(row(area, y), area.x + NAME), &status.without(what), Ink::Faint);
        }
        for line in flow(figures, width).into_iter().take(most.into()) {
            paint_line(paint, from_column(row(area, y), area.x + NAME), &figures[line]);
            y += 1;
        }
    }
}

/// The figures of I/O threads, which most servers do not use.
const OF_IO_THREADS: [Gauge; 3] = [Gauge::IoReads, Gauge::IoWrites, Gauge::IoBusy];

/// Returns whether a gauge is shown. Gauges that indicate a problem and gauges of I/O threads are shown only if they
/// are not zero.
fn is_shown(status: &Status) -> impl Fn(&Gauge) -> bool {
    |gauge| {
        let is_rare = gauge.about().alarm == GaugeAlarm::Some || OF_IO_THREADS.contains(gauge);
        !is_rare || status.gauges.get(*gauge).is_some_and(|value| value > 0.0)
    }
}

/// Figures in lines.
pub struct Flowing {
    figures: Vec<ServerFigure>,
    lines: Vec<std::ops::Range<usize>>,
}

/// Returns these gauges of one group, in lines of `width` columns.
pub fn flowing(status: &Status, gauges: &[Gauge], width: u16) -> Flowing {
    let shown = gauges.iter().copied().filter(is_shown(status));
    let figures: Vec<_> = shown.filter_map(|gauge| figure(status, gauge)).collect();
    Flowing { lines: flow(&figures, width), figures }
}

impl Flowing {
    /// Returns the number of lines.
    pub fn rows(&self) -> u16 {
        if self.figures.is_empty() { 0 } else { self.lines.len() as u16 }
    }

    /// Draws as many lines as fit.
    pub fn draw(&self, paint: &mut Paint, area: Rect) {
        for (n, line) in (0..area.height).zip(&self.lines) {
            paint_line(paint, row(area, n), &self.figures[line.clone()]);
        }
    }
}

/// The name of the figures that a server with an HTTP interface does not report.
pub const OWN: &str = "figures of the server itself";

/// Draws the server's own figures in one line. If not all figures fit, the least important figures are left out.
pub fn line(paint: &mut Paint, area: Rect, reading: &Reading) {
    let Some(status) = reading.status() else {
        paint.parts(area, &[(" server ", Ink::Strong), ("has not replied yet", Ink::Faint)]);
        return;
    };
    let figure = |gauge: Gauge| {
        Some(ServerFigure(gauge.alone(), outside_its_group(&status.body, gauge)?.1, Ink::Text))
    };
    let figures: Vec<_> = IN_A_LINE.into_iter().filter_map(figure).collect();
    let x = paint.parts(area, &[(" server", Ink::Strong), ("  ", Ink::Text)]);
    if !status.body.dialect().has_keys() {
        paint.text(from_column(area, x), &status.body.without(OWN), Ink::Faint);
    }
    // There is a blank column between the last figure and the edge.
    let first = flow(&figures, area.width.saturating_sub(10)).swap_remove(0);
    paint_line(paint, from_column(area, x), &figures[first]);
}

/// Returns a gauge with a name that is clear without the name of the group.
fn outside_its_group(status: &Status, gauge: Gauge) -> Option<ServerFigure> {
    match gauge {
        Gauge::UsedMemory => Some(ServerFigure(gauge.alone(), status.memory_text()?, Ink::Text)),
        gauge => {
            figure(status, gauge).map(|ServerFigure(_, value, ink)| ServerFigure(gauge.alone(), value, ink))
        }
    }
}

fn paint_line(paint: &mut Paint, place: Rect, figures: &[ServerFigure]) {
    let parts = figures.iter().flat_map(|ServerFigure(name, value, ink)| {
        [(*name, Ink::Faint), (" ", Ink::Text), (value.as_str(), *ink), ("  ", Ink::Text)]
    });
    paint.parts(place, &parts.collect::<Vec<_>>());
}

/// Divides figures into lines, with two blanks between two figures. A figure that is wider than a line gets its own
/// line.
fn flow(figures: &[ServerFigure], width: u16) -> Vec<std::ops::Range<usize>> {
    let mut lines = Vec::new();
    let (mut from, mut used) = (0, 0);
    for (n, ServerFigure(name, value, _)) in figures.iter().enumerate() {
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

/// Returns the groups with their figures. Gauges that the server does not report are left out.
fn groups(status: &Status) -> [(&'static str, Vec<ServerFigure>); GaugeGroup::OF_SERVER.len()] {
    GaugeGroup::OF_SERVER.map(|group| {
        let gauges = group.gauges().filter_map(|gauge| figure(status, gauge));
        let [before, after] = words(group, status);
        (group.name(), before.into_iter().chain(gauges).chain(after).collect())
    })
}

/// Returns a gauge with its short name within its group. Returns `None` for the last fork if there was no fork.
fn figure(status: &Status, gauge: Gauge) -> Option<ServerFigure> {
    let ink = match (gauge.about().alarm, status.gauges.get(gauge)?) {
        (GaugeAlarm::Some, value) if value > 0.0 => Ink::Warn,
        (GaugeAlarm::Zero, 0.0) => Ink::Bad,
        (_, 0.0) if gauge == Gauge::LastFork => return None,
        _ => Ink::Text,
    };
    Some(ServerFigure(gauge.about().label, status.text_of(gauge)?, ink))
}

/// Returns the figures of a group that are words. The first list comes before the gauges, and the second list comes
/// after the gauges.
fn words(group: GaugeGroup, status: &Status) -> [Vec<ServerFigure>; 2] {
    let word = |name, word: Option<&str>| {
        word.filter(|word| !word.is_empty()).map(|word| ServerFigure(name, word.to_owned(), Ink::Text))
    };
    let present = |figures: [Option<ServerFigure>; 2]| figures.into_iter().flatten().collect();
    match group {
        GaugeGroup::Memory => [Vec::new(), present([word("policy", status.policy.as_deref()), None])],
        GaugeGroup::Saving => [present([snapshot(status), append_only_file(status)]), Vec::new()],
        GaugeGroup::Replicas => {
            [present([word("role", Some(&status.role)), word("of", status.master.as_deref())]), Vec::new()]
        }
        GaugeGroup::Work
        | GaugeGroup::Clients
        | GaugeGroup::Keys
        | GaugeGroup::Host
        | GaugeGroup::Process => [Vec::new(), Vec::new()],
    }
}

fn snapshot(status: &Status) -> Option<ServerFigure> {
    let took = status.gauges.whole(Gauge::SaveTook).map_or_else(String::new, |s| format!(", {s} s"));
    let is_ok = status.gauges.flag(Gauge::SavedOk);
    let ink = if is_ok == Some(false) { Ink::Bad } else { Ink::Text };
    let text = match (status.gauges.flag(Gauge::Saving), is_ok?) {
        (Some(true), _) => "under way".to_owned(),
        (_, true) => format!("ok{took}"),
        (_, false) => format!("failed{took}"),
    };
    Some(ServerFigure("snapshot", text, ink))
}

fn append_only_file(status: &Status) -> Option<ServerFigure> {
    let flag = |gauge| status.gauges.flag(gauge);
    let is_ok = flag(Gauge::AofOk) != Some(false);
    let text = match (flag(Gauge::Aof)?, flag(Gauge::Rewriting)) {
        (false, _) => "off",
        (true, _) if !is_ok => "failed",
        (true, Some(true)) => "rewriting",
        (true, _) => "on",
    };
    Some(ServerFigure("aof", text.to_owned(), if is_ok { Ink::Text } else { Ink::Bad }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_divided_into_lines_and_none_is_lost() {
        let figure = |value: &str| ServerFigure("a", value.to_owned(), Ink::Text);
        let figures = [figure("12345"), figure("12"), figure("1234567890123"), figure("1")];
        assert_eq!(flow(&figures, 13), [0..2, 2..3, 3..4]);
        assert_eq!(flow(&figures, 0).len(), 4);
    }
}
