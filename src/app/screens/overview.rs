//! The Overview: load, latency, probes and server on one time axis, beside the knobs, which its arrows turn.

use super::Row;
use crate::app::Pane;

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Overview",
    key: '1',
    panes: &[Pane::Throughput, Pane::Latency, Pane::Heat, Pane::Probes, Pane::Panel],
    ..Row::PLAIN
};
