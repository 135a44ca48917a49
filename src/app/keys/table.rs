//! The table itself.

use super::{
    super::{
        Direction::{Down, Up},
        Landmark, Screen,
    },
    Action, Context, KeyCode, Pattern,
};

/// One line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it holds.
    pub context: Context,
    /// Which keys, and what each does.
    pub keys: &'static [(Pattern, Action)],
    /// The keys as help and README write them.
    pub written: &'static str,
    /// The keys and one word for the footer, and when it goes as room runs out: 0 never, 9 first.
    pub hint: Option<(&'static str, &'static str, u8)>,
    /// What it does, in a sentence.
    pub help: &'static str,
}

const fn on(c: char) -> Pattern {
    Pattern::Key(KeyCode::Char(c))
}

const fn key(code: KeyCode) -> Pattern {
    Pattern::Key(code)
}

/// All bindings, in the order in which help and footer list them.
pub const KEYS: &[Binding] = &[
    Binding {
        context: Context::Main,
        keys: &[(on('q'), Action::Quit)],
        written: "q",
        hint: Some(("q", "quit", 0)),
        help: "Quit. The keys that the load wrote are removed, and a summary stays in the scrollback.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('?'), Action::Help), (key(KeyCode::F1), Action::Help)],
        written: "?, F1",
        hint: Some(("?", "help", 0)),
        help: "Open this help.",
    },
    Binding {
        context: Context::Main,
        keys: &[
            (on('1'), Action::Show(Screen::Overview)),
            (on('2'), Action::Show(Screen::Latency)),
            (on('3'), Action::Show(Screen::Server)),
            (on('4'), Action::Show(Screen::Segments)),
            (on('5'), Action::Show(Screen::Log)),
            (key(KeyCode::Tab), Action::TurnScreen(1)),
            (key(KeyCode::BackTab), Action::TurnScreen(Screen::ALL.len() - 1)),
        ],
        written: "1-5, Tab",
        hint: None,
        help: "Show a screen: Overview, Latency, Server, Segments, Log. Tab shows the next, Shift-Tab the one before.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('z'), Action::Maximise)],
        written: "z",
        hint: Some(("z", "maximise", 9)),
        help: "Show one part of the screen alone: on the Overview a chart or the panel, on Latency the curve, the \
               table or the distribution. Again: the next part, and after the last all of them.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('l'), Action::ToggleLoad)],
        written: "l",
        hint: Some(("l", "load", 1)),
        help: "Turn the load on or off.",
    },
    Binding {
        context: Context::Main,
        keys: &[
            (key(KeyCode::Up), Action::Select(Up)),
            (key(KeyCode::Down), Action::Select(Down)),
            (on('k'), Action::Select(Up)),
            (on('j'), Action::Select(Down)),
        ],
        written: "↑, ↓, k, j",
        hint: Some(("↑↓", "knob", 2)),
        help: "Select a knob.",
    },
    Binding {
        context: Context::Main,
        keys: &[(key(KeyCode::Left), Action::Turn(Down)), (key(KeyCode::Right), Action::Turn(Up))],
        written: "←, →",
        hint: Some(("←→", "turn", 2)),
        help: "Turn the selected knob down or up. The load follows at once and a new segment begins.",
    },
    Binding {
        context: Context::Main,
        keys: &[(key(KeyCode::Enter), Action::BeginEntry)],
        written: "Enter",
        hint: Some(("Enter", "type", 4)),
        help: "Type a value for the selected knob: 250, 20k, 1.5M; for a rate also max.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('u'), Action::Undo)],
        written: "u",
        hint: Some(("u", "undo", 5)),
        help: "Take the last change of a knob back.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on(' '), Action::Freeze)],
        written: "Space",
        hint: Some(("Space", "freeze", 3)),
        help: "Freeze the view to read it and to travel in time. The measurement goes on.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('+'), Action::ZoomIn), (on('='), Action::ZoomIn), (on('-'), Action::ZoomOut)],
        written: "+, -",
        hint: Some(("+-", "zoom", 8)),
        help: "Show a shorter or a longer stretch of time, from 10 s to the whole session.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('w'), Action::Jump(Landmark::Worst))],
        written: "w",
        hint: Some(("w", "worst", 9)),
        help: "Jump to the longest service time of the session (without load, the longest ping) and freeze there.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('i'), Action::Intrinsic)],
        written: "i",
        hint: Some(("i", "intrinsic", 6)),
        help: "Measure the intrinsic latency of this machine: a busy loop that takes a whole core for as long \
               as you say. Again: stop it.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('I'), Action::GentleIntrinsic)],
        written: "I",
        hint: Some(("I", "gentle", 7)),
        help: "The same in a gentle form, a tenth of the time, that can stay on. Again: off.",
    },
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
        keys: &[
            (key(KeyCode::Up), Action::SelectRow(-1)),
            (key(KeyCode::Down), Action::SelectRow(1)),
            (on('k'), Action::SelectRow(-1)),
            (on('j'), Action::SelectRow(1)),
            (key(KeyCode::PageUp), Action::SelectRow(-10)),
            (key(KeyCode::PageDown), Action::SelectRow(10)),
            (key(KeyCode::Home), Action::SelectRow(i16::MIN)),
            (key(KeyCode::End), Action::SelectRow(i16::MAX)),
        ],
        written: "↑, ↓, k, j, PgUp, PgDn, Home, End",
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
        keys: &[
            (key(KeyCode::Up), Action::SelectRow(-1)),
            (key(KeyCode::Down), Action::SelectRow(1)),
            (on('k'), Action::SelectRow(-1)),
            (on('j'), Action::SelectRow(1)),
            (key(KeyCode::PageUp), Action::SelectRow(-10)),
            (key(KeyCode::PageDown), Action::SelectRow(10)),
            (key(KeyCode::Home), Action::SelectRow(i16::MIN)),
            (key(KeyCode::End), Action::SelectRow(i16::MAX)),
        ],
        written: "↑, ↓, k, j, PgUp, PgDn, Home, End",
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
    Binding {
        context: Context::Search,
        keys: &[(Pattern::Character, Action::Insert)],
        written: "any character",
        hint: None,
        help: "Go on typing.",
    },
    Binding {
        context: Context::Search,
        keys: &[(key(KeyCode::Enter), Action::Accept)],
        written: "Enter",
        hint: Some(("Enter", "find", 0)),
        help: "Go to the first hit from the selected line on. An empty search ends the last one.",
    },
    Binding {
        context: Context::Search,
        keys: &[(key(KeyCode::Esc), Action::Dismiss)],
        written: "Esc",
        hint: Some(("Esc", "drop it", 0)),
        help: "Drop what was typed.",
    },
    Binding {
        context: Context::Search,
        keys: &[(key(KeyCode::Backspace), Action::Erase)],
        written: "Backspace",
        hint: None,
        help: "Remove the last character.",
    },
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
        keys: &[(on('+'), Action::ZoomIn), (on('='), Action::ZoomIn), (on('-'), Action::ZoomOut)],
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
    Binding {
        context: Context::Typing,
        keys: &[(Pattern::Printable, Action::Insert)],
        written: "digits, k, M",
        hint: None,
        help: "Go on typing.",
    },
    Binding {
        context: Context::Typing,
        keys: &[(key(KeyCode::Enter), Action::Accept)],
        written: "Enter",
        hint: Some(("Enter", "take it", 0)),
        help: "Take the value. One out of range is refused with its range, and the knob stays.",
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
        keys: &[(key(KeyCode::Backspace), Action::Erase)],
        written: "Backspace",
        hint: None,
        help: "Remove the last character.",
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
    Binding {
        context: Context::Anywhere,
        keys: &[(Pattern::Ctrl('c'), Action::Quit)],
        written: "Ctrl-C",
        hint: None,
        help: "Quit.",
    },
    Binding {
        context: Context::Anywhere,
        keys: &[(Pattern::Ctrl('z'), Action::Suspend)],
        written: "Ctrl-Z",
        hint: None,
        help: "Suspend; fg brings the screen back. The measurement stops with the process.",
    },
];
