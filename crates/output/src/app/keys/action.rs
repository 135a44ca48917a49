//! The actions of keys, and the names of the contexts in which keys work.

use std::fmt;

use super::{Context, KeyPattern, Screen};
use crate::app::Model;

/// The effect of some keys.
#[derive(Debug, Clone, Copy)]
pub struct Action {
    /// The keys.
    pub keys: &'static [KeyPattern],
    /// The title in the palette. Each action has its own title.
    pub title: &'static str,
    /// Carries the action out.
    pub run: fn(&mut Model),
}

impl PartialEq for Action {
    fn eq(&self, other: &Self) -> bool {
        self.title == other.title
    }
}

impl Action {
    /// Returns whether the action moves a selection or a list. Such actions are not listed first in the palette.
    pub fn selects(self) -> bool {
        ["select ", "scroll "].iter().any(|word| self.title.starts_with(word))
    }
}

/// Returns an action.
pub(super) const fn does(keys: &'static [KeyPattern], title: &'static str, run: fn(&mut Model)) -> Action {
    Action { keys, title, run }
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
            Self::Answer => "After an experiment",
            Self::Search => "While typing a search",
            Self::Time => "Frozen or replayed",
            Self::Frozen => "While frozen",
            Self::Replay => "In a recording",
            Self::Typing => "While typing",
            Self::Palette => "In the command palette",
            Self::Help => "In this help",
            Self::CommandLine => "In the view of a command line, slow command or client",
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
