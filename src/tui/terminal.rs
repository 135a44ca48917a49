//! Prepares the terminal for the screen, and always restores it.

use std::{
    io, panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use parking_lot::Mutex;
use ratatui::{
    crossterm::{
        cursor, queue,
        style::{Attribute, Print, SetAttribute},
        terminal::{self, EndSynchronizedUpdate, LeaveAlternateScreen},
    },
    layout::Rect,
};

use super::wire::Wire;

/// Requests reports of mouse buttons and the wheel, also beyond column 223. Movements are not reported: they would
/// burden a slow line.
pub(super) const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// Requests that the terminal marks pasted text, so that it is not read as keys.
pub(super) const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// Whether the terminal is in raw mode now, because of this program.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The message of a panic in any thread except the screen's.
static PANICKED: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// A terminal in raw mode; dropping this value restores the terminal.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Sets the terminal to raw mode. The screen itself begins only with [`Canvas::enter`](super::canvas::Canvas::enter).
    ///
    /// From then on, a panic of this thread restores the terminal before it is reported. If another thread panics,
    /// its message is kept for [`panicked`], since a report would be lost in the alternate screen.
    ///
    /// # Errors
    /// When standard output is not a terminal, or it is gone.
    pub fn take() -> io::Result<Self> {
        let screen = thread::current().id();
        HOOK.call_once(|| {
            let report = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if TAKEN.load(Ordering::SeqCst) && thread::current().id() != screen {
                    let name = thread::current().name().unwrap_or("without a name").to_owned();
                    PANICKED.lock().get_or_insert(format!("thread {name}: {info}"));
                    return;
                }
                give_back();
                report(info);
            }));
        });
        take()?;
        Ok(Self(()))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Returns the message of another thread that panicked while the screen was shown. A second call returns `None`.
pub fn panicked() -> Option<String> {
    PANICKED.lock().take()
}

/// Sets raw mode, also again after the process was stopped or the shell has changed the terminal's modes.
pub fn take() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    let taken = terminal::enable_raw_mode();
    if taken.is_err() {
        give_back();
    }
    taken
}

/// Restores the terminal. If it accepts no output, gives up after about a second. Does nothing if the terminal is
/// restored already, so any code may call this function.
pub fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
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
    // The terminal may be gone (SIGHUP). Then it cannot be restored, and no error can be reported.
    drop(queued.and_then(|()| Wire::open()?.send_last(&bytes)));
    drop(terminal::disable_raw_mode());
}

/// Returns the size of the terminal. If the system does not know the size (0×0), returns `COLUMNS` and `LINES`, or
/// 80×24.
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
    fn giving_back_what_was_not_taken_does_nothing() {
        give_back();
        assert!(!TAKEN.load(Ordering::SeqCst));
    }
}
