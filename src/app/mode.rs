//! What takes the keys: the screen, a question, something that is typed (in the help, too). One at a time.

use super::{Context, Entry, Setting};
use crate::experiment::ExperimentSpec;

/// What takes the keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Mode {
    /// The screen.
    #[default]
    Screen,
    /// A question that waits for yes or no; no is the default.
    Asking(Question),
    /// Something that is typed.
    Typing(Typing),
    /// A command line, for a person to take.
    CommandLine(String),
}

/// What is asked before it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// May we write to this server? In words.
    FirstWrite(String),
    /// May this parameter of the server be set?
    SetConfig(Setting),
    /// An experiment that sets parameters of the server.
    Experiment {
        /// What it does, in words.
        question: String,
        /// The experiment.
        asked: ExperimentSpec,
    },
    /// A change that may do harm: what could happen, in words.
    Danger(String),
}

/// Something that is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Typing {
    /// What for.
    pub purpose: Purpose,
    /// As typed so far.
    pub entry: Entry,
}

/// What something is typed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Purpose {
    /// A value for the selected knob.
    Knob,
    /// A value for the selected parameter of the server.
    Parameter,
    /// What is looked for in the log.
    Search,
    /// What a note on the time axis says.
    Mark {
        /// The moment that it is about, in seconds of the session.
        t_s: f64,
    },
    /// A command of the palette, by its name.
    Command {
        /// Which of the offers is chosen, the best being 0.
        chosen: usize,
    },
    /// What is looked for in the help.
    Help {
        /// Lines above the first one shown.
        scroll: u16,
    },
    /// How many seconds the intrinsic probe shall run.
    Intrinsic,
}

impl Mode {
    /// The parts of the key table that hold in it before all others; `None` on the screen, which has its own.
    pub(super) fn contexts(&self) -> Option<&'static [Context]> {
        match self {
            Self::Screen => None,
            Self::Asking(_) => Some(&[Context::Question]),
            Self::Typing(Typing { purpose: Purpose::Search, .. }) => {
                Some(&[Context::Search, Context::Typing])
            }
            Self::Typing(Typing { purpose: Purpose::Command { .. }, .. }) => {
                Some(&[Context::Palette, Context::Typing])
            }
            Self::Typing(Typing { purpose: Purpose::Help { .. }, .. }) => {
                Some(&[Context::Help, Context::Typing])
            }
            Self::Typing(_) => Some(&[Context::Typing]),
            Self::CommandLine(_) => Some(&[Context::CommandLine]),
        }
    }
}
