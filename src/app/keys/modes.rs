//! The keys that do not belong to one screen. Some of them work only in a frozen view, in input lines or in
//! overlays. Others work everywhere, or on all screens while no overlay is open.

use super::{Action, Binding, Context, JumpTarget, KeyCode, KeyPattern, Screen, ZOOM, key, on};
use crate::{
    app::{
        Direction::{Down, Up},
        Picture,
    },
    server::KeyMethod,
};

/// The bindings of frozen views, input lines, overlays and experiments, and the bindings that apply
/// everywhere.
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
        "Move the cursor by a column. Figures and tables show the moment at the cursor.";
    &[(key(KeyCode::PageUp), Action::Scrub(-10)), (key(KeyCode::PageDown), Action::Scrub(10))],
        "PgUp, PgDn", Some(("PgUp PgDn", "by 10", 6)),
        "Move the cursor by ten columns.";
    &[(key(KeyCode::Home), Action::Jump(JumpTarget::Start)), (key(KeyCode::End), Action::Jump(JumpTarget::End))],
        "Home, End", None,
        "Move the cursor to the start or the latest moment of the session.";
    ZOOM, "+, -", Some(("+-", "zoom", 4)),
        "Show a shorter or longer period around the cursor.";
    &[(on('w'), Action::Jump(JumpTarget::Worst))], "w", Some(("w", "worst", 4)),
        "Jump to the worst moment.";
    &[(on('n'), Action::Jump(JumpTarget::NextEvent)), (on('N'), Action::Jump(JumpTarget::PreviousEvent))],
        "n, N", Some(("n", "event", 5)),
        "Jump to the next event or mark, or to the previous one.";
    &[(on('s'), Action::Jump(JumpTarget::NextSegment)), (on('S'), Action::Jump(JumpTarget::PreviousSegment))],
        "s, S", Some(("s", "segment", 5)),
        "Jump to the next segment, or to the previous one.";

    in Context::Experiment;
    &[(on('c'), Action::EndExperiment)], "c", Some(("c", "cancel", 1)),
        "Stop the experiment and restore the knobs. Changing a knob also stops the experiment.";

    in Context::Answer;
    &[(on('c'), Action::EndExperiment), (key(KeyCode::Esc), Action::EndExperiment)],
        "c, Esc", Some(("c", "close result", 3)),
        "Close the experiment's result.";

    in Context::Search;
    &[(key(KeyCode::Enter), Action::Accept)], "Enter", Some(("Enter", "find", 0)),
        "Go to the first match from the selected line on. An empty text ends the search.";

    in Context::Typing;
    &[(KeyPattern::Character, Action::Insert)], "any character", None,
        "Type the character. Pasted text is typed as well, and never triggers other keys.";
    &[(key(KeyCode::Enter), Action::Accept)], "Enter", Some(("Enter", "apply", 0)),
        "Set the value or the mark, or run the selected command. If this fails, a message shows why.";
    &[(key(KeyCode::Esc), Action::Dismiss)], "Esc", Some(("Esc", "cancel", 0)),
        "Cancel.";
    &[(key(KeyCode::Left), Action::MoveCaret(-1)), (key(KeyCode::Right), Action::MoveCaret(1)),
        (key(KeyCode::Home), Action::MoveCaret(i16::MIN)), (key(KeyCode::End), Action::MoveCaret(i16::MAX))],
        "←, →, Home, End", None,
        "Move in the text.";
    &[(key(KeyCode::Backspace), Action::Erase), (key(KeyCode::Delete), Action::Delete)],
        "Backspace, Del", None,
        "Delete the character before or after the caret.";

    in Context::Palette;
    &[(key(KeyCode::Up), Action::Scroll(-1)), (key(KeyCode::Down), Action::Scroll(1)),
        (key(KeyCode::BackTab), Action::Scroll(-1)), (key(KeyCode::Tab), Action::Scroll(1)),
        (key(KeyCode::PageUp), Action::Scroll(-10)), (key(KeyCode::PageDown), Action::Scroll(10))],
        "↑, ↓, Tab, PgUp, PgDn", Some(("↑↓", "choose", 0)),
        "Select another command.";

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
        "Esc, Enter or F1; also ? or q while nothing is typed", Some(("Esc, Enter", "close", 0)),
        "Close the help. To search the help, type a key, a sign, a lane (a small chart) or a word.";
    &[(key(KeyCode::Up), Action::Scroll(-1)), (key(KeyCode::Down), Action::Scroll(1)),
        (key(KeyCode::PageUp), Action::Scroll(-10)), (key(KeyCode::PageDown), Action::Scroll(10))],
        "↑, ↓, PgUp, PgDn", Some(("↑↓", "scroll", 0)),
        "Scroll.";

    in Context::CommandLine;
    &[(key(KeyCode::Esc), Action::Dismiss), (key(KeyCode::Enter), Action::Dismiss), (on('q'), Action::Dismiss),
        (on('Y'), Action::Dismiss)], "Esc, Enter, q, Y", Some(("Esc", "close", 0)),
        "Close the command line, the entry of the slow log, or the client.";

    in Context::Keys;
    &[(key(KeyCode::Enter), Action::LookAtKeys(KeyMethod::Scan))], "Enter", Some(("Enter", "sample", 0)),
        "Sample the keys with SCAN, MEMORY USAGE and PTTL, and with OBJECT FREQ if the eviction policy is LFU. This uses \
         at most 2 % of the server's main thread.";
    &[(on('m'), Action::LookAtKeys(KeyMethod::Monitor))], "m", Some(("m", "MONITOR", 0)),
        "Sample the commands of one second with MONITOR. redyno asks first, and refuses above 20 000 commands/s.";
    &[(on('h'), Action::LookAtKeys(KeyMethod::HotKeys))], "h", Some(("h", "HOTKEYS", 0)),
        "For 5 s, let the server measure its time for each key (HOTKEYS). Needs Redis 8.6 or later.";
    &[(on('x'), Action::StopKeys)], "x", Some(("x", "stop", 0)),
        "Stop sampling. The results so far remain.";
    &[(key(KeyCode::Esc), Action::Dismiss), (on('d'), Action::Dismiss), (on('q'), Action::Dismiss)],
        "Esc, d, q", Some(("Esc", "close", 0)),
        "Stop sampling, and close the view. Press d to see the results again.";

    in Context::Anywhere;
    &[(KeyPattern::Ctrl('c'), Action::Quit)], "Ctrl-C", None,
        "Quit.";
    &[(KeyPattern::Ctrl('z'), Action::Suspend)], "Ctrl-Z", None,
        "Suspend the process and with it the measurement; fg continues both.";
};

