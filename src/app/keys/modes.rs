//! What keys do where a screen does not have them to itself: in time that is travelled, while something is typed, in what
//! lies over the screen, and everywhere.

use super::{Action, Binding, Context, KeyCode, Landmark, Pattern, ZOOM, key, on};

/// All bindings of these places.
pub(super) const KEYS: &[Binding] = key_table! {
    in Context::Frozen;
    &[(on(' '), Action::Live), (key(KeyCode::Esc), Action::Live)], "Space, Esc", Some(("Space", "live", 1)),
        "Back to the latest moment.";

    in Context::Replay;
    &[(on(' '), Action::Play), (on('p'), Action::Play)], "Space, p", Some(("Space", "play", 1)),
        "Play from the cursor, or pause. At the end: play from the start.";
    &[(on('<'), Action::Slower), (on('>'), Action::Faster)], "<, >", Some(("<>", "speed", 3)),
        "Play slower or faster, from a quarter to 64 times as fast.";

    in Context::Time;
    &[(key(KeyCode::Left), Action::Scrub(-1)), (key(KeyCode::Right), Action::Scrub(1))],
        "←, →", Some(("←→", "move", 2)),
        "Move the cursor by a column. Figures and tables show that moment.";
    &[(key(KeyCode::PageUp), Action::Scrub(-10)), (key(KeyCode::PageDown), Action::Scrub(10))],
        "PgUp, PgDn", Some(("PgUp PgDn", "by 10", 6)),
        "Move it by ten columns, back or on.";
    &[(key(KeyCode::Home), Action::Jump(Landmark::Start)), (key(KeyCode::End), Action::Jump(Landmark::End))],
        "Home, End", None,
        "Move it to the start or to the latest moment of the session.";
    ZOOM, "+, -", Some(("+-", "zoom", 4)),
        "Show a shorter or a longer stretch around it.";
    &[(on('w'), Action::Jump(Landmark::Worst))], "w", Some(("w", "worst", 4)),
        "Jump to the worst moment.";
    &[(on('n'), Action::Jump(Landmark::NextEvent)), (on('N'), Action::Jump(Landmark::PreviousEvent))],
        "n, N", Some(("n", "event", 5)),
        "Jump to the next event or mark, or to the one before.";
    &[(on('s'), Action::Jump(Landmark::NextSegment)), (on('S'), Action::Jump(Landmark::PreviousSegment))],
        "s, S", Some(("s", "segment", 5)),
        "Jump to the next segment, or to the one before.";

    in Context::Experiment;
    &[(on('c'), Action::EndExperiment)], "c", Some(("c", "cancel", 1)),
        "Stop the experiment. The knobs are set back; it ends, too, when you turn one.";

    in Context::Answer;
    &[(on('c'), Action::EndExperiment), (key(KeyCode::Esc), Action::EndExperiment)],
        "c, Esc", Some(("c", "put answer away", 3)),
        "Put its answer away.";

    in Context::Search;
    &[(key(KeyCode::Enter), Action::Accept)], "Enter", Some(("Enter", "find", 0)),
        "Go to the first hit from the selected line on. An empty search ends the last one.";

    in Context::Typing;
    &[(Pattern::Character, Action::Insert)], "any character", None,
        "Go on typing. What is pasted is typed too, and never taken for keys.";
    &[(key(KeyCode::Enter), Action::Accept)], "Enter", Some(("Enter", "apply", 0)),
        "Take the value, set the mark, or carry out the chosen command. What cannot be is told with its reason.";
    &[(key(KeyCode::Esc), Action::Dismiss)], "Esc", Some(("Esc", "cancel", 0)),
        "Drop what was typed.";
    &[(key(KeyCode::Left), Action::MoveCaret(-1)), (key(KeyCode::Right), Action::MoveCaret(1)),
        (key(KeyCode::Home), Action::MoveCaret(i16::MIN)), (key(KeyCode::End), Action::MoveCaret(i16::MAX))],
        "←, →, Home, End", None,
        "Move in what was typed.";
    &[(key(KeyCode::Backspace), Action::Erase), (key(KeyCode::Delete), Action::Delete)],
        "Backspace, Del", None,
        "Remove the character before the caret, or behind it.";

    in Context::Palette;
    &[(key(KeyCode::Up), Action::Scroll(-1)), (key(KeyCode::Down), Action::Scroll(1)),
        (key(KeyCode::BackTab), Action::Scroll(-1)), (key(KeyCode::Tab), Action::Scroll(1)),
        (key(KeyCode::PageUp), Action::Scroll(-10)), (key(KeyCode::PageDown), Action::Scroll(10))],
        "↑, ↓, Tab, PgUp, PgDn", Some(("↑↓", "choose", 0)),
        "Choose another command.";

    in Context::Question;
    &[(on('y'), Action::Yes), (on('Y'), Action::Yes)], "y", Some(("y", "yes", 0)),
        "Yes.";
    &[(on('n'), Action::Dismiss), (on('N'), Action::Dismiss), (key(KeyCode::Enter), Action::Dismiss),
        (key(KeyCode::Esc), Action::Dismiss), (on('q'), Action::Dismiss)],
        "n, Enter, Esc, q", Some(("n, Enter", "no", 0)),
        "No.";

    in Context::Help;
    &[(key(KeyCode::Esc), Action::Dismiss), (key(KeyCode::Enter), Action::Dismiss), (key(KeyCode::F1), Action::Dismiss),
        (on('?'), Action::CloseHelp), (on('q'), Action::CloseHelp)],
        "Esc, Enter, F1; ?, q while nothing is typed", Some(("Esc, Enter", "close", 0)),
        "Close the help. Whatever else is typed is looked for in it: a key, a sign, a lane, a word.";
    &[(key(KeyCode::Up), Action::Scroll(-1)), (key(KeyCode::Down), Action::Scroll(1)),
        (key(KeyCode::PageUp), Action::Scroll(-10)), (key(KeyCode::PageDown), Action::Scroll(10))],
        "↑, ↓, PgUp, PgDn", Some(("↑↓", "scroll", 0)),
        "Scroll.";

    in Context::CommandLine;
    &[(key(KeyCode::Esc), Action::Dismiss), (key(KeyCode::Enter), Action::Dismiss), (on('q'), Action::Dismiss),
        (on('Y'), Action::Dismiss)], "Esc, Enter, q, Y", Some(("Esc", "close", 0)),
        "Close it.";

    in Context::Anywhere;
    &[(Pattern::Ctrl('c'), Action::Quit)], "Ctrl-C", None,
        "Quit.";
    &[(Pattern::Ctrl('z'), Action::Suspend)], "Ctrl-Z", None,
        "Suspend; fg brings the screen back. The measurement stops with the process.";
};
