//! How far the way to the first write at a node is gone, and what is said on it.

use super::Notice;
use crate::{
    knobs::Knobs,
    server::{Answer, SetUp, Survey},
    workload::Steps,
};

/// How far the way to the first write is gone.
#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing was asked yet, or the answer was no.
    Shut,
    /// The server is being asked what lives there.
    Surveying(Answer<Survey>),
    /// A person is being asked.
    Asking,
    /// A person is being asked about knobs that may do harm; what was there before the question goes on.
    Warning(Box<Stage>),
    /// Nothing is left to be asked here about what waits, and nothing of it is done yet.
    Allowed(Box<Stage>),
    /// The marker is being set.
    Marking(Answer<()>),
    /// This setup is being run.
    Preparing(Steps, Answer<SetUp>),
    /// Writes may pass.
    Open,
    /// Writes may pass as soon as the marker tells of more names than it did.
    Extending(Answer<()>),
}

impl Stage {
    /// Whether the server, or a person, is being asked about the first write.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Surveying(_) | Self::Asking)
    }

    /// Whether a person is being asked.
    pub fn is_asking(&self) -> bool {
        matches!(self, Self::Asking | Self::Warning(_))
    }

    /// Whether nothing is left to be asked about what waits, and nothing of it is done yet.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// Whether what waits was allowed, and will pass by itself.
    pub fn is_extending(&self) -> bool {
        matches!(self, Self::Extending(_) | Self::Preparing(..))
    }

    /// Whether the load before what waits may go on.
    pub fn keeps_load(&self) -> bool {
        self.is_extending() || matches!(self, Self::Warning(_))
    }
}

/// What a gate has to say when it is looked at.
#[derive(Debug, PartialEq)]
pub(super) enum Admission {
    /// These knobs may take effect now.
    Pass(Knobs),
    /// A person must say yes to this first.
    Ask(String),
    /// A person must say yes to this first, which may do harm; the load before it may go on.
    Warn(String),
    /// It cannot be; the load stays off.
    Refuse(String),
}

impl Admission {
    /// The knobs that may take effect.
    ///
    /// # Errors
    /// What is said instead, where a person is there to be asked or is not.
    pub fn knobs(self, is_attended: bool) -> Result<Knobs, Notice> {
        Err(match self {
            Self::Pass(knobs) => return Ok(knobs),
            Self::Ask(question) if is_attended => Notice::FirstWrite(question),
            Self::Warn(question) if is_attended => Notice::Danger(question),
            Self::Ask(cause) | Self::Warn(cause) | Self::Refuse(cause) => Notice::LoadStaysOff(cause),
        })
    }
}
