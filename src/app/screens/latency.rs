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
    },
    panes: &[Pane::Curve, Pane::Percentiles, Pane::Distribution],
    ..Row::PLAIN
};
