//! Prints text for people on standard output or standard error, line by line.

use std::{
    io::{self, BufRead as _, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::Context as _;

use super::outlet::Outlet;
use crate::units::lines_with_verb;

/// Non-ASCII characters, each with an ASCII replacement of the same width.
const STAND_INS: [(&str, &str); 13] = [
    ("µ", "u"),
    ("×", "x"),
    ("–", "-"),
    ("≤", "<"),
    ("≥", ">"),
    ("±", "~"),
    ("…", "."),
    ("·", "."),
    ("↑", "^"),
    ("↓", "v"),
    ("←", "<"),
    ("→", ">"),
    ("σ", "s"),
];

/// Whether text for people uses ASCII characters only.
static ASCII: AtomicBool = AtomicBool::new(false);

/// Sets whether text for people uses ASCII characters only.
pub fn choose_characters(is_ascii: bool) {
    ASCII.store(is_ascii, Ordering::Relaxed);
}

/// Returns the ASCII replacement of `symbol`; `?` if there is none.
pub fn in_ascii(symbol: &str) -> &'static str {
    let known = STAND_INS.iter().find(|(sign, _)| *sign == symbol);
    known.map_or("?", |(_, ascii)| ascii)
}

/// Returns a text for people, converted to ASCII if [`choose_characters`] requires ASCII. JSON objects are not changed,
/// because they are for programs.
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

/// Checks the result of writing to standard output, at the end of a command.
///
/// # Errors
/// Fails if writing failed. A reader that closes the pipe early, as `head` does, is no error.
pub fn stdout_result(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}

/// Prints a line on standard error, after the program's name. If standard error is closed, the line is lost.
pub fn warn(line: &str) {
    let _ = writeln!(StreamText::stderr(), "redyno: {line}");
}

/// Asks the user at the terminal, and returns whether the answer is yes.
///
/// # Errors
/// Fails if standard error cannot be written, or standard input cannot be read.
pub fn ask(question: &str) -> anyhow::Result<bool> {
    let mut err = StreamText::stderr();
    write!(err, "{question} [y/N] ").and_then(|()| err.flush()).context("cannot write to stderr")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A stream of text for people, written line by line. Writing never blocks.
pub struct StreamText {
    outlet: Outlet,
    /// Whether the stream is a terminal.
    pub is_terminal: bool,
    /// Returns the message about a number of lost lines. An empty text means that there is no message.
    report: fn(u64) -> String,
    /// The present, incomplete line.
    line: Vec<u8>,
}

impl StreamText {
    /// Returns a stream to standard output. The stream does not report lost lines, because the reader may be
    /// a program that expects a table.
    pub fn stdout() -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { outlet: Outlet::stdout(), is_terminal, report: |_| String::new(), line: Vec::new() }
    }

    /// Returns a stream to standard error.
    pub fn stderr() -> Self {
        let is_terminal = io::stderr().is_terminal();
        let report = |lines| {
            format!("redyno: {} lost here: the reader of the output was too slow\n", lines_with_verb(lines))
        };
        Self { outlet: Outlet::stderr(), is_terminal, report, line: Vec::new() }
    }

    /// Makes the stream accept all further text without a limit, because it is the last text.
    pub fn make_room_for_last(&self) {
        self.outlet.make_room_for_last();
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
            // Without text, a call only checks whether earlier lines could be written.
            return self.outlet.is_written_within(Duration::ZERO).map(drop);
        }
        self.outlet.offer(plain(line), |lines| (self.report)(lines).into_bytes())
    }
}

impl Drop for StreamText {
    fn drop(&mut self) {
        // A closed stream has no reader, so the error does not matter.
        let _ = self.flush();
    }
}
