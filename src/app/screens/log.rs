//! The Log screen: events and errors in words.

use super::{List, Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    Model,
    keys::{Action, Binding, Context, KeyCode, ROWS, ROWS_WRITTEN, key, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Log",
    key: '5',
    keys: KEYS,
    list: Some(List { select: Model::select_line, go: Model::go_to_line }),
    ..Row::PLAIN
};

const HERE: Context = Context::Screen(Screen::Log);

const KEYS: &[Binding] = &[
    Binding {
        context: HERE,
        keys: ROWS,
        written: ROWS_WRITTEN,
        hint: Some(("↑↓", "select", 2)),
        help: "Select a line. At the last one, new lines are followed.",
    },
    Binding {
        context: HERE,
        keys: &[
            (key(KeyCode::Left), Action::TurnFilter(Down)),
            (key(KeyCode::Right), Action::TurnFilter(Up)),
        ],
        written: "←, →",
        hint: Some(("←→", "kind", 4)),
        help: "Show everything, or only events, errors, marks or segments.",
    },
    Binding {
        context: HERE,
        keys: &[(on('/'), Action::BeginSearch)],
        written: "/",
        hint: Some(("/", "search", 1)),
        help: "Look for a text, in upper or lower case.",
    },
    Binding {
        context: HERE,
        keys: &[(on('n'), Action::FindNext(Down)), (on('N'), Action::FindNext(Up))],
        written: "n, N",
        hint: Some(("n", "next", 4)),
        help: "Go to the next hit below, or above.",
    },
    Binding {
        context: HERE,
        keys: &[(key(KeyCode::Enter), Action::GoToRow)],
        written: "Enter",
        hint: Some(("Enter", "go there", 3)),
        help: "Freeze the view at the moment of the selected line.",
    },
];
