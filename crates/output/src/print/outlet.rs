//! Writes to standard output and standard error without blocking the caller.
//!
//! ```text
//!  callers ─► offer ─► bounded queue ─► thread ─► pipe, file or terminal, which may take its time
//!                └── no room: the piece is lost, which is reported when there is room again
//! ```
//! A write to a pipe blocks if the reader of the pipe has stopped (`| less`). A write to a terminal blocks if
//! the connection to the terminal hangs. In both cases, only the writing thread blocks; the session
//! continues, and Ctrl-C works. If both streams are the same file, one thread writes both and keeps the order
//! of their texts.
//!
//! The screen's frames have another output (`output` of the room `tui`), because frames are not queued.
//! If a frame could not be sent, redyno draws a newer frame instead.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::fstat,
    io::Errno,
    stdio::{stderr, stdout},
};

/// At the end of the program, a reader has this time to read the rest of the output.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The escape sequence that clears a line of the terminal, so that another text can replace it.
pub const CLEAR: &str = "\x1b[0G\x1b[2K";

/// The limits of an outlet's queue.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The maximum number of pieces. A piece is one or more whole lines.
    pub pieces: usize,
    /// The maximum number of bytes. The last piece may exceed this limit.
    pub bytes: usize,
}

/// The limits of standard output and standard error: enough for minutes of JSON, or days of lines.
const LIMITS: Limits = Limits { pieces: 65_536, bytes: 16 * 1024 * 1024 };

/// An output stream. Clones write to the same stream.
#[derive(Debug, Clone)]
pub struct Outlet(Arc<SharedQueue>);

#[derive(Debug)]
struct SharedQueue {
    limits: Limits,
    state: Mutex<PieceQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PieceQueue {
    queue: VecDeque<Vec<u8>>,
    /// The number of bytes in the queue and in the piece that is being written.
    bytes: usize,
    is_writing: bool,
    /// Whether the queue was full, and is not yet half empty again.
    is_full: bool,
    /// Whether the program is at its end, so that all further pieces are accepted without a limit.
    is_last: bool,
    /// Whether writing has been given up.
    is_over: bool,
    /// The number of all lost lines.
    lost: u64,
    unreported: u64,
    failure: Option<(io::ErrorKind, Option<i32>)>,
    /// Whether a caller has received the error.
    is_reported: bool,
}

impl PieceQueue {
    fn heard(&mut self) -> io::Result<()> {
        let Some((kind, code)) = self.failure else { return Ok(()) };
        self.is_reported = true;
        Err(code.map_or_else(|| kind.into(), io::Error::from_raw_os_error))
    }

    fn has_room(&mut self, limits: Limits) -> bool {
        let part = if self.is_full { 2 } else { 1 };
        self.is_full = self.bytes > limits.bytes / part || self.queue.len() > limits.pieces / part;
        !self.is_over && (!self.is_full || self.is_last)
    }

    fn push(&mut self, piece: Vec<u8>) {
        // A redrawn line replaces the line before it, if that line is still in the queue.
        let is_redrawn = |piece: &[u8]| piece.starts_with(b"\r") || piece.starts_with(CLEAR.as_bytes());
        if is_redrawn(&piece)
            && let Some(before) = self.queue.pop_back_if(|b| is_redrawn(b) && !b.ends_with(b"\n"))
        {
            self.bytes -= before.len();
        }
        self.bytes += piece.len();
        self.queue.push_back(piece);
    }

    fn lose(&mut self, piece: &[u8]) {
        let lines = (piece.iter().filter(|byte| **byte == b'\n').count() as u64).max(1);
        self.lost += lines;
        self.unreported += lines;
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty() && !self.is_writing
    }

    fn fail(&mut self, error: &io::Error) {
        self.failure.get_or_insert((error.kind(), error.raw_os_error()));
        self.queue.clear();
        self.bytes = 0;
    }
}

impl Outlet {
    /// Returns standard output.
    pub fn stdout() -> Self {
        static STDOUT: OnceLock<Outlet> = OnceLock::new();
        STDOUT.get_or_init(|| Self::start("stdout", Plain::Stdout, LIMITS)).clone()
    }

    /// Returns standard error.
    pub fn stderr() -> Self {
        static STDERR: OnceLock<Outlet> = OnceLock::new();
        let own = || Self::start("stderr", Plain::Stderr, LIMITS);
        STDERR.get_or_init(|| if leads_to_stdout() { Self::stdout() } else { own() }).clone()
    }

