//! What keys do on every screen, with nothing over it.

use super::{Action, Binding, Context, KeyCode, Pattern, ZOOM, key, on};
use crate::app::{
    Direction::{Down, Up},
    Landmark, Picture, Screen,
};

/// To leave, to look and to turn: screens, load, knobs, time, the intrinsic probe.
pub(super) const STEER: &[Binding] = &[
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
        keys: SHOW,
        written: "its number",
        hint: None,
        help: "Show a screen. The last line has them all.",
    },
    Binding {
        context: Context::Main,
        keys: &[
            (key(KeyCode::Tab), Action::TurnScreen(1)),
            (key(KeyCode::BackTab), Action::TurnScreen(Screen::ALL.len() - 1)),
        ],
        written: "Tab",
        hint: None,
        help: "Show the next screen; Shift-Tab the one before.",
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
        keys: ZOOM,
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
];

/// To name, find and keep: commands, presets, marks, recordings, pictures.
pub(super) const KEEP: &[Binding] = &[
    Binding {
        context: Context::Main,
        keys: &[(on(':'), Action::Palette), (Pattern::Ctrl('p'), Action::Palette)],
        written: ":, Ctrl-P",
        hint: Some((":", "commands", 5)),
        help: "Find a command by a few letters of its name, or set a knob in words: clients 200, rate 5k, \
               backlog shed, workload get.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('p'), Action::Presets)],
        written: "p",
        hint: Some(("p", "preset", 9)),
        help: "Choose a preset: a named setting of all knobs.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('m'), Action::Mark)],
        written: "m",
        hint: Some(("m", "mark", 7)),
        help: "Put a note of yours on the time axis, at the moment of the key.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('r'), Action::Record)],
        written: "r",
        hint: Some(("r", "record", 7)),
        help: "Record all that is measured from now on to a new file in this directory. Again: stop.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('e'), Action::Save(Picture::Svg)), (on('E'), Action::Save(Picture::Text))],
        written: "e, E",
        hint: Some(("e", "export", 9)),
        help: "Save a picture of the screen to a new file in this directory, as SVG or as text.",
    },
    Binding {
        context: Context::Main,
        keys: &[(on('y'), Action::CopySummary)],
        written: "y",
        hint: None,
        help: "Copy the summary of the session to the clipboard, where the terminal allows that (OSC 52).",
    },
];

/// Each screen by its key.
const SHOW: &[(Pattern, Action)] = &{
    let mut keys = [(on(' '), Action::Help); Screen::ALL.len()];
    let mut n = 0;
    while n < keys.len() {
        keys[n] = (on(Screen::ALL[n].key()), Action::Show(Screen::ALL[n]));
        n += 1;
    }
    keys
};

/// While one pane of a screen is shown alone.
pub(super) const ALONE: &[Binding] = &[
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
];
