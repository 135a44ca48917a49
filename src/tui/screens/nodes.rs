//! The Nodes screen: a row for each server of the session, with its longest PINGs on the time axis.
//!
//! ```text
//!    node           role    ops/s  share   ping p50  ping p99   cpu   used  over time: longest PING, to 20 ms
//!  ▸ 10.0.0.5:6379  master  41 k    41 %    91.0 µs   4.12 ms  97 %  1.2 G  ▁▁▁▂▁▁▁▁▃▁▁▁▁▇▇▇▆
//!    10.0.0.6:6379  master  20 k    20 %    88.1 µs    120 µs  51 %  1.1 G  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
//! ```
//! Columns that do not fit are left out, the least important first. Below the rows: what is known of the selected node.

use ratatui::layout::Rect;

use crate::{
    app::{Model, NODE_GAUGES, NodeRow, TimeAxis},
    gauge::Gauge,
    session::timeline::{Level, Measure},
    tui::{
        Ink, Paint, Scene,
        dots::LogScale,
        paint::wrapped,
        row,
        widgets::{
            figures::{NONE, ping_figure},
            probes::{Cell, draw_column, steps},
            status,
            table::{Column, Table, around, fitting},
        },
    },
    units,
};

/// The width of the pointer and a blank.
const MARK: u16 = 3;
/// The widest address, such as that of a host name; a longer one is cut.
const ADDRESS: u16 = 28;
/// From this width on, the PINGs are also shown over time.
const WIDE: u16 = 100;
/// The least width of the PINGs over time.
const LANE: u16 = 24;
/// The most rows that the bars of a node take.
const TALLEST: u16 = 3;
/// The rows below the table: a rule and what is known of the selected node.
const DETAILS: u16 = 5;

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Key {
    Mark,
    Address,
    Role,
    Ops,
    Share,
    Ping(Level),
    /// A gauge, by its place in the table of the nodes' gauges.
    Gauge(usize),
    OverTime,
}

/// The columns between address and PINGs over time, the most important first, each with its place from left to right and
/// its width.
const NEEDED: [(Key, u8, u16); 9] = [
    (Key::Ping(Level::P99), 4, 10),
    (Key::Ops, 1, 8),
    (Key::Role, 0, 8),
    (Key::Gauge(0), 5, 7),
    (Key::Ping(Level::P50), 3, 10),
    (Key::Gauge(1), 6, 10),
    (Key::Share, 2, 7),
    (Key::Gauge(3), 8, 10),
    (Key::Gauge(2), 7, 8),
];

/// Draws the inside of the screen.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let rows = model.node_rows();
    let below = if area.height > DETAILS + 4 { DETAILS } else { 0 };
    let above = Rect { height: area.height - below, ..area };
    let table = table(above, &rows);
    let visible = around(model.selected_node(), rows.len(), above.height.saturating_sub(1));
    let tall = if table.cell(0, Key::OverTime).area.width > 0 { TALLEST } else { 1 };
    let tall = (above.height.saturating_sub(1) / (visible.len().max(1) as u16)).clamp(1, tall);
    let plot = table.cell(0, Key::OverTime).area;
    let pings: Vec<_> = visible.clone().map(|node| longest_pings(model, node, plot.width)).collect();
    let scale = LogScale::covering(pings.iter().flatten().flatten().flatten().copied());
    heading(paint, &table, &scale);
    for ((n, place), pings) in (1..).zip(visible).zip(&pings) {
        // The figures stand next to the foot of the bars.
        line(paint, &table, n * tall, model, &rows[place]);
        let lane = Rect { y: table.line(n * tall).y + 1 - tall, height: tall, ..plot };
        for (x, longest) in (lane.left()..lane.right()).zip(pings) {
            let cell = match longest {
                None => Cell::Gap,
                Some(None) => Cell::Few,
                Some(Some(ns)) => Cell::Step(scale.step(*ns, steps(tall))),
            };
            draw_column(paint, lane, x, cell, Ink::Ping);
        }
    }
    if below > 0 {
        details(paint, Rect { y: above.bottom(), height: below, ..area }, model, &rows);
    }
}

/// Returns the longest PING of a node in each column of the axis; `None` where nothing was measured.
fn longest_pings(model: &Model, node: usize, columns: u16) -> Vec<Option<Option<u64>>> {
    if columns == 0 {
        return Vec::new();
    }
    let axis: TimeAxis = model.axis(columns);
    let window = axis.window(model.tracks()[node].timeline(), model.ends_s());
    window.levels(Measure::Ping).iter().map(|cell| cell.map(|cell| cell.get(Level::Max))).collect()
}

