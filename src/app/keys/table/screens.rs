//! What keys do on single screens, and on a part shown alone.

use super::{Action, Binding, Context, KeyCode, Pattern, key, on};
use crate::app::Direction::{Down, Up};

/// Through the rows of a list.
const ROWS: &[(Pattern, Action)] = &[
    (key(KeyCode::Up), Action::SelectRow(-1)),
    (key(KeyCode::Down), Action::SelectRow(1)),
    (on('k'), Action::SelectRow(-1)),
    (on('j'), Action::SelectRow(1)),
    (key(KeyCode::PageUp), Action::SelectRow(-10)),
    (key(KeyCode::PageDown), Action::SelectRow(10)),
    (key(KeyCode::Home), Action::SelectRow(i16::MIN)),
    (key(KeyCode::End), Action::SelectRow(i16::MAX)),
];
/// The same, as help and README write them.
const ROWS_WRITTEN: &str = "↑, ↓, k, j, PgUp, PgDn, Home, End";

/// All bindings of these places.
pub(super) const KEYS: &[Binding] = &[
    Binding {
        context: Context::Server,
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
        context: Context::Server,
        keys: &[
            (key(KeyCode::Left), Action::TurnParameter(Down)),
            (key(KeyCode::Right), Action::TurnParameter(Up)),
        ],
        written: "←, →",
        hint: Some(("←→", "set", 2)),
        help: "Set it a step down or up, after a question. A new segment begins; the old value comes back at the end.",
    },
    Binding {
        context: Context::Server,
        keys: &[(key(KeyCode::Enter), Action::TypeParameter)],
        written: "Enter",
        hint: Some(("Enter", "type", 4)),
        help: "Type a value for it, as CONFIG SET takes it: 100mb, everysec.",
    },
    Binding {
        context: Context::Maximised,
        keys: &[(on('z'), Action::Maximise)],
        written: "z",
        hint: Some(("z", "next part", 1)),
        help: "Show the next part alone, and after the last all of them.",
    },
    Binding {
        context: Context::Maximised,
        keys: &[(key(KeyCode::Esc), Action::Minimise)],
        written: "Esc",
        hint: Some(("Esc", "all parts", 1)),
        help: "Show all parts of the screen again.",
    },
    Binding {
        context: Context::Latency,
        keys: &[(on('t'), Action::TurnStretch)],
        written: "t",
        hint: Some(("t", "now/minute/segment", 1)),
        help: "Show the distributions of the last second, the last minute or the whole segment.",
    },
    Binding {
        context: Context::Segments,
        keys: ROWS,
        written: ROWS_WRITTEN,
        hint: Some(("↑↓", "select", 2)),
        help: "Select a segment.",
    },
    Binding {
        context: Context::Segments,
        keys: &[(key(KeyCode::Left), Action::SortBy(Down)), (key(KeyCode::Right), Action::SortBy(Up))],
        written: "←, →",
        hint: Some(("←→", "sort", 2)),
        help: "Sort by the next column to the left or right.",
    },
    Binding {
        context: Context::Segments,
        keys: &[(on('R'), Action::ReverseOrder)],
        written: "R",
        hint: Some(("R", "reverse", 4)),
        help: "Turn the order round.",
    },
    Binding {
        context: Context::Segments,
        keys: &[(on('b'), Action::PinBaseline)],
        written: "b",
        hint: Some(("b", "baseline", 1)),
        help: "Compare all others with the selected segment: differences, and whether they are more than noise. \
               Again on the same one: let it go.",
    },
    Binding {
        context: Context::Segments,
        keys: &[(key(KeyCode::Enter), Action::GoToRow)],
        written: "Enter",
        hint: Some(("Enter", "go there", 3)),
        help: "Freeze the view in the selected segment.",
    },
    Binding {
        context: Context::Log,
        keys: ROWS,
        written: ROWS_WRITTEN,
        hint: Some(("↑↓", "select", 2)),
        help: "Select a line. At the last one, new lines are followed.",
    },
    Binding {
        context: Context::Log,
        keys: &[
            (key(KeyCode::Left), Action::TurnFilter(Down)),
            (key(KeyCode::Right), Action::TurnFilter(Up)),
        ],
        written: "←, →",
        hint: Some(("←→", "kind", 4)),
        help: "Show everything, or only events, errors, marks or segments.",
    },
    Binding {
        context: Context::Log,
        keys: &[(on('/'), Action::BeginSearch)],
        written: "/",
        hint: Some(("/", "search", 1)),
        help: "Look for a text, in upper or lower case.",
    },
    Binding {
        context: Context::Log,
        keys: &[(on('n'), Action::FindNext(Down)), (on('N'), Action::FindNext(Up))],
        written: "n, N",
        hint: Some(("n", "next", 4)),
        help: "Go to the next hit below, or above.",
    },
    Binding {
        context: Context::Log,
        keys: &[(key(KeyCode::Enter), Action::GoToRow)],
        written: "Enter",
        hint: Some(("Enter", "go there", 3)),
        help: "Freeze the view at the moment of the selected line.",
    },
];