/// The main keys: screens, load, knobs, time, the intrinsic probe.
pub(super) const STEER: &[Binding] = key_table! {
    in Context::Main;
    &[(on('q'), Action::Quit)], "q", Some(("q", "quit", 0)),
        "Quit. The keys that the load wrote are removed, and a summary stays in the scrollback.";
    &[(on('?'), Action::Help), (key(KeyCode::F1), Action::Help)], "?, F1", Some(("?", "help", 0)),
        "Open this help.";
    SHOW, "its number", None,
        "Show a screen. The bottom line lists all screens.";
    &[(key(KeyCode::Tab), Action::TurnScreen(Up)),
        (key(KeyCode::BackTab), Action::TurnScreen(Down))], "Tab", None,
        "Show the next screen. Shift-Tab shows the previous screen.";
    &[(on('z'), Action::Maximise)], "z", Some(("z", "maximise", 9)),
        "Show one part of the screen alone: on the Overview a chart or the panel, on Latency the curve, the \
         table or the distribution. Press z again for the next part, and after the last part for the whole screen.";
    &[(on('l'), Action::ToggleLoad)], "l", Some(("l", "load", 1)),
        "Turn the load on or off.";
    &[(key(KeyCode::Up), Action::Select(Up)), (key(KeyCode::Down), Action::Select(Down)),
        (on('k'), Action::Select(Up)), (on('j'), Action::Select(Down))],
        "↑, ↓, k, j", Some(("↑↓", "knob", 2)),
        "Select a knob.";
    &[(key(KeyCode::Left), Action::Turn(Down)), (key(KeyCode::Right), Action::Turn(Up))],
        "←, →", Some(("←→", "turn", 2)),
        "Change the selected knob by a step. The load changes at once and a new segment begins.";
    &[(key(KeyCode::Enter), Action::BeginEntry)], "Enter", Some(("Enter", "type", 4)),
        "Type a value for the selected knob: 250, 20k, 1.5M; for a rate also max (closed loop); for a distribution zipfian 1.1.";
    &[(on('u'), Action::Undo)], "u", Some(("u", "undo", 5)),
        "Undo the last change of a knob or of a server parameter.";
    &[(on(' '), Action::Freeze)], "Space", Some(("Space", "freeze", 3)),
        "Freeze the view, to read it and to go back in time. The measurement continues.";
    ZOOM, "+, -", Some(("+-", "zoom", 8)),
        "Show a shorter or longer period, from 10 s to the whole session.";
    &[(on('w'), Action::Jump(JumpTarget::Worst))], "w", Some(("w", "worst", 9)),
        "Jump to the longest service time of the session (without load, the longest ping) and freeze there.";
    &[(on('a'), Action::FoldFinding)], "a", Some(("a", "fold finding", 9)),
        "Acknowledge the finding in the status line. Then only the header names it, and the status line shows the next \
         finding or the load. The finding is shown again if it ends and returns. After the last finding, press a to \
         show all again.";
    &[(on('d'), Action::Keys)], "d", Some(("d", "keys", 9)),
        "Look at the server's keys: number, memory and missing TTLs by prefix, the largest keys and the hottest keys. \
         redyno sends no request for this before you press another key.";
    &[(on('o'), Action::Entries)], "o", Some(("o", "slow log, clients", 9)),
        "List the entries of the slow log and the clients. Select one with the arrow keys, or type a part of its text. \
         Enter shows an entry with all arguments that the server kept, or a client with its library, age and buffers.";
    &[(on('T'), Action::WatchLatency)], "T", None,
        "Turn the server's latency monitor on (latency-monitor-threshold 10). redyno asks first. The old value is restored \
         at the end of the session.";
    &[(on('i'), Action::Intrinsic)], "i", Some(("i", "intrinsic", 6)),
        "Measure the intrinsic latency of this machine: a busy loop that uses a whole core for the time that \
         you enter. Press i again to stop the loop.";
    &[(on('I'), Action::GentleIntrinsic)], "I", Some(("I", "gentle", 9)),
        "Measure the intrinsic latency all the time, with a loop that is busy only a tenth of the time. Press I again to \
         stop it.";
};

