//! The stages of a node before its first write, and their messages.

use super::Notice;
use crate::{
    knobs::Knobs,
    server::{Answer, SetUp, Survey},
    workload::Steps,
};

/// The stages before the first write.
#[derive(Debug)]
pub(super) enum Stage {
    /// No check was made yet, or the user refused.
    Shut,
    /// The survey asks the server about its data and clients.
    Surveying(Answer<Survey>),
    /// The user is being asked.
    Asking,
    /// The user is being asked about knobs that may do harm; the previous load continues.
    Warning(Box<Stage>),
    /// There are no more questions about this node, and nothing is begun yet.
    Allowed(Box<Stage>),
    /// The marker is being set.
    Marking(Answer<()>),
    /// This setup is being run.
    Preparing(Steps, Answer<SetUp>),
    /// Writes are allowed.
    Open,
    /// Writes are allowed as soon as the marker contains more names than before.
    Extending(Answer<()>),
}

impl Stage {
    /// Returns whether the survey or the question to the user about the first write is in progress.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Surveying(_) | Self::Asking)
    }

    /// Returns whether the user is being asked.
    pub fn is_asking(&self) -> bool {
        matches!(self, Self::Asking | Self::Warning(_))
    }

    /// Returns whether there are no more questions, and nothing is begun yet.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// Returns whether the waiting knobs were allowed, and will pass by themselves.
    pub fn is_extending(&self) -> bool {
        matches!(self, Self::Extending(_) | Self::Preparing(..))
    }

    /// Returns whether the previous load may continue.
    pub fn keeps_load(&self) -> bool {
        self.is_extending() || matches!(self, Self::Warning(_))
    }
}

/// The result of checking a gate.
#[derive(Debug, PartialEq)]
pub(super) enum Admission {
    /// These knobs may take effect now.
    Pass(Knobs),
    /// The user must agree first.
    Ask(String),
    /// The user must agree first, since the load may do harm; the previous load may continue.
    Warn(String),
    /// The load is impossible, and stays off.
    Refuse(String),
}

impl Admission {
    /// Returns the knobs that may take effect.
    ///
    /// # Errors
    /// The message, with or without a user who can be asked.
    pub fn knobs(self, is_attended: bool) -> Result<Knobs, Notice> {
        Err(match self {
            Self::Pass(knobs) => return Ok(knobs),
            Self::Ask(question) if is_attended => Notice::FirstWrite(question),
            Self::Warn(question) if is_attended => Notice::Danger(question),
            Self::Ask(cause) | Self::Warn(cause) | Self::Refuse(cause) => Notice::LoadStaysOff(cause),
        })
    }
}
