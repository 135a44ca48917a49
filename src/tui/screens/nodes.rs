//! The Nodes screen has a row for each server of the session, with the server's longest PINGs on the time axis.
//!
//! ```text
//!    node↑          role    slots  share  ops/s  load p50  load p99  PING p99   cpu  longest PING, to 20 ms
//!  ▸ 10.0.0.5:6379  master   5461   41 %   41 k    583 µs   5.12 ms   4.12 ms  97 %  ▁▁▁▂▁▁▁▁▃▁▁▁▁▇▇▇▆
//!    10.0.0.6:6379  master   5462   20 %   20 k    281 µs    540 µs    120 µs  51 %  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
//! ```
//! If not all columns fit, the screen leaves out the least important ones. The sort column always stays.
//! Below the rows are details of the cluster and of the selected node.

use std::cmp::Reverse;

use ratatui::layout::Rect;

use crate::{
    app::{Model, NODE_COLUMNS, NODE_GAUGES, NodeColumn, NodeRow, TimeAxis},
    gauge::Gauge,
    server::SlotUse,
    session::Event,
    session::timeline::{AgentRow, Level, Measure, NodeLoad},
    tui::{
        Ink, Paint, Scene,
        dots::LogScale,
        paint::wrapped,
        row,
        widgets::{
            figures::{NONE, figure, ping_figure},
            header::shortened,
            probes::{LaneCell, draw_column, steps},
            status,
            table::{ScreenTable, TableColumn, around, fitting},
        },
    },
    units,
};

/// The width of the pointer and a blank.
const MARK: u16 = 3;
/// The maximum width of an address. A longer address is cut.
const ADDRESS: u16 = 28;
/// The minimum width at which the PINGs are also shown over time.
const WIDE: u16 = 100;
/// The minimum width of the PINGs over time.
const LANE: u16 = 24;
/// The maximum height of the bars of a node, in rows.
const TALLEST: u16 = 3;
/// The number of rows for details below the table, on a low and on a high screen.
const DETAILS: [u16; 2] = [5, 8];
/// The minimum height of a high screen, in rows.
const HIGH: u16 = 26;
/// The maximum number of slots that are shown.
const SLOTS_SHOWN: usize = 5;
/// The smallest CPU use of a slot that is shown, as a share of a core.
const LEAST_SLOT_CPU: f64 = 0.001;

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NodeTableKey {
    Mark,
    Figure(NodeColumn),
    OverTime,
}

/// Returns the width of a column, with a blank before it.
fn width(column: NodeColumn) -> u16 {
    match column {
        NodeColumn::Share | NodeColumn::Slots | NodeColumn::Gauge(0) => 7,
        NodeColumn::Ops => 8,
        NodeColumn::Role | NodeColumn::Gauge(2 | 5) => 9,
        NodeColumn::Load(_) | NodeColumn::Ping(_) | NodeColumn::Gauge(_) => 10,
        NodeColumn::Event => 30,
        NodeColumn::Node => ADDRESS,
    }
}

/// Draws the Nodes screen, without header and footer.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let rows = model.node_rows();
    let details = DETAILS[usize::from(area.height >= HIGH)];
    let below = if area.height > details + 4 { details } else { 0 };
    // The table of the nodes keeps at least two rows.
    let agents = agents_table(model, area.width, (area.height - below).saturating_sub(3).into());
    let for_agents = agents.len() as u16; // as many as fit
    let room = area.height - below - for_agents;
    // The table of the agents follows directly below the table of the nodes.
    let height = if for_agents > 0 { room.min(1 + rows.len() as u16 * TALLEST) } else { room };
    let above = Rect { height, ..area };
    for (n, line) in (0..for_agents).zip(&agents) {
        let at = row(area, above.height + n);
        match n {
            0 => paint.rule(at, line),
            1 => drop(paint.text(at, line, Ink::Faint)),
            _ => drop(paint.text(at, line, Ink::Text)),
        }
    }
    let table = table(above, model, &rows);
    let selected = rows.iter().position(|row| row.number == model.selected_node()).unwrap_or(0);
    let visible = around(selected, rows.len(), above.height.saturating_sub(1));
    let tall = if table.cell(0, NodeTableKey::OverTime).area.width > 0 { TALLEST } else { 1 };
    let tall = (above.height.saturating_sub(1) / (visible.len().max(1) as u16)).clamp(1, tall);
    let plot = table.cell(0, NodeTableKey::OverTime).area;
    let pings: Vec<_> =
        rows[visible.clone()].iter().map(|row| longest_pings(model, row.number, plot.width)).collect();
    let scale = LogScale::covering(pings.iter().flatten().flatten().flatten().copied());
    heading(paint, &table, model, &scale);
    for ((n, place), pings) in (1..).zip(visible).zip(&pings) {
        // The figures are in the lowest row of the bars.
        line(paint, &table, n * tall, model, &rows[place]);
        let lane = Rect { y: table.line(n * tall).y + 1 - tall, height: tall, ..plot };
        for (x, longest) in (lane.left()..lane.right()).zip(pings) {
            let cell = match longest {
                None => LaneCell::Gap,
                Some(None) => LaneCell::Few,
                Some(Some(ns)) => LaneCell::Step(scale.step(*ns, steps(tall))),
            };
            draw_column(paint, lane, x, cell, Ink::Ping);
        }
    }
    if below > 0 {
        draw_details(paint, Rect { y: area.bottom() - below, height: below, ..area }, model, &rows);
    }
}

