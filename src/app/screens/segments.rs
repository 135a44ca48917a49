//! The Segments screen: all segments with their knobs and results.

use super::{List, Row, Screen};
use crate::app::{
    Direction::{Down, Up},
    Model,
    keys::{Action, Context, KeyCode, ROWS, ROWS_WRITTEN, key, key_table, on},
};

/// Its row of the table.
pub(super) const ROW: Row = Row {
    name: "Segments",
    key: '4',
    keys: key_table! {
        in Context::Screen(Screen::Segments);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a segment.";
        &[(key(KeyCode::Left), Action::SortBy(Down)), (key(KeyCode::Right), Action::SortBy(Up))],
            "←, →", Some(("←→", "sort", 2)),
            "Sort by the next column to the left or right.";
        &[(on('R'), Action::ReverseOrder)], "R", Some(("R", "reverse", 4)),
            "Reverse the order.";
        &[(on('b'), Action::PinBaseline)], "b", Some(("b", "baseline", 1)),
            "Compare all others with the selected segment: differences, and whether they are more than noise. \
             Again on the same one: let it go.";
        &[(key(KeyCode::Enter), Action::GoToRow)], "Enter", Some(("Enter", "go there", 3)),
            "Freeze the view in the selected segment.";
    },
    list: Some(List { select: Model::select_segment, go: Model::go_to_segment }),
    ..Row::PLAIN
};
