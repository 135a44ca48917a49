//! The Overview: load, latency, probes and server on one time axis, beside the knobs, which its arrows turn.

use super::{Row, Screen};
use crate::app::{
    Pane,
    keys::{Action, Context, key_table, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Overview",
    key: '1',
    keys: key_table! {
        in Context::Screen(Screen::Overview);
        &[(on('L'), Action::TurnSpread)], "L", Some(("L", "log axis", 9)),
            "Show the throughput on a logarithmic axis, on which all segments have room; again: on a linear one, on which \
             the last segment, or that of the cursor, is seen closely.";
        &[(on('v'), Action::TurnTimed)], "v", Some(("v", "response/service", 9)),
            "Show in the latency chart of an open loop the service time, from when each request was written; again: the \
             response time, from when it was due. In closed loop the two are one.";
    },
    panes: &[Pane::Throughput, Pane::Latency, Pane::Probes, Pane::Panel],
    ..Row::PLAIN
};
