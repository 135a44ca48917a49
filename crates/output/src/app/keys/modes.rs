//! The keys that do not belong to one screen. Some of these keys work only in a frozen view, in input lines or in
//! overlays. Other keys work everywhere, or on all screens while no overlay is open.

use super::{Action, Binding, Context, JumpTarget, KeyCode, KeyPattern, Screen, ZOOM, does, key, on};
use crate::{
    app::{
        Direction::{Down, Up},
        Effect, Model, Picture, Purpose, TextEntry,
        question::{agree, dismiss},
    },
    server::KeyMethod,
};

/// The bindings of frozen views, input lines, overlays and experiments, and the bindings that apply
/// everywhere.
pub(super) const KEYS: &[Binding] = key_table! {
    in Context::Frozen;
    &[does(&[on(' '), key(KeyCode::Esc)], "live", Model::go_live)], "Space, Esc", Some(("Space", "live", 1)),
        "Back to the latest moment.";

    in Context::Replay;
    &[does(&[on(' '), on('p')], "play or pause", Model::toggle_play)], "Space, p", Some(("Space", "play", 1)),
        "Play from the cursor, or pause. At the end: play from the start.";
    &[does(&[on('<')], "play slower", |model| model.change_speed(false)),
        does(&[on('>')], "play faster", |model| model.change_speed(true))], "<, >", Some(("<>", "speed", 3)),
        "Play slower or faster, from 0.25 to 64 times the original speed.";

    in Context::Time;
    &[does(&[key(KeyCode::Left)], "cursor back by 1", |model| model.move_cursor(-1)),
        does(&[key(KeyCode::Right)], "cursor on by 1", |model| model.move_cursor(1))],
        "←, →", Some(("←→", "move", 2)),
        "Move the cursor by one column. Figures and tables show the moment at the cursor.";
    &[does(&[key(KeyCode::PageUp)], "cursor back by 10", |model| model.move_cursor(-10)),
        does(&[key(KeyCode::PageDown)], "cursor on by 10", |model| model.move_cursor(10))],
        "PgUp, PgDn", Some(("PgUp PgDn", "by 10", 6)),
        "Move the cursor by ten columns.";
    &[does(&[key(KeyCode::Home)], "jump to the start", |model| model.jump_to(JumpTarget::Start)),
        does(&[key(KeyCode::End)], "jump to the end", |model| model.jump_to(JumpTarget::End))],
        "Home, End", None,
        "Move the cursor to the start or the latest moment of the session.";
    ZOOM, "+, -", Some(("+-", "zoom", 4)),
        "Show a shorter or longer period around the cursor.";
    &[does(&[on('w')], "jump to the worst moment", |model| model.jump_to(JumpTarget::Worst))],
        "w", Some(("w", "worst", 4)),
        "Jump to the worst moment.";
    &[does(&[on('n')], "jump to the next event", |model| model.jump_to(JumpTarget::NextEvent)),
        does(&[on('N')], "jump to the previous event", |model| model.jump_to(JumpTarget::PreviousEvent))],
        "n, N", Some(("n", "event", 5)),
        "Jump to the next event or mark, or to the previous one.";
    &[does(&[on('s')], "jump to the next segment", |model| model.jump_to(JumpTarget::NextSegment)),
        does(&[on('S')], "jump to the previous segment", |model| model.jump_to(JumpTarget::PreviousSegment))],
        "s, S", Some(("s", "segment", 5)),
        "Jump to the next segment, or to the previous one.";

    in Context::Experiment;
    &[does(&[on('c')], "stop the experiment, or close its result", Model::stop_experiment)],
        "c", Some(("c", "cancel", 1)),
        "Stop the experiment and restore the knobs. Changing a knob also stops the experiment.";

    in Context::Answer;
    &[does(&[on('c'), key(KeyCode::Esc)], "stop the experiment, or close its result", Model::stop_experiment)],
        "c, Esc", Some(("c", "close result", 3)),
        "Close the experiment's result.";

    in Context::Search;
    &[does(&[key(KeyCode::Enter)], "accept", Model::accept)], "Enter", Some(("Enter", "find", 0)),
        "Go to the first match at or after the selected line. An empty text ends the search.";

    in Context::Typing;
    &[does(&[KeyPattern::Character], "type", |_| {})], "any character", None,
        "Type the character. Pasted text is inserted, and never works as a shortcut.";
    &[does(&[key(KeyCode::Enter)], "accept", Model::accept)], "Enter", Some(("Enter", "apply", 0)),
        "Set the value, add the mark, or run the selected command. If redyno cannot do this, a message shows the reason.";
    &[does(&[key(KeyCode::Esc)], "close", dismiss)], "Esc", Some(("Esc", "cancel", 0)),
        "Cancel.";
    &[does(&[key(KeyCode::Left)], "move the caret left by 1", |model| model.edit(|entry| entry.move_caret(-1))),
        does(&[key(KeyCode::Right)], "move the caret right by 1", |model| model.edit(|entry| entry.move_caret(1))),
        does(&[key(KeyCode::Home)], "move the caret to the start", |model| model.edit(|entry| entry.move_caret(i16::MIN))),
        does(&[key(KeyCode::End)], "move the caret to the end", |model| model.edit(|entry| entry.move_caret(i16::MAX)))],
        "←, →, Home, End", None,
        "Move in the text.";
    &[does(&[key(KeyCode::Backspace)], "erase", |model| model.edit(TextEntry::erase)),
        does(&[key(KeyCode::Delete)], "delete", |model| model.edit(TextEntry::delete))],
        "Backspace, Del", None,
        "Delete the character before or after the caret.";

    in Context::Palette;
    &[does(&[key(KeyCode::Up), key(KeyCode::BackTab)], "scroll up by 1", |model| model.scroll(-1)),
        does(&[key(KeyCode::Down), key(KeyCode::Tab)], "scroll down by 1", |model| model.scroll(1)),
        does(&[key(KeyCode::PageUp)], "scroll up by 10", |model| model.scroll(-10)),
        does(&[key(KeyCode::PageDown)], "scroll down by 10", |model| model.scroll(10))],
        "↑, ↓, Tab, PgUp, PgDn", Some(("↑↓", "choose", 0)),
        "Select another command.";

    in Context::Question;
    &[does(&[on('y'), on('Y')], "yes", agree)], "y", Some(("y", "yes", 0)),
        "Yes.";
    &[does(&[on('n'), on('N'), key(KeyCode::Enter), key(KeyCode::Esc), on('q')], "close", dismiss)],
        "n, Enter, Esc, q", Some(("n, Enter", "no", 0)),
        "No.";

    in Context::Help;
    &[does(&[key(KeyCode::Esc), key(KeyCode::Enter), key(KeyCode::F(1)), on('?'), on('q')], "close", dismiss)],
        "Esc, Enter or F1; also ? or q while the search is empty", Some(("Esc, Enter", "close", 0)),
        "Close the help. To search the help, type a key, a sign or a word.";
    &[does(&[key(KeyCode::Up)], "scroll up by 1", |model| model.scroll(-1)),
        does(&[key(KeyCode::Down)], "scroll down by 1", |model| model.scroll(1)),
        does(&[key(KeyCode::PageUp)], "scroll up by 10", |model| model.scroll(-10)),
        does(&[key(KeyCode::PageDown)], "scroll down by 10", |model| model.scroll(10))],
        "↑, ↓, PgUp, PgDn", Some(("↑↓", "scroll", 0)),
        "Scroll.";

    in Context::CommandLine;
    &[does(&[key(KeyCode::Esc), key(KeyCode::Enter), on('q'), on('Y')], "close", dismiss)],
        "Esc, Enter, q, Y", Some(("Esc", "close", 0)),
        "Close the view of the command line, slow command or client.";

    in Context::Keys;
    &[does(&[key(KeyCode::Enter)], "sample keys", |model| model.sample_keys(KeyMethod::Scan))],
        "Enter", Some(("Enter", "sample", 0)),
        "Sample the keys with SCAN, MEMORY USAGE and PTTL, and with OBJECT FREQ if the eviction policy is LFU. This uses at most 2 % of the main thread's time.";
    &[does(&[on('m')], "sample commands by MONITOR", |model| model.sample_keys(KeyMethod::Monitor))],
        "m", Some(("m", "MONITOR", 0)),
        "Sample the commands of one second with MONITOR. redyno asks first. Above 20 000 commands/s, redyno does not run MONITOR.";
    &[does(&[on('h')], "count hot keys by HOTKEYS", |model| model.sample_keys(KeyMethod::HotKeys))],
        "h", Some(("h", "HOTKEYS", 0)),
        "Let the server measure its time for each key for 5 s, with HOTKEYS. This command needs Redis 8.6 or later.";
    &[does(&[on('x')], "stop sampling the keys", Model::stop_sampling)], "x", Some(("x", "stop", 0)),
        "Stop sampling. The results so far remain.";
    &[does(&[key(KeyCode::Esc), on('d'), on('q')], "close", dismiss)],
        "Esc, d, q", Some(("Esc", "close", 0)),
        "Stop sampling, and close the view. Press d to see the results again.";

    in Context::Anywhere;
    &[does(&[KeyPattern::Ctrl('c')], "quit", |model| model.request(Effect::Quit))], "Ctrl-C", None,
        "Quit.";
    &[does(&[KeyPattern::Ctrl('z')], "suspend", |model| model.request(Effect::Suspend))], "Ctrl-Z", None,
        "Suspend redyno and its measurement. The shell's command fg continues the measurement.";
};

