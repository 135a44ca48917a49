//! The actions that keys have on the screen, and where each key works.

use std::fmt;

use super::Screen;
use crate::{
    app::{
        Direction::{self, Down, Up},
        Picture,
    },
    server::KeyMethod,
};

macro_rules! actions {
    (
        alone { $($action:ident $title:literal,)* }
        with { $(#[doc = $what:literal] $acts_on:ident($value:ident: $of:ty) $titled:expr,)* }
    ) => {
        /// What a key press does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Action {
            $(#[doc = $title] $action,)*
            $(#[doc = $what] $acts_on($of),)*
        }

        impl Action {
            /// Returns the action's title in the palette.
            pub fn title(self) -> String {
                match self {
                    $(Self::$action => $title.into(),)*
                    $(Self::$acts_on($value) => $titled.into(),)*
                }
            }
        }
    };
}

actions! {
    alone {
        Quit "quit",
        Suspend "suspend",
        Help "help",
        Maximise "show the next part alone",
        Minimise "show all parts",
        TurnStretch "show the distributions of another period",
        ReverseOrder "reverse the order of the rows",
        PinBaseline "pin the segment as baseline, or unpin it",
        GoToRow "go to the moment of the selected row",
        BeginSearch "search the log",
        Freeze "freeze",
        Live "live",
        ZoomIn "zoom in",
        ZoomOut "zoom out",
        TurnTimed "response or service time in the chart",
        TurnSpread "linear or logarithmic axis of the throughput",
        Play "play or pause",
        Faster "play faster",
        Slower "play slower",
        ToggleLoad "load on or off",
        BeginEntry "type a value",
        TypeParameter "type a value for the parameter",
        Undo "undo",
        EndExperiment "stop the experiment, or close its result",
        Palette "commands",
        Presets "presets",
        Mark "mark this moment",
        Record "record, start or stop",
        Export "export figures",
        Report "make the report",
        CopySummary "copy the summary",
        CopyCommandLine "copy the command line of this segment",
        Keys "largest and hottest keys; keys by prefix",
        StopKeys "stop sampling the keys",
        Entries "list slow commands and clients",
        WatchLatency "turn the latency monitor of the server on",
        FoldFinding "hide the finding in the status line, or show it again",
        Intrinsic "intrinsic latency",
        GentleIntrinsic "intrinsic latency, all the time",
        Insert "type",
        Erase "erase",
        Delete "delete",
        Accept "accept",
        Yes "yes",
        Dismiss "close",
        CloseHelp "close the help",
    }
    with {
        /// Show a screen.
        Show(screen: Screen) format!("screen {}", screen.name()),
        /// Show the next or previous screen.
        TurnScreen(to: Direction) either(to, "screen, next", "screen, previous"),
        /// Sort the table of the segments or the nodes by the next column to the left or right.
        SortBy(to: Direction) either(to, "sort by the column to the right", "sort by the column to the left"),
        /// Draw the curve over the next or previous knob.
        TurnDimension(to: Direction) either(to, "draw the curve over the next knob", "draw the curve over the previous knob"),
        /// Move the selection of a list by this many rows.
        SelectRow(rows: i16) match rows {
            i16::MIN => "select the first row".to_owned(),
            i16::MAX => "select the last row".to_owned(),
            _ => format!("select {}", by(rows.into(), "up", "down")),
        },
        /// Switch the log to the next or previous filter.
        TurnFilter(to: Direction) either(to, "log, next kind", "log, previous kind"),
        /// Go to the next or previous match of the search in the log.
        FindNext(to: Direction) either(to, "log, previous hit", "log, next hit"),
        /// Move the cursor by this many columns.
        Scrub(columns: i32) format!("cursor {}", by(columns, "back", "on")),
        /// Move the cursor to a special moment, such as the next event.
        Jump(to: JumpTarget) format!("jump to the {}", match to {
            JumpTarget::Worst => "worst moment",
            JumpTarget::NextEvent => "next event",
            JumpTarget::PreviousEvent => "previous event",
            JumpTarget::NextSegment => "next segment",
            JumpTarget::PreviousSegment => "previous segment",
            JumpTarget::Start => "start",
            JumpTarget::End => "end",
        }),
        /// Select the next or previous knob.
        Select(to: Direction) either(to, "knob, previous", "knob, next"),
        /// Change the selected knob by a step.
        Turn(to: Direction) either(to, "turn the knob up", "turn the knob down"),
        /// Select the next or previous parameter of the server.
        SelectParameter(to: Direction) either(to, "parameter, previous", "parameter, next"),
        /// Change the selected parameter by a step. redyno asks first.
        TurnParameter(to: Direction) either(to, "set the parameter a step up", "set the parameter a step down"),
        /// Sample the server's keys in this way.
        LookAtKeys(way: KeyMethod) match way {
            KeyMethod::Scan => "sample keys",
            KeyMethod::Monitor => "sample commands by MONITOR",
            KeyMethod::HotKeys => "count hot keys by HOTKEYS",
        },
        /// Save a picture of the screen.
        Save(form: Picture) match form {
            Picture::Svg => "save the screen as SVG",
            Picture::Text => "save the screen as text",
        },
        /// Move the caret by this many characters.
        MoveCaret(_by: i16) "move the caret",
        /// Scroll the list of operations by this many rows, down if positive.
        ScrollOperations(rows: i16) format!("operations {}", by(rows.into(), "up", "down")),
        /// Scroll the help, or move the palette's selection, down by this many lines; up if negative.
        Scroll(lines: i16) format!("scroll {}", by(lines.into(), "up", "down")),
    }
}

impl Action {
    /// Returns whether the action moves a selection or a cursor. Actions that move a selection or a cursor are not
    /// listed first in the palette.
    pub fn moves(self) -> bool {
        matches!(
            self,
            redyno_engine::any_of!(Self SelectRow Select SelectParameter Scroll ScrollOperations Scrub
                MoveCaret)
        )
    }
}

fn either(to: Direction, up: &'static str, down: &'static str) -> &'static str {
    match to {
        Up => up,
        Down => down,
    }
}

/// Returns a text such as `up by 10`.
fn by(steps: i32, back: &str, on: &str) -> String {
    format!("{} by {}", if steps < 0 { back } else { on }, steps.unsigned_abs())
}

/// The destination of a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JumpTarget {
    /// The longest service time of the session or, without load, the longest PING.
    Worst,
    /// The next event or mark.
    NextEvent,
    /// The previous event or mark.
    PreviousEvent,
    /// The beginning of the next segment.
    NextSegment,
    /// The beginning of the previous segment.
    PreviousSegment,
    /// The beginning of the session.
    Start,
    /// The latest moment of the session.
    End,
}

/// Where a key has its action: on which screen, or in which situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Everywhere.
    Anywhere,
    /// On a screen, while no overlay is open.
    Main,
    /// In a frozen view, and in a recording.
    Time,
    /// While the view of a live session is frozen.
    Frozen,
    /// In a recording.
    Replay,
    /// While one part of a screen is shown alone.
    Maximised,
    /// While an experiment runs.
    Experiment,
    /// While the result of an experiment is shown.
    Answer,
    /// On one screen only.
    Screen(Screen),
    /// While a search in the log is typed.
    Search,
    /// While the user types a text.
    Typing,
    /// While the palette is open.
    Palette,
    /// While the help is open.
    Help,
    /// In the view of the server's keys.
    Keys,
    /// While a command line, an entry of the slow log or a client is shown.
    CommandLine,
    /// While a question waits for yes or no.
    Question,
}

