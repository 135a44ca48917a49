//! What a command is: arguments that become a plan.

use std::fmt;

use crate::runner::{Failure, Plan};

/// A plan, or why there is none.
pub(super) type Planned = Result<Box<dyn Plan>, Failure>;

/// The context of a command: what surrounds its arguments.
#[derive(Debug, Clone, Copy)]
pub struct Invocation {
    /// All options and commands of the program, for clap.
    pub line: fn() -> clap::Command,
    /// Whether stdout is a terminal.
    pub has_terminal: bool,
    /// Whether it is to be carried out: if not, no config file is read and no password is asked for.
    pub is_real: bool,
}

/// The arguments of a command.
pub trait Arguments: fmt::Debug {
    /// Whether text for people uses ASCII characters only.
    fn is_ascii(&self) -> bool {
        false
    }

    /// The plan that they become.
    ///
    /// # Errors
    /// When the arguments are invalid.
    fn plan(self: Box<Self>, given: Invocation) -> Planned;
}

/// A command as it was given.
pub type Command = Box<dyn Arguments>;
