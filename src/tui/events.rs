//! Converts the terminal's events (keys, mouse, size) to the types of the room `app`.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{self, Event as Raw, KeyEvent, KeyModifiers, MouseButton, MouseEventKind};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Signal, getpid, kill_process},
    stdio::{stdin, stdout},
    termios::isatty,
};

use super::background::{Background, LateAnswerFilter};
use crate::app::{Gesture, Key, KeyCode};

/// The longest wait for an event. crossterm spins for the last millisecond of each wait.
const LOOK: Duration = Duration::from_secs(10);

/// The timeout for the start of the reader thread, and for its end.
const LONGEST: Duration = Duration::from_secs(1);

/// An event of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEvent {
    /// A key was pressed.
    Key(Key),
    /// An action of the mouse at this column and row.
    Mouse(Gesture, u16, u16),
    /// A text was pasted.
    Paste(String),
    /// The terminal has a new size.
    Resize,
}

/// The source of events: the terminal, or a script in a test.
pub trait EventSource {
    /// Returns the next event, or `None` if no event arrives within `wait`.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    fn next(&mut self, wait: Duration) -> io::Result<Option<TerminalEvent>>;
}

/// The terminal on standard input, read by a separate thread. crossterm may block in an incomplete escape sequence. If
/// the terminal is gone, crossterm blocks forever, for example after a dropped SSH connection. With a separate thread,
/// a blocked read does not stop the screen.
pub struct TerminalEvents {
    events: Receiver<io::Result<Option<TerminalEvent>>>,
    is_over: Arc<AtomicBool>,
    /// The keys that were pressed before the thread began to read.
    typed: VecDeque<TerminalEvent>,
}

/// Returns the key of a byte that was read from the terminal. Returns `None` for a part of an escape sequence.
fn typed_key(byte: u8) -> Option<TerminalEvent> {
    let key = match byte {
        b'\r' => Key::plain(KeyCode::Enter),
        3 => Key { code: KeyCode::Char('c'), ctrl: true },
        b' '..=b'~' => Key::plain(KeyCode::Char(byte.into())),
        _ => return None,
    };
    Some(TerminalEvent::Key(key))
}

impl TerminalEvents {
    /// Begins to read events, after the query for the background. From this call on, every change of the
    /// terminal's size is an event. crossterm does not receive SIGWINCH earlier.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn begin(before: &Background) -> io::Result<Self> {
        let (sender, events) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let late = LateAnswerFilter::of(before);
        thread::Builder::new().name("keys".into()).spawn(move || listen(&sender, late, &over))?;
        let typed = before.typed.iter().filter_map(|byte| typed_key(*byte)).collect();
        let begun = Self { events, is_over, typed };
        // The thread's first message only reports that the thread reads events.
        begun.events.recv_timeout(LONGEST).map_or(Ok(()), |event| event.map(drop))?;
        Ok(begun)
    }
}

impl EventSource for TerminalEvents {
    fn next(&mut self, wait: Duration) -> io::Result<Option<TerminalEvent>> {
        check_terminal()?;
        if let Some(event) = self.typed.pop_front() {
            return Ok(Some(event));
        }
        match self.events.recv_timeout(wait) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => check_terminal().map(|()| None),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

impl Drop for TerminalEvents {
    /// Waits until the thread has stopped reading, so that later keys go to the shell. The signal of a new size wakes
    /// the thread. The wait also ends when the terminal is gone.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = kill_process(getpid(), Signal::WINCH);
        while check_terminal().is_ok() && self.events.recv_timeout(LONGEST).is_ok() {}
    }
}

/// Reads the terminal's events and sends each event to the main loop. The first message is `None`, and means that the
/// thread reads events now.
fn listen(
    events: &Sender<io::Result<Option<TerminalEvent>>>,
    mut late: LateAnswerFilter,
    is_over: &AtomicBool,
) {
    let mut sent = events.send(event::poll(Duration::ZERO).map(|_| None));
    while sent.is_ok() && !is_over.load(Ordering::Acquire) {
        sent = match event::poll(LOOK) {
            Ok(false) => continue,
            Ok(true) => events.send(event::read().map(|raw| match raw {
                Raw::Key(key) if late.takes(&key, Instant::now()) => None,
                raw => decode(&raw),
            })),
            Err(error) => events.send(Err(error)),
        };
    }
}

/// Returns an error when the terminal is gone.
fn check_terminal() -> io::Result<()> {
    let (stdin, stdout) = (stdin(), stdout());
    let mut terminals = vec![PollFd::new(&stdout, PollFlags::empty())];
    if isatty(stdin) {
        terminals.push(PollFd::new(&stdin, PollFlags::empty()));
    }
    match poll(&mut terminals, Some(&Timespec::default())) {
        // A signal interrupted the system call.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let hung_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let is_gone = terminals.iter().any(|terminal| terminal.revents().intersects(hung_up));
    if is_gone { Err(gone()) } else { Ok(()) }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up")
}

/// Returns the event in the app's types. Returns `None` for events that redyno ignores, such as key releases, drags and
/// focus changes.
fn decode(raw: &Raw) -> Option<TerminalEvent> {
    match raw {
        Raw::Resize(..) => Some(TerminalEvent::Resize),
        Raw::Paste(text) => Some(TerminalEvent::Paste(text.clone())),
        Raw::Mouse(mouse) => {
            let gesture = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Gesture::Click,
                MouseEventKind::ScrollUp => Gesture::Wheel { up: true },
                MouseEventKind::ScrollDown => Gesture::Wheel { up: false },
                _ => return None,
            };
            Some(TerminalEvent::Mouse(gesture, mouse.column, mouse.row))
        }
        Raw::Key(key) if key.is_press() || key.is_repeat() => decode_key(key).map(TerminalEvent::Key),
        _ => None,
    }
}

/// Returns the key of an event. Returns `None` for keys with Alt and similar modifiers, because redyno does not use
/// these keys.
fn decode_key(key: &KeyEvent) -> Option<Key> {
    let others = KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META | KeyModifiers::HYPER;
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    (!key.modifiers.intersects(others)).then_some(Key { code: key.code, ctrl })
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEventKind;

    use super::*;

    #[test]
    fn key_presses_are_events_but_releases_and_alt_keys_are_not() {
        let press = |code, modifiers| decode(&Raw::Key(KeyEvent::new(code, modifiers)));
        let q = Key::plain(KeyCode::Char('q'));
        assert_eq!(press(KeyCode::Char('q'), KeyModifiers::NONE), Some(TerminalEvent::Key(q)));
        assert_eq!(press(KeyCode::Char('q'), KeyModifiers::ALT), None);
        let ctrl_c = Key { code: KeyCode::Char('c'), ctrl: true };
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(TerminalEvent::Key(ctrl_c)));
        let insert = Key::plain(KeyCode::Insert);
        assert_eq!(press(insert.code, KeyModifiers::NONE), Some(TerminalEvent::Key(insert)));
        let mut release = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(decode(&Raw::Key(release)), None);
        assert_eq!(decode(&Raw::Resize(0, 0)), Some(TerminalEvent::Resize));
    }
}
