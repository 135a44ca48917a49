//! The table of the nodes of a cluster: their share of the load and their results.
//!
//! ```text
//!   node             share    ops/s     p50      p99      max  errors
//!   10.0.0.5:6379     41 %   50.1 k  292 µs   583 µs  7.70 ms       0
//!   10.0.0.6:6379     30 %   36.2 k  281 µs   540 µs  6.90 ms       0
//! ```

use std::cmp::Reverse;

use crate::{
    session::{
        Timeline,
        figures::{self, Figure, Row},
    },
    units,
};

/// The most nodes in the table: those with most of the load.
const MOST: usize = 12;
const COLUMNS: [Figure; 5] =
    [figures::OPS_PER_S, figures::SERVICE_P50, figures::SERVICE_P99, figures::SERVICE_MAX, figures::ERRORS];

/// Returns the table; empty if the load went to a single node.
pub(super) fn table(timeline: &Timeline) -> String {
    let (summary, nodes) = (timeline.summary(), timeline.nodes());
    if nodes.len() < 2 {
        return String::new();
    }
    let mut busiest: Vec<_> = nodes.iter().collect();
    busiest.sort_by_key(|(node, part)| (Reverse(part.ops), **node));
    let headings = COLUMNS.iter().map(|figure| figure.heading.to_owned());
    let mut lines = vec!["node".to_owned(), "share".to_owned()];
    lines.extend(headings);
    let mut lines = vec![lines];
    for (node, part) in busiest.iter().take(MOST) {
        let row = Row::of_summary(&summary).of_operation(part);
        let figures = COLUMNS.iter().map(|figure| figure.written(&row).unwrap_or_else(|| "-".to_owned()));
        let share = units::percent(part.ops as f64 / summary.ops.max(1) as f64);
        lines.push([timeline.address_of(**node), share].into_iter().chain(figures).collect());
    }
    let aligned = units::aligned(&lines, |n| n != 0);
    let mut text: String = aligned.lines().map(|line| format!("  {line}\n")).collect();
    if let Some(more) = busiest.len().checked_sub(MOST).filter(|more| *more > 0) {
        text += &format!("  {more} more nodes had less load; redyno report lists all\n");
    }
    text
}
