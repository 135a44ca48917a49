//! What keys do while something is typed.

use super::{Action, Binding, Context, KeyCode, Pattern, key};

/// All bindings of these places.
pub(super) const KEYS: &[Binding] = &[
    Binding {
        context: Context::Search,
        keys: &[(key(KeyCode::Enter), Action::Accept)],
        written: "Enter",
        hint: Some(("Enter", "find", 0)),
        help: "Go to the first hit from the selected line on. An empty search ends the last one.",
    },
    Binding {
        context: Context::Typing,
        keys: &[(Pattern::Character, Action::Insert)],
        written: "any character",
        hint: None,
        help: "Go on typing. What is pasted is typed too, and never taken for keys.",
    },
    Binding {
        context: Context::Typing,
        keys: &[(key(KeyCode::Enter), Action::Accept)],
        written: "Enter",
        hint: Some(("Enter", "take it", 0)),
        help: "Take the value, set the mark, or carry out the chosen command. What cannot be is told with its reason.",
    },
    Binding {
        context: Context::Typing,
        keys: &[(key(KeyCode::Esc), Action::Dismiss)],
        written: "Esc",
        hint: Some(("Esc", "drop it", 0)),
        help: "Drop what was typed.",
    },
    Binding {
        context: Context::Typing,
        keys: &[
            (key(KeyCode::Left), Action::MoveCaret(-1)),
            (key(KeyCode::Right), Action::MoveCaret(1)),
            (key(KeyCode::Home), Action::MoveCaret(i16::MIN)),
            (key(KeyCode::End), Action::MoveCaret(i16::MAX)),
        ],
        written: "←, →, Home, End",
        hint: None,
        help: "Move in what was typed.",
    },
    Binding {
        context: Context::Typing,
        keys: &[(key(KeyCode::Backspace), Action::Erase), (key(KeyCode::Delete), Action::Delete)],
        written: "Backspace, Del",
        hint: None,
        help: "Remove the character before the caret, or behind it.",
    },
];
