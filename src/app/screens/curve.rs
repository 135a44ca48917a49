//! The Curve screen: throughput and latency over the value of a knob.

use super::{Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    keys::{Action, Context, KeyCode, key, key_table},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Curve",
    key: '6',
    keys: key_table! {
        in Context::Screen(Screen::Curve);
        &[(key(KeyCode::Left), Action::TurnDimension(Down)), (key(KeyCode::Right), Action::TurnDimension(Up))],
            "←, →", Some(("←→", "over", 1)),
            "Lay the curve over another knob, or a parameter of the server, of those that have more than one value in the \
             segments of the session. By itself it lies over what an experiment is about, or what was turned most.";
    },
    ..Row::PLAIN
};