/// The columns of the agents' table, the most important first. If there is too little room, the last columns are left
/// out first, down to [`NEEDED_COLUMNS`]. The host names are shortened next.
const AGENT_COLUMNS: [&str; 12] =
    ["agent", "on", "ops/s", "p50", "p99", "clients", "cpu", "send lag", "offset", "±", "share", "max"];
/// The number of columns that are more important than a whole host name.
const NEEDED_COLUMNS: usize = 9;
/// The minimum width of a host name. With this width, the needed columns fit into 80 columns.
const LEAST_HOST: usize = 6;

/// Returns at most `most` lines about the agents of a fleet: a title, headings, and a line for each agent. If there are
/// more agents than lines, the lost and the slowest agents come first. The last line then has the number of further
/// agents. Empty without agents.
fn agents_table(model: &Model, width: u16, most: usize) -> Vec<String> {
    let agents = model.agents();
    if agents.is_empty() || most < 4 {
        return Vec::new();
    }
    let lost = agents.values().filter(|agent| agent.is_lost).count();
    let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
    let title =
        format!("{}{lost}: their parts of the load", units::count_with_noun(agents.len() as u64, "agent"));
    let mut rows = vec![AGENT_COLUMNS.map(str::to_owned).to_vec()];
    let mut listed: Vec<_> = agents.iter().collect();
    let more = (listed.len() + 2).checked_sub(most).filter(|more| *more > 0).map(|more| more + 1);
    if let Some(more) = more {
        // Agents can be sorted by a percentile with fewer than ten samples above it.
        let p99 = |load: &NodeLoad<'_>| load.service().value_at_quantile(0.99);
        listed.sort_by_key(|(_, agent)| Reverse((agent.is_lost, agent.load.as_ref().map(p99))));
        listed.truncate(agents.len() - more);
    }
    rows.extend(listed.into_iter().map(|(number, agent)| agent_cells(*number, agent)));
    let table = loop {
        let aligned = units::aligned(&rows, |column| column != 1);
        let widest = aligned.lines().map(|line| line.chars().count() + 3).max().unwrap_or(0);
        let host = rows.iter().map(|row| row[1].chars().count()).max().unwrap_or(0);
        match widest.saturating_sub(width.into()) {
            0 => break aligned,
            excess if rows[0].len() <= NEEDED_COLUMNS && host > LEAST_HOST => {
                let host = host.saturating_sub(excess).max(LEAST_HOST);
                rows.iter_mut().for_each(|row| row[1] = short_host(&row[1], host));
            }
            _ if rows[0].len() <= 3 => break aligned,
            _ => rows.iter_mut().for_each(|row| drop(row.pop())),
        }
    };
    let lines = std::iter::once(title).chain(table.lines().map(|line| format!("   {line}")));
    lines
        .chain(more.map(|more| format!("   lost agents first, then the slowest agents; {more} not shown")))
        .collect()
}

/// Returns the name of a machine in at most `width` columns. A name that is too long loses its domain first.
fn short_host(host: &str, width: usize) -> String {
    let (name, _) = host.split_once('.').unwrap_or((host, ""));
    let is_address = name.bytes().all(|byte| byte.is_ascii_digit());
    shortened(if host.chars().count() <= width || is_address { host } else { name }, width)
}

/// Returns the cells of an agent's row.
fn agent_cells(number: u16, agent: &AgentRow<'_>) -> Vec<String> {
    let AgentRow { host, is_lost, state, load } = agent;
    let (state, load) = (state.filter(|_| !is_lost), load.as_ref().filter(|_| !is_lost));
    let none = || NONE.to_owned();
    let [p50, p99, max] = [Level::P50, Level::P99, Level::Max]
        .map(|level| load.map_or_else(none, |load| figure(level.of(load.service()))));
    let ops = if *is_lost {
        Some("lost".to_owned())
    } else {
        load.and_then(|load| load.ops_per_s).map(units::count)
    };
    let micros = |us: f64| units::latency((us * 1e3) as u64);
    vec![
        number.to_string(),
        host.clone(),
        ops.unwrap_or_else(none),
        p50,
        p99,
        state.map_or_else(none, |state| state.clients.to_string()),
        state.and_then(|state| state.cpu).map_or_else(none, units::percent),
        state.and_then(|state| state.late_us).map_or_else(none, micros),
        state.map_or_else(none, |state| {
            format!("{}{}", if state.offset_us < 0.0 { '-' } else { '+' }, micros(state.offset_us.abs()))
        }),
        state.map_or_else(none, |state| micros(state.error_us)),
        load.map_or_else(none, |load| units::percent(load.share)),
        max,
    ]
}

