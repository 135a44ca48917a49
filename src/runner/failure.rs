//! The reasons why a command of redyno fails, with their messages and exit codes.

use std::{fmt, io};

use thiserror::Error;

use crate::knobs::KnobError;

/// Bad usage: exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UsageError {
    /// The error and its remedy, in one line.
    #[error("{0}")]
    Line(String),
    /// A question that needs `--yes`. Without a screen, the program cannot ask the user. The text names the danger and
    /// the option.
    #[error("{0}")]
    NeedsYes(String),
}

impl UsageError {
    /// Returns the error for wrong usage with this reason.
    pub fn of(reason: impl fmt::Display) -> Self {
        Self::Line(reason.to_string())
    }

    /// Returns the error that asks for `--yes`, because redyno cannot ask the user this question without a
    /// screen.
    pub fn asks(question: impl fmt::Display) -> Self {
        Self::NeedsYes(format!("{question}\nGive --yes to go on."))
    }
}

impl From<KnobError> for UsageError {
    fn from(error: KnobError) -> Self {
        Self::of(error)
    }
}

/// The reason why a command failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// Bad usage.
    #[error(transparent)]
    Usage(UsageError),
    /// An error.
    #[error("{}", with_causes(.0))]
    Failed(#[from] anyhow::Error),
    /// The result is not the required result. A condition of --fail-if is met, or a limit is not kept.
    #[error("{0}")]
    Crossed(String),
    /// The result is not clear.
    #[error("{0}")]
    Undecided(String),
    /// A signal ended the command.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// Returns the exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
            Self::Crossed(_) => 3,
            Self::Undecided(_) => 4,
            Self::Interrupted => 130,
        }
    }

    /// Returns all these failures as one. If there are several, the command failed, whatever its result is.
    ///
    /// # Errors
    /// Fails if there is a failure.
    pub(super) fn of_all<const N: usize>(failures: [Option<Self>; N]) -> Result<(), Self> {
        let together = |first: Self, next: Self| Self::Failed(anyhow::anyhow!("{first}; {next}"));
        failures.into_iter().flatten().reduce(together).map_or(Ok(()), Err)
    }

    /// Returns the failure with the name of its node, if there are several nodes.
    pub(super) fn of_node(self, node: u16, names: &[String]) -> Self {
        let Some(name) = names.get(usize::from(node)) else { return self };
        // Many texts begin with the address of their server.
        let is_named = |text: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', ':']));
        match self {
            Self::Failed(error) if is_named(&error.to_string()) => Self::Failed(error),
            Self::Failed(error) => Self::Failed(error.context(name.clone())),
            Self::Usage(UsageError::NeedsYes(question)) if is_named(&question) => {
                Self::Usage(UsageError::NeedsYes(question))
            }
            Self::Usage(UsageError::NeedsYes(question)) => {
                Self::Usage(UsageError::NeedsYes(format!("{name}: {question}")))
            }
            Self::Usage(error) => Self::Usage(UsageError::Line(format!("{name}: {error}"))),
            other => other,
        }
    }
}

/// Returns the error and its causes in one line. A cause that the line already contains is left out.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        known if known.contains(&cause) => line,
        _ => format!("{line}: {cause}"),
    })
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Any error that converts to [`UsageError`] is bad usage.
impl<E> From<E> for Failure
where
    UsageError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Usage(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_named_once() {
        let shown = |context: &str| {
            Failure::Failed(anyhow::anyhow!("refused").context(context.to_owned())).to_string()
        };
        assert_eq!(shown("the bus: refused"), "the bus: refused");
        assert_eq!(shown("cannot write a.jsonl"), "cannot write a.jsonl: refused");
    }
}
