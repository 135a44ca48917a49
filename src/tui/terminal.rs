//! Prepares the terminal for the screen, and always restores the terminal at the end.

use std::{
    io, panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crossterm::{
    cursor, queue,
    style::{Attribute, Print, SetAttribute},
    terminal::{self, EndSynchronizedUpdate, LeaveAlternateScreen},
};
use parking_lot::Mutex;
use ratatui::layout::Rect;

use super::output::TerminalOutput;

/// The escape sequences that request reports of mouse buttons and the wheel, also beyond column 223. redyno does not
/// request movements of the mouse, because their reports would burden a slow connection.
pub(super) const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// The escape sequence that requests marks around pasted text. With these marks, redyno does not read pasted text as
/// keys.
pub(super) const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// Whether this program has set the terminal to raw mode and has not restored it yet.
static IS_RAW: AtomicBool = AtomicBool::new(false);
/// The message of a panic in any thread except the thread of the screen.
static PANICKED: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// A terminal in raw mode. Dropping this value restores the terminal.
pub struct Guard(());

impl Guard {
    /// Sets the terminal to raw mode. The alternate screen begins later, with
    /// [`Canvas::enter`](super::canvas::Canvas::enter).
    ///
    /// If this thread panics later, the terminal is restored before the panic is reported. The message of a
    /// panic in another thread is kept for [`panicked`], because the alternate screen would hide it.
    ///
    /// # Errors
    /// Fails if standard output is not a terminal, or the terminal is gone.
    pub fn take() -> io::Result<Self> {
        let screen = thread::current().id();
        HOOK.call_once(|| {
            let report = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if IS_RAW.load(Ordering::SeqCst) && thread::current().id() != screen {
                    let name = thread::current().name().unwrap_or("without a name").to_owned();
                    PANICKED.lock().get_or_insert(format!("thread {name}: {info}"));
                    return;
                }
                restore();
                report(info);
            }));
        });
        take()?;
        Ok(Self(()))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Returns the message of a panic in another thread while the screen was shown, and forgets the message.
pub fn panicked() -> Option<String> {
    PANICKED.lock().take()
}

/// Sets the terminal to raw mode. The function also works after the process was stopped, or after the shell has changed
/// the terminal's modes.
pub fn take() -> io::Result<()> {
    IS_RAW.store(true, Ordering::SeqCst);
    let taken = terminal::enable_raw_mode();
    if taken.is_err() {
        restore();
    }
    taken
}

/// Restores the terminal. If the terminal accepts no output, the function gives up after about a second. Any code may
/// call this function: it does nothing if the terminal is already restored.
pub fn restore() {
    if !IS_RAW.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    let queued = queue!(
        bytes,
        EndSynchronizedUpdate,
        SetAttribute(Attribute::Reset),
        Print(MOUSE_OFF),
        Print(PASTE_OFF),
        cursor::Show,
        LeaveAlternateScreen
    );
    // If the terminal is gone (SIGHUP), it cannot be restored, and no error can be reported.
    drop(queued.and_then(|()| TerminalOutput::open()?.send_last(&bytes)));
    drop(terminal::disable_raw_mode());
}

/// Returns the size of the terminal. If the system does not know the size (0×0), the variables `COLUMNS` and `LINES`
/// are used. Without these variables, the size is 80×24.
pub fn size() -> Rect {
    let known = terminal::size().ok().filter(|(w, h)| *w > 0 && *h > 0);
    let said = |name: &str, usual: u16| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).filter(|n| *n > 0).unwrap_or(usual)
    };
    let (width, height) = known.unwrap_or_else(|| (said("COLUMNS", 80), said("LINES", 24)));
    Rect::new(0, 0, width, height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restoring_a_terminal_that_was_not_taken_does_nothing() {
        restore();
        assert!(!IS_RAW.load(Ordering::SeqCst));
    }
}
