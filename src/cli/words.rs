//! What a command says to a person, a line at a time: on standard output or on standard error.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use super::outlet::Outlet;
use crate::units::were;

/// Words for a person on one of the streams, a line at a time. Writing them never waits.
#[derive(Debug)]
pub struct Words {
    outlet: Outlet,
    is_terminal: bool,
    /// What is said of lines that were lost, where they were.
    tell: fn(u64) -> String,
    /// The line that is being put together.
    line: Vec<u8>,
}

impl Words {
    /// On standard output. What is lost there is not told there: it may be a table for a program.
    pub fn stdout() -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { outlet: Outlet::stdout(), is_terminal, tell: |_| String::new(), line: Vec::new() }
    }

    /// On standard error.
    pub fn stderr() -> Self {
        let is_terminal = io::stderr().is_terminal();
        let tell = |lines| format!("redyno: {} lost here: nobody read them\n", were(lines));
        Self { outlet: Outlet::stderr(), is_terminal, tell, line: Vec::new() }
    }

    /// Whether they are said on a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }
}

impl Write for Words {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            // Nothing to say: what became of the lines before?
            return self.outlet.is_written_within(Duration::ZERO).map(drop);
        }
        self.outlet.offer(line, |lines| (self.tell)(lines).into_bytes())
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // A stream that is gone has nobody to tell.
        let _ = self.flush();
    }
}