impl Context {
    /// Returns all contexts, in the order in which the help lists them.
    pub fn all() -> impl Iterator<Item = Self> {
        const BEHIND: [Context; 13] = [
            Context::Experiment,
            Context::Answer,
            Context::Search,
            Context::Frozen,
            Context::Replay,
            Context::Time,
            Context::Typing,
            Context::Palette,
            Context::Question,
            Context::Help,
            Context::CommandLine,
            Context::Keys,
            Context::Anywhere,
        ];
        let screens = Screen::ALL.into_iter().filter(|screen| !screen.keys().is_empty());
        [Self::Main, Self::Maximised].into_iter().chain(screens.map(Self::Screen)).chain(BEHIND)
    }

    /// Returns the context's heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Main => "On every screen",
            Self::Maximised => "One part maximised",
            Self::Screen(screen) => screen.name(),
            Self::Experiment => "While an experiment runs",
            Self::Answer => "While an experiment's result is shown",
            Self::Search => "While typing a search",
            Self::Time => "Frozen or replayed",
            Self::Frozen => "While frozen",
            Self::Replay => "In a recording",
            Self::Typing => "While typing",
            Self::Palette => "In the command palette",
            Self::Help => "In this help",
            Self::CommandLine => "While a command line, slow command or client is shown",
            Self::Keys => "In the view of the keys",
            Self::Question => "At a question",
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.title())
    }
}
