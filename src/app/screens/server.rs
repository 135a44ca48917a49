//! The Server screen: what the server says of itself, and its parameters, which the arrows turn.

use super::{Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    View,
    keys::{Action, Binding, Context, KeyCode, key, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Server",
    key: '3',
    keys: KEYS,
    // A moment in the past is not to be turned.
    work: |model| model.playback.is_none() && model.view == View::Live,
    ..Row::PLAIN
};

const HERE: Context = Context::Screen(Screen::Server);

const KEYS: &[Binding] = &[
    Binding {
        context: HERE,
        keys: &[
            (key(KeyCode::Up), Action::SelectParameter(Up)),
            (key(KeyCode::Down), Action::SelectParameter(Down)),
            (on('k'), Action::SelectParameter(Up)),
            (on('j'), Action::SelectParameter(Down)),
        ],
        written: "↑, ↓, k, j",
        hint: Some(("↑↓", "parameter", 2)),
        help: "Select a parameter of CONFIG.",
    },
    Binding {
        context: HERE,
        keys: &[
            (key(KeyCode::Left), Action::TurnParameter(Down)),
            (key(KeyCode::Right), Action::TurnParameter(Up)),
        ],
        written: "←, →",
        hint: Some(("←→", "set", 2)),
        help: "Set it a step down or up, after a question. A new segment begins; the old value comes back at the end.",
    },
    Binding {
        context: HERE,
        keys: &[(key(KeyCode::Enter), Action::TypeParameter)],
        written: "Enter",
        hint: Some(("Enter", "type", 4)),
        help: "Type a value for it, as CONFIG SET takes it: 100mb, everysec.",
    },
];
