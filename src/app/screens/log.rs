//! The Log screen: events and errors in words.

use super::{List, Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    Model,
    keys::{Action, Context, KeyCode, ROWS, ROWS_WRITTEN, key, key_table, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Log",
    key: '5',
    keys: key_table! {
        in Context::Screen(Screen::Log);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a line. At the last one, new lines are followed.";
        &[(key(KeyCode::Left), Action::TurnFilter(Down)), (key(KeyCode::Right), Action::TurnFilter(Up))],
            "←, →", Some(("←→", "kind", 4)),
            "Show everything, or only events, errors, marks or segments.";
        &[(on('/'), Action::BeginSearch)], "/", Some(("/", "search", 1)),
            "Look for a text, in upper or lower case.";
        &[(on('n'), Action::FindNext(Down)), (on('N'), Action::FindNext(Up))], "n, N", Some(("n", "next", 4)),
            "Go to the next hit below, or above.";
        &[(key(KeyCode::Enter), Action::GoToRow)], "Enter", Some(("Enter", "go there", 3)),
            "Freeze the view at the moment of the selected line.";
    },
    list: Some(List { select: Model::select_line, go: Model::go_to_line }),
    ..Row::PLAIN
};
