//! What keys do while something is typed: a search, a value, words.

use super::{Action, Binding, Context, KeyCode, Pattern, key};

/// All bindings of these places.
pub(super) const KEYS: &[Binding] = &[
    Binding { context: Context::Search, ..ADD },
    Binding {
        context: Context::Search,
        hint: Some(("Enter", "find", 0)),
        help: "Go to the first hit from the selected line on. An empty search ends the last one.",
        ..TAKE
    },
    Binding { context: Context::Search, ..DROP },
    Binding { context: Context::Search, ..ERASE },
    Binding {
        context: Context::Typing,
        keys: &[(Pattern::Printable, Action::Insert)],
        written: "digits, k, M",
        ..ADD
    },
    Binding {
        context: Context::Typing,
        help: "Take the value. One out of range is refused with its range, and the knob stays.",
        ..TAKE
    },
    Binding { context: Context::Typing, ..DROP },
    Binding { context: Context::Typing, ..ERASE },
    ADD,
    TAKE,
    DROP,
    ERASE,
];

const ADD: Binding = Binding {
    context: Context::Writing,
    keys: &[(Pattern::Character, Action::Insert)],
    written: "any character",
    hint: None,
    help: "Go on typing.",
};

const TAKE: Binding = Binding {
    context: Context::Writing,
    keys: &[(key(KeyCode::Enter), Action::Accept)],
    written: "Enter",
    hint: Some(("Enter", "take it", 0)),
    help: "Set the mark, take the parameter, or carry out the chosen command. What cannot be is told with its reason.",
};

const DROP: Binding = Binding {
    context: Context::Writing,
    keys: &[(key(KeyCode::Esc), Action::Dismiss)],
    written: "Esc",
    hint: Some(("Esc", "drop it", 0)),
    help: "Drop what was typed.",
};

const ERASE: Binding = Binding {
    context: Context::Writing,
    keys: &[(key(KeyCode::Backspace), Action::Erase)],
    written: "Backspace",
    hint: None,
    help: "Remove the last character.",
};
