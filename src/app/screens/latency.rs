//! The Latency screen: distributions and percentiles in full.

use super::{Row, Screen};
use crate::app::{
    Pane,
    keys::{Action, Binding, Context, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Latency",
    key: '2',
    keys: KEYS,
    panes: &[Pane::Curve, Pane::Percentiles, Pane::Distribution],
    ..Row::PLAIN
};

const HERE: Context = Context::Screen(Screen::Latency);

const KEYS: &[Binding] = &[Binding {
    context: HERE,
    keys: &[(on('t'), Action::TurnStretch)],
    written: "t",
    hint: Some(("t", "now/minute/segment", 1)),
    help: "Show the distributions of the last second, the last minute or the whole segment.",
}];