/// The main keys: screens, load, knobs, time, the intrinsic probe.
pub(super) const STEER: &[Binding] = key_table! {
    in Context::Main;
    &[does(&[on('q')], "quit", |model| model.request(Effect::Quit))], "q", Some(("q", "quit", 0)),
        "Quit. redyno removes the keys that the load wrote. A summary stays in the scrollback.";
    &[does(&[on('?'), key(KeyCode::F(1))], "help", Model::open_help)], "?, F1", Some(("?", "help", 0)),
        "Open this help.";
    SHOW, "its number", None,
        "Show a screen. The bottom line lists all screens.";
    &[does(&[key(KeyCode::Tab)], "screen, next", |model| model.turn_screen(Up)),
        does(&[key(KeyCode::BackTab)], "screen, previous", |model| model.turn_screen(Down))], "Tab", None,
        "Show the next screen. Shift-Tab shows the previous screen.";
    &[does(&[on('z')], "show the next part alone", Model::maximise)], "z", Some(("z", "maximise", 9)),
        "Show one part of the screen alone: a chart or the panel of the Overview; the curve, the table or the \
         distribution of Latency. Press z again for the next part. After the last part, z shows the whole screen.";
    &[does(&[on('l')], "load on or off", Model::toggle_load)], "l", Some(("l", "load", 1)),
        "Turn the load on or off.";
    &[does(&[key(KeyCode::Up), on('k')], "select the previous knob", |model| model.panel.select(Up)),
        does(&[key(KeyCode::Down), on('j')], "select the next knob", |model| model.panel.select(Down))],
        "↑, ↓, k, j", Some(("↑↓", "knob", 2)),
        "Select a knob.";
    &[does(&[key(KeyCode::Left)], "turn the knob down", |model| model.turn_knob(Down)),
        does(&[key(KeyCode::Right)], "turn the knob up", |model| model.turn_knob(Up))],
        "←, →", Some(("←→", "turn", 2)),
        "Change the selected knob by one step. The load changes at once, and a new segment begins.";
    &[does(&[key(KeyCode::Enter)], "type a value", |model| model.begin_typing(Purpose::Knob, TextEntry::quantity("")))],
        "Enter", Some(("Enter", "type", 4)),
        "Type a value for the selected knob: 250, 20k, 1.5M. A rate can also be max (closed loop). A distribution is for example zipfian 1.1.";
    &[does(&[on('u')], "undo", Model::undo)], "u", Some(("u", "undo", 5)),
        "Undo the last change of a knob or of a server parameter.";
    &[does(&[on(' ')], "freeze", Model::freeze)], "Space", Some(("Space", "freeze", 3)),
        "Freeze the view, so that you can read it and go back in time. The measurement continues.";
    ZOOM, "+, -", Some(("+-", "zoom", 8)),
        "Show a shorter or longer period, from 10 s to the whole session.";
    &[does(&[on('w')], "jump to the worst moment", |model| model.jump_to(JumpTarget::Worst))],
        "w", Some(("w", "worst", 9)),
        "Freeze the view at the longest service time of the session. Without a load, redyno uses the longest ping.";
    &[does(&[on('a')], "hide the finding in the status line, or show it again", Model::fold_finding)],
        "a", Some(("a", "fold finding", 9)),
        "Hide the finding in the status line; the header still names this finding. The status line then shows the next \
         finding or the load. A finding that ends and returns is shown again. After the last finding, press a to show \
         all findings again.";
    &[does(&[on('d')], "largest and hottest keys; keys by prefix", Model::open_keys)],
        "d", Some(("d", "keys", 9)),
        "Open the view of the server's keys: their number, memory and missing TTLs by prefix, and the largest and hottest \
         keys. redyno sends no request for this view until you press another key.";
    &[does(&[on('o')], "list slow commands and clients", Model::list_entries)],
        "o", Some(("o", "slow log, clients", 9)),
        "List the slow commands and the clients. Select a line with the arrow keys, or type a part of the line. Enter \
         shows all arguments of a slow command that the server kept, or the library, age and buffers of a client.";
    &[does(&[on('T')], "turn the latency monitor of the server on", |model| model.ask_to_set(model.latency_monitor()))],
        "T", None,
        "Turn the server's latency monitor on (latency-monitor-threshold 10). redyno asks first, and restores the old value \
         at the end of the session.";
    &[does(&[on('i')], "intrinsic latency", Model::toggle_intrinsic)], "i", Some(("i", "intrinsic", 6)),
        "Measure the intrinsic latency of this machine with a busy loop. The loop uses a whole core for the time that \
         you enter. Press i again to stop the loop.";
    &[does(&[on('I')], "intrinsic latency, all the time", Model::toggle_gentle_intrinsic)],
        "I", Some(("I", "gentle", 9)),
        "Measure the intrinsic latency all the time, with a loop that is busy only a tenth of the time. Press I again to \
         stop the loop.";
};

