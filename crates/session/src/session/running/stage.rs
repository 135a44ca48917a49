//! The steps before redyno's first write to a node, and their results.

use std::collections::BTreeSet;

use super::{HolderReplies, Notice};
use crate::{
    knobs::Knobs,
    server::{SetUp, Survey},
    workload::Steps,
};

/// A step before the first write to a node.
#[derive(Debug)]
pub(super) enum GateStage {
    /// No check has begun yet, or the user has refused.
    Shut,
    /// The survey of the servers' data and clients is running.
    Surveying(HolderReplies<Survey>),
    /// The user was asked whether redyno may write, and has not answered yet.
    Asking,
    /// The user was asked about load settings that may do harm, and has not answered yet. Until the answer, the
    /// previous load continues.
    Warning(Box<GateStage>),
    /// There are no more questions about this node, but the next step has not begun yet.
    Allowed(Box<GateStage>),
    /// The marker keys are being written.
    Marking(HolderReplies<()>),
    /// A setup of the workload is running.
    Preparing(Steps, HolderReplies<SetUp>),
    /// Writes are allowed.
    Open,
    /// Further key names are being added to the marker. Afterwards, writes are allowed.
    Extending(HolderReplies<()>),
}

impl GateStage {
    /// Returns whether the survey is running, or a question about the first write is open.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Surveying(_) | Self::Asking)
    }

    /// Returns whether a question to the user is open.
    pub fn is_asking(&self) -> bool {
        matches!(self, Self::Asking | Self::Warning(_))
    }

    /// Returns whether the user has answered all questions about this node, and the next step can begin.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// Returns whether the waiting load settings take effect without another question to the user.
    pub fn is_extending(&self) -> bool {
        matches!(self, Self::Extending(_) | Self::Preparing(..))
    }

    /// Returns whether the previous load may continue.
    pub fn keeps_load(&self) -> bool {
        self.is_extending() || matches!(self, Self::Warning(_))
    }
}

/// The result of the steps before the first write.
#[derive(Debug, PartialEq)]
pub(super) enum Admission {
    /// The load settings may take effect now.
    Pass(Knobs),
    /// The user must agree before redyno writes.
    Ask(String),
    /// The user must agree because the load may do harm. The previous load may continue meanwhile.
    Warn(String),
    /// The load cannot run, and stays off.
    Refuse(String),
}

impl Admission {
    /// Returns the load settings that may take effect, if there are any.
    ///
    /// # Errors
    /// If no load settings may take effect, returns a notice for the peers. If there is a user (`is_attended`), the
    /// notice can be a question. Otherwise, the notice says that the load stays off.
    pub fn knobs(self, is_attended: bool) -> Result<Knobs, Notice> {
        Err(match self {
            Self::Pass(knobs) => return Ok(knobs),
            Self::Ask(question) if is_attended => Notice::FirstWrite(question),
            Self::Warn(question) if is_attended => Notice::Danger(question),
            Self::Ask(cause) | Self::Warn(cause) | Self::Refuse(cause) => Notice::LoadStaysOff(cause),
        })
    }
}

/// Returns the commands of the workload that need a Redis module.
pub(super) fn modules(knobs: &Knobs) -> BTreeSet<String> {
    if knobs.load { knobs.workload.commands_of_modules() } else { BTreeSet::new() }
}

/// Returns the commands of the workload that may write keys of other clients.
pub(super) fn others(knobs: &Knobs) -> BTreeSet<String> {
    if knobs.load { knobs.workload.literal_writes() } else { BTreeSet::new() }
}
