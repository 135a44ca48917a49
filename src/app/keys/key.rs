//! Keys as the terminal reports them, whatever the terminal's library.

use std::fmt;

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCode {
    /// A printable character, shift applied.
    Char(char),
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Tab.
    Tab,
    /// Tab with Shift.
    BackTab,
    /// F1, which asks for help everywhere.
    F1,
}

/// A key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// Whether Ctrl was held.
    pub ctrl: bool,
}

impl Key {
    /// A key without Ctrl.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false }
    }
}

impl fmt::Display for KeyCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = match self {
            Self::Char(' ') => "Space",
            Self::Char(c) => return write!(f, "{c}"),
            Self::Up => "↑",
            Self::Down => "↓",
            Self::Left => "←",
            Self::Right => "→",
            Self::PageUp => "PgUp",
            Self::PageDown => "PgDn",
            Self::Home => "Home",
            Self::End => "End",
            Self::Enter => "Enter",
            Self::Esc => "Esc",
            Self::Backspace => "Backspace",
            Self::Delete => "Delete",
            Self::Tab => "Tab",
            Self::BackTab => "Shift-Tab",
            Self::F1 => "F1",
        };
        f.write_str(name)
    }
}

/// Which keys a binding matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// This key without Ctrl.
    Key(KeyCode),
    /// This letter with Ctrl.
    Ctrl(char),
    /// Anything that a text can be written with.
    Character,
}

impl Pattern {
    /// Whether it matches `key`.
    pub fn matches(self, key: Key) -> bool {
        match (self, key) {
            (Self::Key(code), Key { ctrl: false, .. }) => code == key.code,
            (Self::Ctrl(letter), Key { code: KeyCode::Char(c), ctrl: true }) => letter == c,
            (Self::Character, Key { code: KeyCode::Char(c), ctrl: false }) => !c.is_control(),
            _ => false,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Key(code) => code.fmt(f),
            Self::Ctrl(letter) => write!(f, "Ctrl-{}", letter.to_ascii_uppercase()),
            Self::Character => f.write_str("any character"),
        }
    }
}
