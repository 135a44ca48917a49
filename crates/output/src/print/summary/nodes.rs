//! The summary's table of the nodes of a cluster, or of the agents of a fleet: their share of the load and
//! their results. Another table has the PINGs and the last figures of all nodes of a session, with the names
//! of their findings.
//!
//! ```text
//!   node             share    ops/s     p50      p99      max  errors
//!   10.0.0.5:6379     41 %   50.1 k  292 µs   583 µs  7.70 ms       0
//!   10.0.0.6:6379     30 %   36.2 k  281 µs   540 µs  6.90 ms       0
//!
//!   node           ping p50  ping p99  unanswered   cpu    memory  findings
//!   10.0.0.5:6379    120 µs    310 µs           0   8 %  13.6 MiB  none
//!   10.0.0.6:6379    118 µs    301 µs         212     -         -  stall
//! ```

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{
    diagnose::{Episode, NodeState, Severity},
    gauge::Gauge,
    report::monitored,
    session::{
        OperationInterval, Timeline,
        figures::{self, Figure, Row},
        timeline::Level,
    },
    units,
};

/// The maximum number of rows. The rows show the nodes with the most load or with the worst findings.
const MOST: usize = 12;
const COLUMNS: [Figure; 5] =
    [figures::OPS_PER_S, figures::SERVICE_P50, figures::SERVICE_P99, figures::SERVICE_MAX, figures::ERRORS];

/// Returns the tables of nodes and of agents. A single node, or a session without agents, has no table.
pub(super) fn tables(timeline: &Timeline) -> impl Iterator<Item = String> {
    let summary = timeline.summary();
    let whole = || Row::of_summary(&summary);
    let nodes = table("node", whole(), &timeline.nodes(), |node| timeline.address_of(node));
    let agents = table("agent", whole(), &timeline.agents(), |agent| timeline.agent_name(agent));
    [nodes, agents].into_iter().filter(|table| !table.is_empty())
}

/// Returns the table of the `parts` of the load `whole`; empty for fewer than two parts.
pub(crate) fn table(
    heading: &str,
    whole: Row,
    parts: &BTreeMap<u16, OperationInterval>,
    name: impl Fn(u16) -> String,
) -> String {
    if parts.len() < 2 {
        return String::new();
    }
    let mut busiest: Vec<_> = parts.iter().collect();
    busiest.sort_by_key(|(number, part)| (Reverse(part.ops), **number));
    let headings = COLUMNS.iter().map(|figure| figure.heading.to_owned());
    let mut lines = vec![heading.to_owned(), "share".to_owned()];
    lines.extend(headings);
    let mut lines = vec![lines];
    for (number, part) in busiest.iter().take(MOST) {
        let row = whole.of_operation(part);
        let figures = COLUMNS.iter().map(|figure| figure.cell(&row));
        let share = units::percent(part.ops as f64 / whole.ops.max(1) as f64);
        lines.push([name(**number), share].into_iter().chain(figures).collect());
    }
    let aligned = units::aligned(&lines, |n| n != 0);
    let mut text: String = aligned.lines().map(|line| format!("  {line}\n")).collect();
    if let Some(more) = busiest.len().checked_sub(MOST).filter(|more| *more > 0) {
        text += &format!("  {more} more {heading}s had less load; `redyno report` lists all\n");
    }
    text
}

/// Returns the warnings and problems of a node.
fn warnings(node: &NodeState) -> impl Iterator<Item = &Episode> {
    node.findings.episodes.iter().filter(|episode| episode.finding.severity >= Severity::Warning)
}

/// Returns the summary's lines about the warnings and problems of all nodes, the worst first. Each line has its name,
/// and a text with the node's address if there are several nodes. Some findings of the first node are left out, because
/// the summary lists them elsewhere. These are findings about whole segments (`listed` has their rules), and all
/// findings of a session without load.
pub(super) fn findings(timeline: &Timeline, nodes: &[NodeState], listed: &[&str]) -> Vec<(String, String)> {
    let has_load = monitored::has_load(timeline);
    let is_new =
        |first: bool, episode: &&Episode| !first || has_load && !listed.contains(&episode.finding.rule);
    let of_node = |(number, node): (usize, _)| {
        let new = warnings(node).filter(move |episode| is_new(number == 0, episode));
        new.map(move |episode| (node, episode))
    };
    let mut all: Vec<_> = nodes.iter().enumerate().flat_map(of_node).collect();
    all.sort_by_key(|(_, episode)| Reverse(episode.finding.severity));
    let more = all.len().saturating_sub(MOST);
    let line = |(node, episode): &(&NodeState, &Episode)| {
        let [severity, since, lasted, found] = monitored::finding(timeline, episode);
        let address = if nodes.len() > 1 { format!("{}: ", node.address) } else { String::new() };
        (severity, format!("{address}{since} for {lasted}: {found}"))
    };
    let lines = all.iter().take(MOST).map(line);
    let left = (more > 0)
        .then(|| ("findings".to_owned(), format!("further findings: {more}; `redyno report` lists all")));
    lines.chain(left).collect()
}

/// Returns the table of the PINGs, the last figures and the findings of all nodes; `None` for a single node.
pub(super) fn watched(nodes: &[NodeState]) -> Option<String> {
    let mut known: Vec<_> = nodes.iter().filter(|node| node.is_known()).collect();
    if known.len() < 2 {
        return None;
    }
    let more = known.len().saturating_sub(MOST);
    if more > 0 {
        let worst = |node: &NodeState| warnings(node).map(|episode| episode.finding.severity).max();
        known.sort_by_key(|node| Reverse((worst(node), node.pings_lost())));
    }
    let row = |node: &&NodeState| {
        let level = |level: Level| level.of(&node.pings).map_or_else(|| "-".to_owned(), units::latency);
        let gauge = |gauge: Gauge| {
            node.gauges.get(gauge).map_or_else(|| "-".to_owned(), |value| gauge.written(value))
        };
        let mut names: Vec<_> = warnings(node).map(|episode| episode.finding.rule).collect();
        names.dedup();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let lost = units::grouped(node.pings_lost());
        let gauges = [gauge(Gauge::Cpu), gauge(Gauge::UsedMemory)];
        let pings = [node.address.clone(), level(Level::P50), level(Level::P99), lost];
        pings.into_iter().chain(gauges).chain([names]).collect::<Vec<_>>()
    };
    let headings = ["node", "ping p50", "ping p99", "unanswered", "cpu", "memory", "findings"];
    let mut lines = vec![headings.map(str::to_owned).to_vec()];
    lines.extend(known.iter().take(MOST).map(row));
    let aligned = units::aligned(&lines, |n| n != 0 && n != headings.len() - 1);
    let mut text: String = aligned.lines().map(|line| format!("  {line}\n")).collect();
    if more > 0 {
        text +=
            &format!("  more nodes: {more}, with no worse findings than these; `redyno report` lists all\n");
    }
    Some(text)
}
