//! The table of the nodes of a cluster, or of the agents of a fleet: their share of the load and their results.
//!
//! ```text
//!   node             share    ops/s     p50      p99      max  errors
//!   10.0.0.5:6379     41 %   50.1 k  292 µs   583 µs  7.70 ms       0
//!   10.0.0.6:6379     30 %   36.2 k  281 µs   540 µs  6.90 ms       0
//! ```

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{
    session::{
        OperationInterval, Timeline,
        figures::{self, Figure, Row},
    },
    units,
};

/// The maximum number of rows; the nodes with the most load have a row.
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
        text += &format!("  {more} more {heading}s had less load; redyno report lists all\n");
    }
    text
}
