//! What keys can do, and where they do it.

use std::fmt;

use super::super::{Direction, Landmark, Picture, Screen};

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Stop the process and give the terminal back until `fg`.
    Suspend,
    /// Open the help, or close it.
    Help,
    /// Show a screen.
    Show(Screen),
    /// Show the one so many further.
    TurnScreen(usize),
    /// Show one part of the screen alone, the next, and then all of them again.
    Maximise,
    /// Show all parts again.
    Minimise,
    /// Show the distributions of the next stretch of time.
    TurnStretch,
    /// Sort the segments by the next column to the left or right.
    SortBy(Direction),
    /// Turn their order round.
    ReverseOrder,
    /// Pin the selected segment as baseline, or let it go.
    PinBaseline,
    /// Move the selection of a list by so many rows.
    SelectRow(i16),
    /// Put the cursor to the moment of the selected row.
    GoToRow,
    /// Narrow the log to the next kind.
    TurnFilter(Direction),
    /// Begin to type what is looked for in the log.
    BeginSearch,
    /// Go to the next hit.
    FindNext(Direction),
    /// Freeze the view.
    Freeze,
    /// Let it go: back to the latest moment.
    Live,
    /// Move the cursor by so many columns.
    Scrub(i32),
    /// Move it to something.
    Jump(Landmark),
    /// Show a shorter stretch of time, from closer by.
    ZoomIn,
    /// Show a longer stretch.
    ZoomOut,
    /// Let time run in a recording, or stop it.
    Play,
    /// Let it run twice as fast.
    Faster,
    /// Let it run half as fast.
    Slower,
    /// Turn the load on or off.
    ToggleLoad,
    /// Select the next knob.
    Select(Direction),
    /// Turn the selected knob.
    Turn(Direction),
    /// Begin to type a value.
    BeginEntry,
    /// Select the next parameter of the server.
    SelectParameter(Direction),
    /// Turn the selected parameter, after a question.
    TurnParameter(Direction),
    /// Begin to type a value for it.
    TypeParameter,
    /// Take the last change of a knob back.
    Undo,
    /// Find a command by name.
    Palette,
    /// Choose a preset.
    Presets,
    /// Put a note on the time axis.
    Mark,
    /// Start to record, or stop it.
    Record,
    /// Save a picture of the screen.
    Save(Picture),
    /// Put the summary on the clipboard.
    CopySummary,
    /// Run the intrinsic probe, or stop the run.
    Intrinsic,
    /// Turn the gentle intrinsic probe on or off.
    GentleIntrinsic,
    /// Add the typed character.
    Insert,
    /// Remove the character before the caret.
    Erase,
    /// Remove the one behind it.
    Delete,
    /// Move the caret by so many characters.
    MoveCaret(i16),
    /// Take what was typed.
    Accept,
    /// Answer yes.
    Yes,
    /// Close what lies over the screen, or answer no.
    Dismiss,
    /// Scroll by so many lines, down if positive.
    Scroll(i16),
}

