//! The Latency screen: distributions and percentiles in full.

use super::{Row, Screen};
use crate::app::{
    Pane,
    keys::{Action, Context, key_table, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Latency",
    key: '2',
    keys: key_table! {
        in Context::Screen(Screen::Latency);
        &[(on('t'), Action::TurnStretch)], "t", Some(("t", "now/minute/segment", 1)),
            "Show the distributions of the last second, the last minute or the whole segment.";
        &[(on('J'), Action::ScrollOperations(1)), (on('K'), Action::ScrollOperations(-1))],
            "J, K", Some(("J, K", "operations", 9)),
            "Scroll the table of the operations, of which there is one where a workload has more than four.";
    },
    panes: &[Pane::Curve, Pane::Percentiles, Pane::Distribution],
    ..Row::PLAIN
};
