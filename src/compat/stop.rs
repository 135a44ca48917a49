//! Why a run ends before its end.

use std::{io, process::ExitCode};

/// Why a run ends before its end.
pub enum Stop {
    /// This is printed on standard error.
    Told(String),
    /// Nobody takes what is written.
    Output(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Stop {
    /// The exit code; `tell` is given what is printed on standard error, if anything is: of output that nobody takes, that it is
    /// `unwritten`.
    pub fn end(self, unwritten: &str, tell: impl FnOnce(&str)) -> ExitCode {
        match self {
            // Whoever read our lines has had enough, as `head` does.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Output(error) => tell(&format!("{unwritten}: {error}")),
            Self::Told(line) => tell(&line),
        }
        ExitCode::FAILURE
    }
}