impl Action {
    /// What it is called in the list of commands.
    pub fn title(self) -> String {
        let fixed = match self {
            Self::Show(screen) => return format!("screen {}", screen.name()),
            Self::TurnScreen(1) => "screen, next",
            Self::TurnScreen(_) => "screen, previous",
            Self::Scrub(columns) => {
                let way = if columns < 0 { "back" } else { "on" };
                return format!("cursor {way} by {}", columns.unsigned_abs());
            }
            Self::Scroll(lines) => {
                let way = if lines < 0 { "up" } else { "down" };
                return format!("scroll {way} by {}", lines.unsigned_abs());
            }
            Self::Jump(Landmark::Worst) => "jump to the worst moment",
            Self::Jump(Landmark::NextEvent) => "jump to the next event",
            Self::Jump(Landmark::PreviousEvent) => "jump to the previous event",
            Self::Jump(Landmark::NextSegment) => "jump to the next segment",
            Self::Jump(Landmark::PreviousSegment) => "jump to the previous segment",
            Self::Jump(Landmark::Start) => "jump to the start",
            Self::Jump(Landmark::End) => "jump to the end",
            Self::Select(Direction::Up) => "knob, previous",
            Self::Select(Direction::Down) => "knob, next",
            Self::Turn(Direction::Up) => "turn the knob up",
            Self::Turn(Direction::Down) => "turn the knob down",
            Self::SelectParameter(Direction::Up) => "parameter, previous",
            Self::SelectParameter(Direction::Down) => "parameter, next",
            Self::TurnParameter(Direction::Up) => "set the parameter a step up",
            Self::TurnParameter(Direction::Down) => "set the parameter a step down",
            Self::TypeParameter => "type a value for the parameter",
            Self::Maximise => "show the next part alone",
            Self::Minimise => "show all parts",
            Self::TurnStretch => "distributions of now, the minute or the segment",
            Self::SortBy(Direction::Up) => "sort by the column to the right",
            Self::SortBy(Direction::Down) => "sort by the column to the left",
            Self::ReverseOrder => "turn the order of segments round",
            Self::PinBaseline => "pin the segment as baseline, or let it go",
            Self::SelectRow(i16::MIN) => "select the first row",
            Self::SelectRow(i16::MAX) => "select the last row",
            Self::SelectRow(rows) => {
                let way = if rows < 0 { "up" } else { "down" };
                return format!("select {way} by {}", rows.unsigned_abs());
            }
            Self::GoToRow => "go to the moment of the row",
            Self::TurnFilter(Direction::Up) => "log, next kind",
            Self::TurnFilter(Direction::Down) => "log, previous kind",
            Self::BeginSearch => "search the log",
            Self::FindNext(Direction::Down) => "log, next hit",
            Self::FindNext(Direction::Up) => "log, previous hit",
            Self::Save(Picture::Svg) => "save the screen as SVG",
            Self::Save(Picture::Text) => "save the screen as text",
            _ => self.plain_title(),
        };
        fixed.to_owned()
    }

    /// The same where nothing goes with it.
    fn plain_title(self) -> &'static str {
        match self {
            Self::Quit => "quit",
            Self::Suspend => "suspend",
            Self::Help => "help",
            Self::Freeze => "freeze",
            Self::Live => "live",
            Self::ZoomIn => "zoom in",
            Self::ZoomOut => "zoom out",
            Self::Play => "play or pause",
            Self::Faster => "play faster",
            Self::Slower => "play slower",
            Self::ToggleLoad => "load on or off",
            Self::BeginEntry => "type a value",
            Self::Undo => "undo",
            Self::Palette => "commands",
            Self::Presets => "presets",
            Self::Mark => "mark this moment",
            Self::Record => "record, start or stop",
            Self::CopySummary => "copy the summary",
            Self::Intrinsic => "intrinsic latency",
            Self::GentleIntrinsic => "intrinsic latency, gently",
            Self::Insert => "type",
            Self::Erase => "erase",
            Self::Delete => "delete",
            Self::MoveCaret(_) => "move the caret",
            Self::Accept => "accept",
            Self::Yes => "yes",
            Self::Dismiss => "close",
            _ => "",
        }
    }
}

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Everywhere.
    Anywhere,
    /// On a screen with nothing over it.
    Main,
    /// While the view is frozen, and in a recording.
    Time,
    /// While the view of a live session is frozen.
    Frozen,
    /// In a recording.
    Replay,
    /// While one part of a screen is shown alone.
    Maximised,
    /// On one screen.
    Screen(Screen),
    /// While a search in the log is typed.
    Search,
    /// While something is typed.
    Typing,
    /// While the palette is open.
    Palette,
    /// While the help is open.
    Help,
    /// While a question waits for yes or no.
    Question,
}

impl Context {
    /// All contexts, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        const BEHIND: [Context; 9] = [
            Context::Search,
            Context::Frozen,
            Context::Replay,
            Context::Time,
            Context::Typing,
            Context::Palette,
            Context::Question,
            Context::Help,
            Context::Anywhere,
        ];
        let screens = Screen::ALL.into_iter().filter(|screen| !screen.keys().is_empty());
        [Self::Main, Self::Maximised].into_iter().chain(screens.map(Self::Screen)).chain(BEHIND)
    }

    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Main => "On every screen",
            Self::Maximised => "One part shown alone",
            Self::Screen(screen) => screen.name(),
            Self::Search => "While typing a search",
            Self::Time => "Frozen or replayed",
            Self::Frozen => "While frozen",
            Self::Replay => "In a recording",
            Self::Typing => "While typing",
            Self::Palette => "In the list of commands",
            Self::Help => "In this help",
            Self::Question => "At a question",
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.title())
    }
}
