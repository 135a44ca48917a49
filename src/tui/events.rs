//! What the terminal tells us, in the words of the app.

use std::{io, time::Duration};

use ratatui::crossterm::event::{
    self, Event as Raw, KeyCode as RawCode, KeyEvent, KeyModifiers, MouseButton, MouseEventKind,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    stdio::{stdin, stdout},
    termios::isatty,
};

use crate::app::{Gesture, Key, KeyCode};

/// Something the terminal told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// The mouse did something at this column and row.
    Mouse(Gesture, u16, u16),
    /// A text came from the terminal's clipboard.
    Paste(String),
    /// The terminal has another size.
    Resize,
}

/// Where events come from: the terminal, or a script in a test.
pub trait Events {
    /// The next event, waiting no longer than `wait`; `None` when none came.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn next(&mut self, wait: Duration) -> io::Result<Option<Event>>;
}

/// The terminal on standard input.
#[derive(Debug)]
pub struct TerminalEvents;

impl TerminalEvents {
    /// Begins to listen. A change of size from here on is not missed: until it listens, crossterm does not hear
    /// SIGWINCH.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn begin() -> io::Result<Self> {
        wait_for_input(Duration::ZERO)?;
        event::poll(Duration::ZERO)?;
        Ok(Self)
    }
}

impl Events for TerminalEvents {
    /// crossterm is asked only while the terminal is there, and never waits itself: it reads a terminal that is
    /// gone (a dropped SSH line) for ever.
    fn next(&mut self, wait: Duration) -> io::Result<Option<Event>> {
        wait_for_input(Duration::ZERO)?;
        if !event::poll(Duration::ZERO)? {
            wait_for_input(wait)?;
            // Changes of size come to crossterm by a signal, so it is asked even when there is no input.
            if !event::poll(Duration::ZERO)? {
                return Ok(None);
            }
        }
        Ok(decode(&event::read()?))
    }
}

/// Returns when there is input, or after `wait`.
///
/// # Errors
/// When the terminal is gone.
fn wait_for_input(wait: Duration) -> io::Result<()> {
    let (stdin, stdout) = (stdin(), stdout());
    let mut terminals = vec![PollFd::new(&stdout, PollFlags::IN)];
    if isatty(stdin) {
        terminals.push(PollFd::new(&stdin, PollFlags::IN));
    }
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut terminals, Some(&wait)) {
        // A signal woke us.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if terminals.iter().any(|terminal| terminal.revents().intersects(gone)) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up"));
    }
    Ok(())
}

/// An event in our words; `None` for what means nothing here: releases, drags, focus, unknown keys.
fn decode(raw: &Raw) -> Option<Event> {
    match raw {
        Raw::Resize(..) => Some(Event::Resize),
        Raw::Paste(text) => Some(Event::Paste(text.clone())),
        Raw::Mouse(mouse) => {
            let gesture = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Gesture::Click,
                MouseEventKind::ScrollUp => Gesture::Wheel { up: true },
                MouseEventKind::ScrollDown => Gesture::Wheel { up: false },
                _ => return None,
            };
            Some(Event::Mouse(gesture, mouse.column, mouse.row))
        }
        Raw::Key(key) if key.is_press() || key.is_repeat() => decode_key(key).map(Event::Key),
        _ => None,
    }
}

fn decode_key(key: &KeyEvent) -> Option<Key> {
    let code = match key.code {
        RawCode::Char(c) => KeyCode::Char(c),
        RawCode::Up => KeyCode::Up,
        RawCode::Down => KeyCode::Down,
        RawCode::Left => KeyCode::Left,
        RawCode::Right => KeyCode::Right,
        RawCode::PageUp => KeyCode::PageUp,
        RawCode::PageDown => KeyCode::PageDown,
        RawCode::Home => KeyCode::Home,
        RawCode::End => KeyCode::End,
        RawCode::Enter => KeyCode::Enter,
        RawCode::Esc => KeyCode::Esc,
        RawCode::Backspace => KeyCode::Backspace,
        RawCode::Delete => KeyCode::Delete,
        RawCode::Tab => KeyCode::Tab,
        RawCode::BackTab => KeyCode::BackTab,
        RawCode::F(1) => KeyCode::F1,
        _ => return None,
    };
    // Alt and the like are other keys, of which we use none.
    let others = KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META | KeyModifiers::HYPER;
    (!key.modifiers.intersects(others))
        .then(|| Key { code, ctrl: key.modifiers.contains(KeyModifiers::CONTROL) })
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyEventKind;

    use super::*;

    #[test]
    fn presses_count_releases_and_alt_do_not() {
        let press = |code, modifiers| decode(&Raw::Key(KeyEvent::new(code, modifiers)));
        let q = Key::plain(KeyCode::Char('q'));
        assert_eq!(press(RawCode::Char('q'), KeyModifiers::NONE), Some(Event::Key(q)));
        assert_eq!(press(RawCode::Char('q'), KeyModifiers::ALT), None);
        let ctrl_c = Key { code: KeyCode::Char('c'), ctrl: true };
        assert_eq!(press(RawCode::Char('c'), KeyModifiers::CONTROL), Some(Event::Key(ctrl_c)));
        assert_eq!(press(RawCode::Insert, KeyModifiers::NONE), None);
        let mut release = KeyEvent::new(RawCode::Char('q'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(decode(&Raw::Key(release)), None);
        assert_eq!(decode(&Raw::Resize(0, 0)), Some(Event::Resize));
    }
}
