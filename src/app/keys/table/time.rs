//! What keys do where time is travelled: in a frozen view and in a recording.

use super::{Action, Binding, Context, KeyCode, ZOOM, key, on};
use crate::app::Landmark;

/// All bindings of these places.
pub(super) const KEYS: &[Binding] = &[
    Binding {
        context: Context::Frozen,
        keys: &[(on(' '), Action::Live), (key(KeyCode::Esc), Action::Live)],
        written: "Space, Esc",
        hint: Some(("Space", "live", 1)),
        help: "Back to the latest moment.",
    },
    Binding {
        context: Context::Replay,
        keys: &[(on(' '), Action::Play), (on('p'), Action::Play)],
        written: "Space, p",
        hint: Some(("Space", "play", 1)),
        help: "Play from the cursor, or pause. At the end: play from the start.",
    },
    Binding {
        context: Context::Replay,
        keys: &[(on('<'), Action::Slower), (on('>'), Action::Faster)],
        written: "<, >",
        hint: Some(("<>", "speed", 3)),
        help: "Play slower or faster, from a quarter to 64 times as fast.",
    },
    Binding {
        context: Context::Time,
        keys: &[(key(KeyCode::Left), Action::Scrub(-1)), (key(KeyCode::Right), Action::Scrub(1))],
        written: "←, →",
        hint: Some(("←→", "move", 2)),
        help: "Move the cursor by a column. Figures and tables show that moment.",
    },
    Binding {
        context: Context::Time,
        keys: &[(key(KeyCode::PageUp), Action::Scrub(-10)), (key(KeyCode::PageDown), Action::Scrub(10))],
        written: "PgUp, PgDn",
        hint: Some(("PgUp PgDn", "by 10", 6)),
        help: "Move it by ten columns, back or on.",
    },
    Binding {
        context: Context::Time,
        keys: &[
            (key(KeyCode::Home), Action::Jump(Landmark::Start)),
            (key(KeyCode::End), Action::Jump(Landmark::End)),
        ],
        written: "Home, End",
        hint: None,
        help: "Move it to the start or to the latest moment of the session.",
    },
    Binding {
        context: Context::Time,
        keys: ZOOM,
        written: "+, -",
        hint: Some(("+-", "zoom", 4)),
        help: "Show a shorter or a longer stretch around it.",
    },
    Binding {
        context: Context::Time,
        keys: &[(on('w'), Action::Jump(Landmark::Worst))],
        written: "w",
        hint: Some(("w", "worst", 4)),
        help: "Jump to the worst moment.",
    },
    Binding {
        context: Context::Time,
        keys: &[
            (on('n'), Action::Jump(Landmark::NextEvent)),
            (on('N'), Action::Jump(Landmark::PreviousEvent)),
        ],
        written: "n, N",
        hint: Some(("n", "event", 5)),
        help: "Jump to the next event or mark, or to the one before.",
    },
    Binding {
        context: Context::Time,
        keys: &[
            (on('s'), Action::Jump(Landmark::NextSegment)),
            (on('S'), Action::Jump(Landmark::PreviousSegment)),
        ],
        written: "s, S",
        hint: Some(("s", "segment", 5)),
        help: "Jump to the next segment, or to the one before.",
    },
];
