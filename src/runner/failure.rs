//! How a command fails, and with which exit code.

use thiserror::Error;

use crate::{
    cli::{clean::CleanError, target_args::TargetArgsError},
    compat::redis_cli::PlanError,
    load::KnobError,
};

/// Bad usage: exit code 2.
#[derive(Debug, Error)]
pub enum UsageError {
    /// The command line itself.
    #[error("{0}")]
    Line(String),
    /// The target.
    #[error(transparent)]
    Target(#[from] TargetArgsError),
    /// The knobs.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A one-shot mode.
    #[error(transparent)]
    Oneshot(#[from] PlanError),
    /// The server holds other keys or serves other clients, and nobody is there to be asked.
    #[error("{0}\nSay --yes to go on.")]
    NeedsYes(String),
}

/// Why a command did not do what was asked.
#[derive(Debug, Error)]
pub enum Failure {
    /// It was asked for wrongly.
    #[error(transparent)]
    Usage(UsageError),
    /// Keys were not removed.
    #[error(transparent)]
    Clean(#[from] CleanError),
    /// It failed.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
    /// It was done, and what was found is not what it had to be: a threshold was crossed, a limit is not held.
    #[error("{0}")]
    Crossed(String),
    /// It was done, and what was to be found out is not clear.
    #[error("{0}")]
    Undecided(String),
    /// A signal ended it.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Clean(error) => error.exit_code(),
            Self::Failed(_) => 1,
            Self::Crossed(_) => 3,
            Self::Undecided(_) => 4,
            Self::Interrupted => 130,
        }
    }
}

/// Whatever is bad usage.
impl<E> From<E> for Failure
where
    UsageError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Usage(error.into())
    }
}