/// Returns the longest PING of a node in each column of the time axis. A column without measurements is `None`.
fn longest_pings(model: &Model, node: usize, columns: u16) -> Vec<Option<Option<u64>>> {
    if columns == 0 {
        return Vec::new();
    }
    let axis: TimeAxis = model.axis(columns);
    let window = axis.window(model.tracks[node].shown(), model.ends_s());
    window.levels(Measure::Ping).iter().map(|cell| cell.map(|cell| cell.get(Level::Max))).collect()
}

/// Returns the table with the columns that fit. The sort column is always shown.
fn table(area: Rect, model: &Model, rows: &[NodeRow]) -> ScreenTable<NodeTableKey> {
    let longest = rows.iter().map(|row| addresses(row).chars().count()).max().unwrap_or(0) as u16;
    let address = (longest + 2).clamp(8, ADDRESS);
    let sorted_by = model.node_table.sorted_by;
    let has = |column: &NodeColumn| rows.iter().any(|row| row.value(*column).is_some());
    let mut needed: Vec<_> = NODE_COLUMNS.into_iter().filter(has).collect();
    needed.sort_by_key(|column| *column != sorted_by);
    let room = area.width.saturating_sub(MARK + address);
    // On a wide screen, the PINGs over time are more important than the last columns.
    let least = if area.width >= WIDE { LANE } else { 0 };
    let widths = || needed.iter().map(|column| width(*column));
    let shown = fitting(room - least, widths());
    let used: u16 = widths().take(shown).sum();
    needed.truncate(shown);
    needed.sort();
    let lane = (room - used >= LANE).then(|| TableColumn::rest(NodeTableKey::OverTime, 2));
    let first = [
        TableColumn::left(NodeTableKey::Mark, MARK, 1),
        TableColumn::left(NodeTableKey::Figure(NodeColumn::Node), address, 0),
    ];
    let between = needed.into_iter().map(|column| match column {
        NodeColumn::Role => TableColumn::left(NodeTableKey::Figure(column), width(column), 0),
        NodeColumn::Event => TableColumn::left(NodeTableKey::Figure(column), width(column), 2),
        _ => TableColumn::right(NodeTableKey::Figure(column), width(column)),
    });
    ScreenTable::new(area, first.into_iter().chain(between).chain(lane))
}

/// Returns the address of a node. If Sentinels name the server, its present address comes first.
fn addresses(node: &NodeRow) -> String {
    let present = node.status.and_then(|status| status.address.as_deref());
    present.map_or_else(|| node.address.to_owned(), |present| format!("{present} {}", node.address))
}

fn heading(paint: &mut Paint, table: &ScreenTable<NodeTableKey>, model: &Model, scale: &LogScale) {
    let (sorted, ping) = (&model.node_table, model.timeline().words().ping);
    table.write(paint, 0, |key, width| match key {
        NodeTableKey::Mark => (String::new(), Ink::Faint),
        NodeTableKey::Figure(column) if column == sorted.sorted_by => {
            let arrow = if sorted.is_descending { '↓' } else { '↑' };
            (format!("{}{arrow}", heading_of(column, ping)), Ink::Strong)
        }
        NodeTableKey::Figure(column) => (heading_of(column, ping), Ink::Faint),
        NodeTableKey::OverTime => {
            let top = units::latency(scale.highest_ns);
            let words = [
                format!("longest {ping} over time, log scale to {top}"),
                format!("longest {ping}, to {top}"),
                format!("longest {ping}"),
            ];
            let fits = |words: &&String| words.chars().count() <= width;
            (words.iter().find(fits).cloned().unwrap_or_default(), Ink::Faint)
        }
    });
}

fn heading_of(column: NodeColumn, ping: &str) -> String {
    match column {
        NodeColumn::Node => "node".to_owned(),
        NodeColumn::Role => "role".to_owned(),
        NodeColumn::Slots => "slots".to_owned(),
        NodeColumn::Share => "share".to_owned(),
        NodeColumn::Ops => "ops/s".to_owned(),
        NodeColumn::Load(level) => format!("load {}", level.name()),
        NodeColumn::Ping(level) => format!("{ping} {}", level.name()),
        NodeColumn::Gauge(place) => match NODE_GAUGES[place] {
            Gauge::UsedMemory => "memory".to_owned(),
            Gauge::Clients => "clients".to_owned(),
            gauge => gauge.about().label.to_owned(),
        },
        NodeColumn::Event => "last event".to_owned(),
    }
}

