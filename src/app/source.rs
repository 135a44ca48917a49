//! Where records come from and where effects go: the one seam between the screen and a session.

use std::{sync::Arc, time::Duration};

use thiserror::Error;

use super::{Picture, RecordingState, Setting};
use crate::{load::Knobs, session::Record};

/// A session, live or replayed.
pub trait Source {
    /// What has happened since the last call, in order. Never waits.
    fn poll(&mut self) -> Vec<Delivery>;

    /// Carries an effect out, or begins to. Never waits. What belongs to the terminal does not come here:
    /// [`Effect::Suspend`], [`Effect::Quit`], [`Effect::Save`], [`Effect::Copy`], [`Effect::Theme`].
    ///
    /// # Errors
    /// When this source cannot do that, with a reason for the person at the screen.
    fn apply(&mut self, effect: &Effect) -> Result<(), Refused>;
}

/// One thing that a source hands over.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A record of the session.
    Record(Arc<Record>),
    /// Something for the person at the screen that is in no record.
    Notice(Notice),
}

/// Something a source tells the person at the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The load is held back until the person allows writing to this server. Answered by
    /// [`Effect::AllowWrites`].
    FirstWrite {
        /// What is there that would stand beside our keys, and what will be written.
        question: String,
    },
    /// The load that was wanted cannot be, for this reason.
    LoadStaysOff(String),
    /// The load that ran was turned off, for this reason.
    LoadStopped(String),
    /// The target cannot be reached; the source keeps trying.
    Unreachable {
        /// Since when, in seconds of the session.
        since_s: f64,
        /// Why, in words.
        cause: String,
    },
    /// The target answers.
    Reachable,
    /// Keys are being removed.
    Cleaning {
        /// How many are gone.
        removed: u64,
    },
    /// The keys are gone.
    Cleaned {
        /// How many were removed.
        removed: u64,
    },
    /// Anything else worth a line.
    Info(String),
    /// Something that went wrong: cause, meaning, next step.
    Warning(String),
    /// So much of a recording has been read, 0 to 1.
    Read {
        /// The share of its bytes.
        share: f64,
    },
    /// A recording has played to this moment.
    Played {
        /// In seconds of the session.
        to_s: f64,
    },
    /// How the recording goes; `None` when there is none any more.
    Recording(Option<RecordingState>),
    /// No more records will come, and the person may look on: a recording ends here.
    Ended,
    /// The session is over and the screen with it: the duration that was asked for has passed.
    Leave,
}

/// What the screen wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Put these settings in force.
    SetKnobs(Knobs),
    /// Set a parameter of the server; the person has said yes to that.
    SetConfig(Setting),
    /// Run the intrinsic probe for this long.
    RunIntrinsic(Duration),
    /// End that run early.
    StopIntrinsic,
    /// Turn the gentle intrinsic probe on or off.
    GentleIntrinsic(bool),
    /// The answer to [`Notice::FirstWrite`].
    AllowWrites(bool),
    /// Let time run in a recording; [`Notice::Played`] tells how far it is.
    Play {
        /// The moment to begin at, in seconds of the session.
        from_s: f64,
        /// Seconds of the session per second.
        speed: f64,
    },
    /// Let it stand still.
    Pause,
    /// Give the terminal back and stop the process, as Ctrl-Z does.
    Suspend,
    /// Put a note on the time axis.
    Mark {
        /// At which moment, in seconds of the session.
        t_s: f64,
        /// What it says.
        text: String,
    },
    /// Record to a new file from now on; [`Notice::Recording`] tells how it goes.
    StartRecording,
    /// End the recording.
    StopRecording,
    /// Save a picture of the screen.
    Save(Picture),
    /// Put a text on the terminal's clipboard.
    Copy(String),
    /// Draw in the theme of this name.
    Theme(&'static str),
    /// Leave.
    Quit,
}

/// Why a source does not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refused(pub String);
