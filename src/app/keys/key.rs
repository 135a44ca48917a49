//! Keys as the terminal reports them, whatever the terminal's library.

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

/// Which keys a binding matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// This key without Ctrl.
    Key(KeyCode),
    /// This letter with Ctrl.
    Ctrl(char),
    /// Anything that a value can be written with.
    Printable,
    /// Anything that a text can be written with.
    Character,
}

impl Pattern {
    /// Whether it matches `key`.
    pub fn matches(self, key: Key) -> bool {
        match (self, key) {
            (Self::Key(code), Key { ctrl: false, .. }) => code == key.code,
            (Self::Ctrl(letter), Key { code: KeyCode::Char(c), ctrl: true }) => letter == c,
            (Self::Printable, Key { code: KeyCode::Char(c), ctrl: false }) => {
                c.is_ascii_alphanumeric() || " .%/".contains(c)
            }
            (Self::Character, Key { code: KeyCode::Char(c), ctrl: false }) => !c.is_control(),
            _ => false,
        }
    }
}