fn line(paint: &mut Paint, table: &ScreenTable<NodeTableKey>, n: u16, model: &Model, node: &NodeRow) {
    let is_selected = model.selected_node() == node.number;
    let is_shown = model.node == node.number;
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
        NodeTableKey::Mark if is_selected => (pointer.to_string(), Ink::Selected),
        NodeTableKey::Mark | NodeTableKey::OverTime => (String::new(), Ink::Text),
        NodeTableKey::Figure(NodeColumn::Node) => (addresses(node), name),
        NodeTableKey::Figure(column) => known(text(column, model, node).filter(|text| text != NONE)),
    });
}

/// Returns the text of a cell. Returns `None` if its value is unknown.
fn text(column: NodeColumn, model: &Model, node: &NodeRow) -> Option<String> {
    let answers = node.outage.is_none();
    match column {
        NodeColumn::Node => Some(addresses(node)),
        NodeColumn::Role => Some(node.role.to_owned()),
        NodeColumn::Slots => node.slots.map(|slots| slots.to_string()),
        NodeColumn::Share => node.share.map(units::percent),
        NodeColumn::Ops => node.ops_per_s.filter(|_| answers).map(units::count),
        NodeColumn::Load(level) => node.load.as_ref().map(|load| figure(level.of(load.service()))),
        NodeColumn::Ping(level) => Some(ping_figure(level, &node.ping(), node.pings())),
        NodeColumn::Gauge(place) => {
            node.status.filter(|_| answers).and_then(|status| status.text_of(node.gauge(place)))
        }
        NodeColumn::Event => node.event.map(|event| event_text(model, event)),
    }
}

fn event_text(model: &Model, event: &Event) -> String {
    model.timeline().words().worded(event.what.to_string())
}

/// Draws details of the selected node, and a warning if one node has more than its share of the requests.
fn draw_details(paint: &mut Paint, area: Rect, model: &Model, rows: &[NodeRow]) {
    let Some(node) = rows.iter().find(|row| row.number == model.selected_node()) else { return };
    let shown =
        if model.node == node.number { ", on all screens" } else { "; Enter shows it on all screens" };
    paint.rule(row(area, 0), &format!("node {}: {}{shown}", node.number + 1, addresses(node)));
    let said = node_sentences(model, rows, node);
    let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let lines = said
        .iter()
        .flat_map(|(text, ink)| wrapped(text, inside.width.into()).into_iter().map(move |line| (line, *ink)));
    for (n, (line, ink)) in (1..area.height).zip(lines) {
        paint.text(row(inside, n), &line, ink);
    }
}

/// Returns sentences about the cluster and the selected node, the most important first.
fn node_sentences(model: &Model, rows: &[NodeRow], node: &NodeRow) -> Vec<(String, Ink)> {
    let time = |t_s| model.tracks[node.number].timeline.time_text(t_s);
    let mut said: Vec<(String, Ink)> = Vec::new();
    if let Some((since_s, cause)) = &node.outage {
        said.push((format!("no answer since {}: {cause}", time(*since_s)), Ink::Bad));
    }
    // The findings of the first node compare all nodes.
    let first = Some(0).filter(|first| *first != node.number);
    for finding in first.into_iter().chain([node.number]).flat_map(|number| model.findings_of(number)) {
        said.push((finding.sentence(200, true), status::ink(finding.severity)));
    }
    said.extend(Model::uneven_node(rows).map(|uneven| (uneven, Ink::Warn)));
    let slot = |used: &SlotUse| format!("{} {}", used.slot, units::percent(used.cpu));
    let busy = node
        .status
        .iter()
        .filter_map(|status| status.slots.as_deref())
        .flatten()
        .filter(|used| used.cpu >= LEAST_SLOT_CPU);
    let slots: Vec<_> = busy.take(SLOTS_SHOWN).map(slot).collect();
    if !slots.is_empty() {
        said.push((format!("busiest slots, with their share of a core: {}", slots.join(", ")), Ink::Text));
    }
    match (&node.outage, node.status) {
        (Some(_), _) => {}
        (None, None) => said.push(("no answer from this node yet".to_owned(), Ink::Faint)),
        (None, Some(status)) => {
            said.push((format!("{} {}, {}", status.name, status.version, node.role), Ink::Text));
        }
    }
    let event = node.event.map(|event| format!("{}  {}", time(event.t_s), event_text(model, event)));
    said.extend(event.map(|event| (event, Ink::Faint)));
    said
}
