//! Keys as the terminal reports them, whatever the terminal's library.

use std::fmt;

macro_rules! key_codes {
    ($($key:ident $name:literal,)*) => {
        /// A key without its modifiers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum KeyCode {
            /// A printable character, shift applied.
            Char(char),
            $(#[doc = $name] $key,)*
        }

        impl fmt::Display for KeyCode {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                match self {
                    Self::Char(' ') => f.write_str("Space"),
                    Self::Char(c) => write!(f, "{c}"),
                    $(Self::$key => f.write_str($name),)*
                }
            }
        }

        /// All that are no characters.
        #[cfg(test)]
        pub(super) const NAMED_KEYS: &[KeyCode] = &[$(KeyCode::$key,)*];
    };
}

key_codes! {
    Up "↑", Down "↓", Left "←", Right "→",
    PageUp "PgUp", PageDown "PgDn", Home "Home", End "End",
    Enter "Enter", Esc "Esc", Backspace "Backspace", Delete "Delete",
    Tab "Tab", BackTab "Shift-Tab", F1 "F1",
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