/// Keys to find commands, and to keep results: marks, recordings, exports, pictures.
pub(super) const KEEP: &[Binding] = key_table! {
    in Context::Main;
    &[does(&[on(':'), KeyPattern::Ctrl('p')], "commands", |model| model.open_palette(""))],
        ":, Ctrl-P", Some((":", "commands", 5)),
        "Find a command by a few letters of its name, or set a knob by name: clients 200, rate 5k, backlog \
         shed, weight GET 5, distribution latest 1.2, workload get, config maxmemory 1gb. Or start an experiment: \
         find p99<1ms, sweep clients 1..1000, ab pipeline 16.";
    &[does(&[on('p')], "presets", |model| model.open_palette("preset "))], "p", Some(("p", "preset", 9)),
        "Choose a preset, which sets all knobs, or a workload, which sets the operations and their weights. \
         u undoes the choice.";
    &[does(&[on('m')], "mark this moment", Model::begin_mark)], "m", Some(("m", "mark", 7)),
        "Add a note (a mark) to the time axis, at the moment of the key press.";
    &[does(&[on('r')], "record, start or stop", Model::toggle_recording)], "r", Some(("r", "record", 7)),
        "Record everything from now on to a new file, and show the path of the file. Press r again to stop. `redyno \
         sessions` lists all recordings.";
    &[does(&[on('x')], "export figures", |model| model.open_palette("export "))],
        "x", Some(("x", "export", 7)),
        "Export the figures of the shown segment, or of the session, to a new file in this directory. Choose a format. \
         To name the file yourself, add 'to NAME'. redyno copies the path (OSC 52).";
    &[does(&[on('X')], "make the report", Model::report)], "X", Some(("X", "report", 9)),
        "Write a report of the session so far to a new file in this directory. The report is one page with charts, for any \
         browser. redyno copies the path (OSC 52).";
    &[does(&[on('e')], "save the screen as SVG", |model| model.request(Effect::Save(Picture::Svg))),
        does(&[on('E')], "save the screen as text", |model| model.request(Effect::Save(Picture::Text)))],
        "e, E", Some(("e", "picture", 9)),
        "Save a picture of the screen to a new file in this directory, as SVG or text.";
    &[does(&[on('y')], "copy the summary", Model::copy_summary)], "y", None,
        "Copy the summary of the session to the clipboard, if the terminal allows it (OSC 52).";
    &[does(&[on('Y')], "copy the command line of this segment", Model::copy_command_line)], "Y", None,
        "Show and copy the command line that runs this segment again. The command line never contains a password.";
};

/// The keys that show the screens.
const SHOW: &[Action] = &[
    does(&[on('1')], "screen Overview", |model| model.show(Screen::Overview)),
    does(&[on('2')], "screen Latency", |model| model.show(Screen::Latency)),
    does(&[on('3')], "screen Server", |model| model.show(Screen::Server)),
    does(&[on('4')], "screen Segments", |model| model.show(Screen::Segments)),
    does(&[on('5')], "screen Log", |model| model.show(Screen::Log)),
    does(&[on('6')], "screen Curve", |model| model.show(Screen::Curve)),
    does(&[on('7')], "screen Nodes", |model| model.show(Screen::Nodes)),
];

/// The keys while one pane of a screen is shown alone.
pub(super) const ALONE: &[Binding] = key_table! {
    in Context::Maximised;
    &[does(&[on('z')], "show the next part alone", Model::maximise)], "z", Some(("z", "next part", 1)),
        "Show the next part alone. After the last part, show the whole screen.";
    &[does(&[key(KeyCode::Esc)], "show all parts", |model| model.maximised = None)],
        "Esc", Some(("Esc", "all parts", 1)),
        "Show the whole screen again.";
};
