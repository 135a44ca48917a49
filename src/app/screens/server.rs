//! The Server screen: what the server says of itself, and its parameters, which the arrows turn.

use super::{Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    View,
    keys::{Action, Context, KeyCode, key, key_table, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Server",
    key: '3',
    keys: key_table! {
        in Context::Screen(Screen::Server);
        &[(key(KeyCode::Up), Action::SelectParameter(Up)), (key(KeyCode::Down), Action::SelectParameter(Down)),
            (on('k'), Action::SelectParameter(Up)), (on('j'), Action::SelectParameter(Down))],
            "↑, ↓, k, j", Some(("↑↓", "parameter", 2)),
            "Select a parameter of the server.";
        &[(key(KeyCode::Left), Action::TurnParameter(Down)), (key(KeyCode::Right), Action::TurnParameter(Up))],
            "←, →", Some(("←→", "set", 2)),
            "Set it a step down or up, after a question. A new segment begins; the old value comes back at the end.";
        &[(key(KeyCode::Enter), Action::TypeParameter)], "Enter", Some(("Enter", "type", 4)),
            "Type a value for it: 100mb, 1.5 GiB, 5ms; of words, choose one of the list.";
    },
    // A moment in the past is not to be turned.
    work: |model| model.has_parameters() && model.view == View::Live,
    ..Row::PLAIN
};
