//! The definition of a command: arguments that become a plan.

use std::fmt;

use crate::runner::{Failure, Plan};

/// A plan, or the reason why there is none.
pub(super) type Planned = Result<Box<dyn Plan>, Failure>;

/// The context of a command: everything except its arguments.
#[derive(Debug, Clone, Copy)]
pub struct Invocation {
    /// All options and commands of the program, for clap.
    pub line: fn() -> clap::Command,
    /// Whether stdout is a terminal.
    pub has_terminal: bool,
    /// Whether the command is to be carried out. If not, no config file is read and no password is requested.
    pub is_real: bool,
}

/// The arguments of a command.
pub trait Arguments: fmt::Debug {
    /// Returns whether text for people uses ASCII characters only.
    fn is_ascii(&self) -> bool {
        false
    }

    /// Returns the plan that the arguments become.
    ///
    /// # Errors
    /// When the arguments are invalid.
    fn plan(self: Box<Self>, given: Invocation) -> Planned;
}

/// A command with its arguments.
pub type Command = Box<dyn Arguments>;
