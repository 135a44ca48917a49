//! What keys do in what lies over a screen: the list of commands, a question, the help.

use super::{Action, Binding, Context, KeyCode, key, on};

/// All bindings of these places.
pub(super) const KEYS: &[Binding] = &[
    Binding {
        context: Context::Palette,
        keys: &[
            (key(KeyCode::Up), Action::Scroll(-1)),
            (key(KeyCode::Down), Action::Scroll(1)),
            (key(KeyCode::BackTab), Action::Scroll(-1)),
            (key(KeyCode::Tab), Action::Scroll(1)),
            (key(KeyCode::PageUp), Action::Scroll(-10)),
            (key(KeyCode::PageDown), Action::Scroll(10)),
        ],
        written: "↑, ↓, Tab, PgUp, PgDn",
        hint: Some(("↑↓", "choose", 0)),
        help: "Choose another command.",
    },
    Binding {
        context: Context::Question,
        keys: &[(on('y'), Action::Yes), (on('Y'), Action::Yes)],
        written: "y",
        hint: Some(("y", "yes", 0)),
        help: "Yes.",
    },
    Binding {
        context: Context::Question,
        keys: &[
            (on('n'), Action::Dismiss),
            (on('N'), Action::Dismiss),
            (key(KeyCode::Enter), Action::Dismiss),
            (key(KeyCode::Esc), Action::Dismiss),
            (on('q'), Action::Dismiss),
        ],
        written: "n, Enter, Esc, q",
        hint: Some(("n, Enter", "no", 0)),
        help: "No.",
    },
    Binding {
        context: Context::Help,
        keys: &[
            (on('?'), Action::Dismiss),
            (key(KeyCode::F1), Action::Dismiss),
            (key(KeyCode::Esc), Action::Dismiss),
            (on('q'), Action::Dismiss),
        ],
        written: "?, Esc, q",
        hint: Some(("?", "close", 0)),
        help: "Close the help.",
    },
    Binding {
        context: Context::Help,
        keys: &[
            (key(KeyCode::Up), Action::Scroll(-1)),
            (key(KeyCode::Down), Action::Scroll(1)),
            (on('k'), Action::Scroll(-1)),
            (on('j'), Action::Scroll(1)),
            (key(KeyCode::PageUp), Action::Scroll(-10)),
            (key(KeyCode::PageDown), Action::Scroll(10)),
            (on(' '), Action::Scroll(10)),
        ],
        written: "↑, ↓, PgUp, PgDn, Space",
        hint: Some(("↑↓", "scroll", 0)),
        help: "Scroll.",
    },
];