    /// Starts a stream to `out` with a writing thread of this name. If the thread cannot be started, every call of
    /// [`offer`](Self::offer) fails.
    pub fn start(name: &str, out: impl Write + Send + 'static, limits: Limits) -> Self {
        let shared = Arc::new(SharedQueue { limits, state: Mutex::default(), changed: Condvar::new() });
        let for_thread = Arc::clone(&shared);
        let started = thread::Builder::new().name(name.to_owned()).spawn(move || for_thread.write_to(out));
        if let Err(error) = started {
            shared.state.lock().fail(&error);
        }
        Self(shared)
    }

    /// Queues `piece`, one or more whole lines. If the queue is full, the piece is lost. When there is room again,
    /// `report` gets the number of lost lines and returns a text. This text is written before the next piece.
    ///
    /// # Errors
    /// Fails if an earlier piece could not be written.
    pub fn offer(&self, piece: Vec<u8>, report: impl FnOnce(u64) -> Vec<u8>) -> io::Result<()> {
        let mut state = self.0.state.lock();
        state.heard()?;
        if state.has_room(self.0.limits) {
            let unreported = std::mem::take(&mut state.unreported);
            let notice = if unreported > 0 { report(unreported) } else { Vec::new() };
            if !notice.is_empty() {
                state.push(notice);
            }
            state.push(piece);
            self.0.changed.notify_all();
        } else {
            state.lose(&piece);
        }
        Ok(())
    }

    /// Makes the outlet accept all further pieces without a limit, because these are the last pieces.
    pub fn make_room_for_last(&self) {
        self.0.state.lock().is_last = true;
    }

    /// Waits until the queue is half empty, but at most for `limit`. Returns whether the queue is then half empty.
    ///
    /// # Errors
    /// Returns the errors of [`offer`](Self::offer).
    pub fn has_room_within(&self, limit: Duration) -> io::Result<bool> {
        let half = Limits { pieces: self.0.limits.pieces / 2, bytes: self.0.limits.bytes / 2 };
        self.wait(limit, |state| state.bytes <= half.bytes && state.queue.len() <= half.pieces)
    }

    /// Waits until everything is written, but at most for `limit`. Returns whether everything is then written.
    ///
    /// # Errors
    /// Returns the errors of [`offer`](Self::offer).
    pub fn is_written_within(&self, limit: Duration) -> io::Result<bool> {
        self.wait(limit, PieceQueue::is_empty)
    }

    fn wait(&self, limit: Duration, is_there: impl Fn(&PieceQueue) -> bool) -> io::Result<bool> {
        let awaited = |state: &mut PieceQueue| state.failure.is_none() && !state.is_over && !is_there(state);
        let mut state = self.0.state.lock();
        self.0.changed.wait_while_for(&mut state, awaited, limit);
        state.heard()?;
        Ok(is_there(&state))
    }

    /// Waits until the rest is written, but at most for `limit`, and then gives up. Returns the number of all lost
    /// lines.
    ///
    /// # Errors
    /// Fails if a piece could not be written, unless a caller has already received this error.
    pub fn end_within(&self, limit: Duration) -> io::Result<u64> {
        let was_reported = self.0.state.lock().is_reported;
        match self.is_written_within(limit) {
            Err(error) if !was_reported => return Err(error),
            Err(_) => return Ok(0),
            Ok(true) => {}
            Ok(false) => {
                let mut state = self.0.state.lock();
                // The piece that is being written counts as one lost line, since the reader gets only a part of it.
                state.lost += u64::from(state.is_writing && !state.is_over);
                while let Some(piece) = state.queue.pop_front() {
                    state.lose(&piece);
                }
                state.is_over = true;
            }
        }
        Ok(self.0.state.lock().lost)
    }
}

impl SharedQueue {
    fn write_to(&self, mut out: impl Write) {
        let mut state = self.state.lock();
        loop {
            let Some(piece) = state.queue.pop_front() else {
                self.changed.wait(&mut state);
                continue;
            };
            state.is_writing = true;
            drop(state);
            let written = out.write_all(&piece);
            state = self.state.lock();
            state.is_writing = false;
            state.bytes = state.bytes.saturating_sub(piece.len());
            if let Err(error) = written {
                state.fail(&error);
            }
            self.changed.notify_all();
        }
    }
}

/// Returns whether both streams are the same file, pipe or terminal.
fn leads_to_stdout() -> bool {
    matches!((fstat(stdout()), fstat(stderr())), (Ok(out), Ok(err))
        if (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev))
}

/// Standard output or standard error, without a buffer.
#[derive(Debug, Clone, Copy)]
enum Plain {
    Stdout,
    Stderr,
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match self {
            Self::Stdout => stdout(),
            Self::Stderr => stderr(),
        };
        loop {
            match rustix::io::write(file, bytes) {
                // Another process that uses the same stream has made the stream non-blocking.
                Err(Errno::AGAIN) => drop(poll(&mut [PollFd::new(&file, PollFlags::OUT)], None)),
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether the reader has closed the pipe, as `head` does.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
