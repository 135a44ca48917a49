//! Where the figures of a one-shot mode go, and what is wrong.

use std::io::{self, Write};

use crate::print::outlet::CLEAR;

/// Where a mode writes.
pub struct Streams<'a> {
    /// Figures.
    pub out: &'a mut dyn Write,
    /// What is wrong.
    pub err: &'a mut dyn Write,
    /// Whether `out` is a terminal, where lines are redrawn.
    pub is_tty: bool,
}

impl Streams<'_> {
    /// Writes figures at once.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Writes a line about what is wrong; on a terminal it takes the place of a line that is being redrawn.
    pub(super) fn warn(&mut self, text: &str) -> io::Result<()> {
        if self.is_tty {
            self.print(CLEAR)?;
        }
        writeln!(self.err, "redyno: {text}")?;
        self.err.flush()
    }
}
