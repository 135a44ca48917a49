//! The trait of redyno's subcommands: a command turns its arguments into a plan.

use std::fmt;

use crate::runner::{Failure, Plan};

/// The plan of a command, or the reason why the command cannot run.
pub(super) type PlanResult = Result<Box<dyn Plan>, Failure>;

/// The context of a command: everything except its arguments.
#[derive(Debug, Clone, Copy)]
pub struct Invocation {
    /// All options and commands of the program, for clap.
    pub line: fn() -> clap::Command,
    /// Whether stdout is a terminal.
    pub has_terminal: bool,
    /// Whether the command will be carried out. For a command that is only checked, redyno reads no config file and
    /// requests no password.
    pub is_real: bool,
}

/// The arguments of a command.
pub trait Arguments: fmt::Debug {
    /// Returns whether text for people uses ASCII characters only.
    fn is_ascii(&self) -> bool {
        false
    }

    /// Returns the plan for these arguments.
    ///
    /// # Errors
    /// Fails if the arguments are invalid.
    fn plan(self: Box<Self>, given: Invocation) -> PlanResult;
}

/// A command with its arguments.
pub type BoxedCommand = Box<dyn Arguments>;