fn table(area: Rect, rows: &[NodeRow]) -> Table<Key> {
    let longest = rows.iter().map(|row| row.address.chars().count()).max().unwrap_or(0) as u16;
    let address = (longest + 2).clamp(8, ADDRESS);
    let has = |key: &Key| match key {
        Key::Gauge(place) => rows.iter().any(|row| row.gauges[*place].is_some()),
        Key::Share => rows.iter().any(|row| row.share.is_some()),
        _ => true,
    };
    let needed: Vec<_> = NEEDED.into_iter().filter(|(key, ..)| has(key)).collect();
    let room = area.width.saturating_sub(MARK + address);
    // The time axis is more important than the last figures.
    let least = if area.width >= WIDE { LANE } else { 0 };
    let shown = fitting(room - least, needed.iter().map(|(.., width)| *width));
    let mut shown = needed[..shown].to_vec();
    shown.sort_by_key(|(_, place, _)| *place);
    let used: u16 = shown.iter().map(|(.., width)| *width).sum();
    let lane = (room - used >= LANE).then(|| Column::rest(Key::OverTime, 2));
    let first = [Column::left(Key::Mark, MARK, 1), Column::left(Key::Address, address, 0)];
    let between = shown.iter().map(|(key, _, width)| match key {
        Key::Role => Column::left(*key, *width, 0),
        _ => Column::right(*key, *width),
    });
    Table::new(area, first.into_iter().chain(between).chain(lane))
}

fn heading(paint: &mut Paint, table: &Table<Key>, scale: &LogScale) {
    table.write(paint, 0, |key, width| {
        let text = match key {
            Key::Mark => "",
            Key::Address => "node",
            Key::Role => "role",
            Key::Ops => "ops/s",
            Key::Share => "share",
            Key::Ping(Level::P50) => "p50 60 s",
            Key::Ping(_) => "p99 60 s",
            Key::Gauge(place) => heading_of(NODE_GAUGES[place]),
            Key::OverTime => {
                let top = units::latency(scale.highest_ns);
                let words = [
                    format!("longest PING over time, log scale to {top}"),
                    format!("longest PING, to {top}"),
                ];
                let fits = |words: &&String| words.chars().count() <= width;
                return (words.iter().find(fits).cloned().unwrap_or_default(), Ink::Faint);
            }
        };
        (text.to_owned(), Ink::Faint)
    });
}

fn heading_of(gauge: Gauge) -> &'static str {
    match gauge {
        Gauge::UsedMemory => "memory",
        Gauge::Clients => "clients",
        gauge => gauge.about().label,
    }
}

fn line(paint: &mut Paint, table: &Table<Key>, n: u16, model: &Model, node: &NodeRow) {
    let is_selected = model.selected_node() == node.number;
    let is_shown = model.node() == node.number;
    let pointer = paint.glyphs().pointer;
    let name = match () {
        () if node.outage.is_some() => Ink::Bad,
        () if is_selected => Ink::Selected,
        () if is_shown => Ink::Strong,
        () => Ink::Text,
    };
    let known = |text: Option<String>| match text {
        Some(text) => (text, Ink::Text),
        None => (NONE.to_owned(), Ink::Faint),
    };
    table.write(paint, n, |key, _| match key {
        Key::Mark if is_selected => (pointer.to_string(), Ink::Selected),
        Key::Mark | Key::OverTime => (String::new(), Ink::Text),
        Key::Address => (node.address.to_owned(), name),
        Key::Role => (node.role.to_owned(), Ink::Text),
        Key::Ops => known(node.ops_per_s.filter(|_| node.outage.is_none()).map(units::count)),
        Key::Share => known(node.share.map(units::percent)),
        Key::Ping(level) => {
            let text = ping_figure(level, &node.ping, node.pings);
            let ink = if text == NONE { Ink::Faint } else { Ink::Text };
            (text, ink)
        }
        Key::Gauge(place) => known(node.gauges[place].clone().filter(|_| node.outage.is_none())),
    });
}

/// Draws what is known of the selected node, and whether one node runs more than its share of the commands.
fn details(paint: &mut Paint, area: Rect, model: &Model, rows: &[NodeRow]) {
    let Some(node) = rows.get(model.selected_node()) else { return };
    let shown =
        if model.node() == node.number { ", on all screens" } else { "; Enter shows it on all screens" };
    paint.rule(row(area, 0), &format!("node {}: {}{shown}", node.number + 1, node.address));
    let mut said: Vec<(String, Ink)> = Vec::new();
    if let Some((busy, share, mean)) = Model::uneven_node(rows) {
        let text = format!(
            "node {} runs {} of the commands; an even share is {}: some of its keys are used much more often than others, or it has more slots",
            busy + 1,
            units::percent(share),
            units::percent(mean)
        );
        said.push((text, Ink::Warn));
    }
    match &node.outage {
        Some((since_s, cause)) => {
            let since = model.tracks()[node.number].timeline().time_text(*since_s);
            said.push((format!("it has not answered since {since}: {cause}"), Ink::Bad));
        }
        None if node.server.is_empty() => said.push(("it has not answered yet".to_owned(), Ink::Faint)),
        None => said.push((format!("{}, {}", node.server, node.role), Ink::Text)),
    }
    if let Some(finding) = &node.finding {
        said.push((format!("{}: {}", finding.rule, finding.long), status::ink(finding.severity)));
    }
    let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let lines = said
        .iter()
        .flat_map(|(text, ink)| wrapped(text, inside.width.into()).into_iter().map(move |line| (line, *ink)));
    for (n, (line, ink)) in (1..area.height).zip(lines) {
        paint.text(row(inside, n), &line, ink);
    }
}