/// Keys to find commands, and to keep results: marks, recordings, exports, pictures.
pub(super) const KEEP: &[Binding] = key_table! {
    in Context::Main;
    &[(on(':'), Action::Palette), (KeyPattern::Ctrl('p'), Action::Palette)],
        ":, Ctrl-P", Some((":", "commands", 5)),
        "Find a command by a few letters of its name, or set a knob by name: clients 200, rate 5k, backlog \
         shed, weight GET 5, distribution latest 1.2, workload get, config maxmemory 1gb. Or start an experiment: \
         find p99<1ms, sweep clients 1..1000, ab pipeline 16.";
    &[(on('p'), Action::Presets)], "p", Some(("p", "preset", 9)),
        "Choose a preset, which sets all knobs, or a workload, which sets the operations and their weights. \
         u undoes the choice.";
    &[(on('m'), Action::Mark)], "m", Some(("m", "mark", 7)),
        "Add a mark: a note on the time axis, at the moment of the key press.";
    &[(on('r'), Action::Record)], "r", Some(("r", "record", 7)),
        "Record everything from now on to a new file, and show its path (`redyno sessions` lists recordings). \
         Press r again to stop.";
    &[(on('x'), Action::Export)], "x", Some(("x", "export", 7)),
        "Export the figures of the segment shown, or of the session, to a new file in this directory. Choose a format; \
         to name the file yourself, add 'to NAME'. The path is copied (OSC 52).";
    &[(on('X'), Action::Report)], "X", Some(("X", "report", 9)),
        "Make a report of the session so far: one page with charts for any browser, in a new file in this directory. \
         The path is copied (OSC 52).";
    &[(on('e'), Action::Save(Picture::Svg)), (on('E'), Action::Save(Picture::Text))],
        "e, E", Some(("e", "picture", 9)),
        "Save a picture of the screen to a new file in this directory, as SVG or text.";
    &[(on('y'), Action::CopySummary)], "y", None,
        "Copy the summary of the session to the clipboard, if the terminal allows it (OSC 52).";
    &[(on('Y'), Action::CopyCommandLine)], "Y", None,
        "Show and copy the command line that would run this segment again. A password is never included.";
};

/// The keys that show the screens.
const SHOW: &[(KeyPattern, Action)] = &{
    let mut keys = [(on(' '), Action::Help); Screen::ALL.len()];
    let mut n = 0;
    while n < keys.len() {
        keys[n] = (on(Screen::ALL[n].key()), Action::Show(Screen::ALL[n]));
        n += 1;
    }
    keys
};

/// The keys while one pane of a screen is shown alone.
pub(super) const ALONE: &[Binding] = key_table! {
    in Context::Maximised;
    &[(on('z'), Action::Maximise)], "z", Some(("z", "next part", 1)),
        "Show the next part alone, and after the last part the whole screen.";
    &[(key(KeyCode::Esc), Action::Minimise)], "Esc", Some(("Esc", "all parts", 1)),
        "Show the whole screen again.";
};
