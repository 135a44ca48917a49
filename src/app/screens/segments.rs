//! The Segments screen: all segments with their knobs and results.

use super::{List, Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    Model,
    keys::{Action, Binding, Context, KeyCode, ROWS, ROWS_WRITTEN, key, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Segments",
    key: '4',
    keys: KEYS,
    list: Some(List { select: Model::select_segment, go: Model::go_to_segment }),
    ..Row::PLAIN
};

const HERE: Context = Context::Screen(Screen::Segments);

const KEYS: &[Binding] = &[
    Binding {
        context: HERE,
        keys: ROWS,
        written: ROWS_WRITTEN,
        hint: Some(("↑↓", "select", 2)),
        help: "Select a segment.",
    },
    Binding {
        context: HERE,
        keys: &[(key(KeyCode::Left), Action::SortBy(Down)), (key(KeyCode::Right), Action::SortBy(Up))],
        written: "←, →",
        hint: Some(("←→", "sort", 2)),
        help: "Sort by the next column to the left or right.",
    },
    Binding {
        context: HERE,
        keys: &[(on('R'), Action::ReverseOrder)],
        written: "R",
        hint: Some(("R", "reverse", 4)),
        help: "Turn the order round.",
    },
    Binding {
        context: HERE,
        keys: &[(on('b'), Action::PinBaseline)],
        written: "b",
        hint: Some(("b", "baseline", 1)),
        help: "Compare all others with the selected segment: differences, and whether they are more than noise. \
               Again on the same one: let it go.",
    },
    Binding {
        context: HERE,
        keys: &[(key(KeyCode::Enter), Action::GoToRow)],
        written: "Enter",
        hint: Some(("Enter", "go there", 3)),
        help: "Freeze the view in the selected segment.",
    },
];
