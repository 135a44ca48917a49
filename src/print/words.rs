//! What a command says to a person, a line at a time: on standard output or on standard error.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::Context as _;

use super::outlet::Outlet;
use crate::units::were;

/// Letters and signs of texts that have an ASCII stand-in of the same width.
const STAND_INS: [(&str, &str); 11] = [
    ("µ", "u"),
    ("×", "x"),
    ("–", "-"),
    ("≤", "<"),
    ("…", "."),
    ("·", "."),
    ("↑", "^"),
    ("↓", "v"),
    ("←", "<"),
    ("→", ">"),
    ("σ", "s"),
];

/// Whether what people read has ASCII characters only.
static ASCII: AtomicBool = AtomicBool::new(false);

/// What people read has ASCII characters only from now on, or all that there are.
pub fn choose_characters(is_ascii: bool) {
    ASCII.store(is_ascii, Ordering::Relaxed);
}

/// What stands for `symbol` in ASCII: `?` where nothing does.
pub fn in_ascii(symbol: &str) -> &'static str {
    let known = STAND_INS.iter().find(|(sign, _)| *sign == symbol);
    known.map_or("?", |(_, ascii)| ascii)
}

/// A text for people with the characters that they are to have: in ASCII all others have their stand-ins. An object of JSON
/// is for programs, and stays as it is.
pub fn plain(text: Vec<u8>) -> Vec<u8> {
    if !ASCII.load(Ordering::Relaxed) || text.is_ascii() || text.starts_with(b"{") {
        return text;
    }
    let mut plain = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let stand_in = if c.is_ascii() { None } else { Some(in_ascii(c.encode_utf8(&mut [0; 4]))) };
            match stand_in {
                Some(stand_in) => plain.extend_from_slice(stand_in.as_bytes()),
                None => plain.push(c as u8),
            }
        }
        plain.extend(chunk.invalid().iter().map(|_| b'?'));
    }
    plain
}

/// What became of writing to standard output, for the end of a command.
///
/// # Errors
/// When it could not be written. Whoever read our lines and has had enough, as `head` does, is none.
pub fn written(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}

/// Words for a person on one of the streams, a line at a time. Writing them never waits.
#[derive(Debug)]
pub struct StreamText {
    outlet: Outlet,
    is_terminal: bool,
    /// What is said of lines that were lost, where they were.
    report: fn(u64) -> String,
    /// The line that is being put together.
    line: Vec<u8>,
}

impl StreamText {
    /// On standard output. What is lost there is not reported there: it may be a table for a program.
    pub fn stdout() -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { outlet: Outlet::stdout(), is_terminal, report: |_| String::new(), line: Vec::new() }
    }

    /// On standard error.
    pub fn stderr() -> Self {
        let is_terminal = io::stderr().is_terminal();
        let report = |lines| format!("redyno: {} lost here: nobody read them\n", were(lines));
        Self { outlet: Outlet::stderr(), is_terminal, report, line: Vec::new() }
    }

    /// What is said from now on is the last, and has a place in any case.
    pub fn make_room_for_last(&self) {
        self.outlet.make_room_for_last();
    }

    /// Whether they are said on a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }
}

impl Write for StreamText {
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
        self.outlet.offer(plain(line), |lines| (self.report)(lines).into_bytes())
    }
}

impl Drop for StreamText {
    fn drop(&mut self) {
        // A stream that is gone has no reader.
        let _ = self.flush();
    }
}
