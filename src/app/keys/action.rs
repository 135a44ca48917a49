//! What keys can do, and where they do it.

use std::fmt;

use super::super::{Direction, Landmark, Screen};

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
    /// Run the intrinsic probe, or stop the run.
    Intrinsic,
    /// Turn the gentle intrinsic probe on or off.
    GentleIntrinsic,
    /// Add the typed character.
    Insert,
    /// Remove the last character.
    Erase,
    /// Take what was typed.
    Accept,
    /// Answer yes.
    Yes,
    /// Close what lies over the screen, or answer no.
    Dismiss,
    /// Scroll by so many lines, down if positive.
    Scroll(i16),
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
    /// On the screen of the distributions.
    Latency,
    /// On the screen of the server.
    Server,
    /// On that of the segments.
    Segments,
    /// On that of events and errors.
    Log,
    /// While a search in the log is typed.
    Search,
    /// While a value is typed.
    Typing,
    /// While the help is open.
    Help,
    /// While a question waits for yes or no.
    Question,
}

impl Context {
    /// All contexts, in the order of the help.
    pub const ALL: [Self; 14] = [
        Self::Main,
        Self::Maximised,
        Self::Latency,
        Self::Server,
        Self::Segments,
        Self::Log,
        Self::Search,
        Self::Frozen,
        Self::Replay,
        Self::Time,
        Self::Typing,
        Self::Question,
        Self::Help,
        Self::Anywhere,
    ];

    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Main => "On every screen",
            Self::Maximised => "One part shown alone",
            Self::Latency => "Latency",
            Self::Search => "While typing a search",
            Self::Server => "Server",
            Self::Segments => "Segments",
            Self::Log => "Log",
            Self::Time => "Frozen or replayed",
            Self::Frozen => "While frozen",
            Self::Replay => "In a recording",
            Self::Typing => "While typing a value",
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
