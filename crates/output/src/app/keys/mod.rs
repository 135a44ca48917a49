//! The key table: the action of each key, and the texts about keys in the footer, the help and the manual page. Each
//! submodule has a part of the key table. This code uses only the names of keys from crossterm (the terminal library).

/// Makes a part of the key table. Each context has bindings. Each binding has actions with their keys, the
/// keys as text, the hint for the footer, and the help.
macro_rules! key_table {
    ($(in $context:expr; $($actions:expr, $written:expr, $hint:expr, $help:literal;)*)*) => {
        &[$($($crate::app::Binding { context: $context, actions: $actions, written: $written, hint: $hint, help: $help },)*)*]
    };
}

mod action;
mod modes;
mod screens;

pub use self::action::{Action, JumpTarget};
pub use crossterm::event::KeyCode;

use std::fmt;

use self::action::does;
use super::{Context, Screen};

/// A line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The context in which the keys of this line work.
    pub context: Context,
    /// The actions of the line, each with its keys.
    pub actions: &'static [Action],
    /// The keys as help and manual show them.
    pub written: &'static str,
    /// The hint in the footer: the keys, a word, and a rank. A footer that is too narrow leaves out hints with a high
    /// rank first. Hints with rank 0 always stay.
    pub hint: Option<(&'static str, &'static str, u8)>,
    /// The help text about the effect of the keys.
    pub help: &'static str,
}

/// Returns all bindings, in the order in which help, footer and palette list them.
pub fn bindings() -> impl Iterator<Item = &'static Binding> {
    let screens = Screen::ALL.into_iter().map(Screen::keys);
    let parts = [modes::STEER, modes::ALONE].into_iter().chain(screens);
    parts.chain([modes::KEEP, modes::KEYS]).flatten()
}

/// The keys to zoom in or out.
const ZOOM: &[Action] = &[
    does(&[on('+'), on('=')], "zoom in", |model| model.zoom_or_say(true)),
    does(&[on('-')], "zoom out", |model| model.zoom_or_say(false)),
];

/// Returns the key of a character.
const fn on(c: char) -> KeyPattern {
    KeyPattern::Key(KeyCode::Char(c))
}

/// Returns a key that is not a character.
const fn key(code: KeyCode) -> KeyPattern {
    KeyPattern::Key(code)
}

/// The keys to move through the rows of a list.
const ROWS: &[Action] = &[
    does(&[key(KeyCode::Up), on('k')], "select up by 1", |model| model.select_row(-1)),
    does(&[key(KeyCode::Down), on('j')], "select down by 1", |model| model.select_row(1)),
    does(&[key(KeyCode::PageUp)], "select up by 10", |model| model.select_row(-10)),
    does(&[key(KeyCode::PageDown)], "select down by 10", |model| model.select_row(10)),
    does(&[key(KeyCode::Home)], "select the first row", |model| model.select_row(i16::MIN)),
    does(&[key(KeyCode::End)], "select the last row", |model| model.select_row(i16::MAX)),
];
/// The keys of [`ROWS`] as help and manual show them.
const ROWS_WRITTEN: &str = "↑, ↓, k, j, PgUp, PgDn, Home, End";

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// Whether Ctrl was held.
    pub ctrl: bool,
}

impl Key {
    /// Returns a key without Ctrl.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false }
    }
}

/// The keys that a binding matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPattern {
    /// This key without Ctrl.
    Key(KeyCode),
    /// This letter with Ctrl.
    Ctrl(char),
    /// Any printable character.
    Character,
}

impl KeyPattern {
    /// Returns whether the pattern matches `key`.
    pub fn matches(self, key: Key) -> bool {
        match (self, key) {
            (Self::Key(code), Key { ctrl: false, .. }) => code == key.code,
            (Self::Ctrl(letter), Key { code: KeyCode::Char(c), ctrl: true }) => letter == c,
            (Self::Character, Key { code: KeyCode::Char(c), ctrl: false }) => !c.is_control(),
            _ => false,
        }
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Key(KeyCode::Up) => f.write_str("↑"),
            Self::Key(KeyCode::Down) => f.write_str("↓"),
            Self::Key(KeyCode::Left) => f.write_str("←"),
            Self::Key(KeyCode::Right) => f.write_str("→"),
            Self::Key(KeyCode::PageUp) => f.write_str("PgUp"),
            Self::Key(KeyCode::PageDown) => f.write_str("PgDn"),
            Self::Key(KeyCode::BackTab) => f.write_str("Shift-Tab"),
            Self::Key(code) => code.fmt(f),
            Self::Ctrl(letter) => write!(f, "Ctrl-{}", letter.to_ascii_uppercase()),
            Self::Character => f.write_str("any character"),
        }
    }
}

/// Returns the action of `key` in these contexts. If several contexts bind the key, the first of these contexts
/// applies.
pub fn action(contexts: &[Context], key: Key) -> Option<Action> {
    let of = |context: &Context| {
        let here = bindings().filter(|binding| binding.context == *context);
        here.flat_map(|binding| binding.actions)
            .find(|action| action.keys.iter().any(|pattern| pattern.matches(key)))
    };
    contexts.iter().find_map(of).copied()
}

/// Returns the footer's hints for these contexts, each as keys and a word. The footer has `width` columns, and writes
/// each hint as `keys word` with two blanks between hints. If there is too little room, the least important hints are
/// left out first. The hints for help and quit always stay.
pub fn footer(
    contexts: &[Context],
    width: usize,
    written: impl Fn(&str) -> String,
) -> Vec<(String, &'static str)> {
    // In a frozen view or a recording, the footer leaves out most general keys; the help still lists them.
    let travels = contexts.contains(&Context::Time);
    let is_shown = |at: Context, hint: &(&str, &str, u8)| at != Context::Main || !travels || hint.2 == 0;
    let of = |at: &Context| {
        let at = *at;
        let here = bindings().filter(move |binding| binding.context == at);
        here.filter_map(|binding| binding.hint).filter(move |hint| is_shown(at, hint))
    };
    let mut hints: Vec<(String, &str, u8)> = Vec::new();
    for (keys, word, shed) in contexts.iter().flat_map(of) {
        let keys = written(keys);
        // If two contexts bind the same keys, the first context has precedence.
        if !hints.iter().any(|(known, ..)| known.split(", ").any(|known| known == keys)) {
            hints.push((keys, word, shed));
        }
    }
    hints.sort_by_key(|(.., shed)| *shed > 0);
    let length = |hints: &[(String, &str, u8)]| {
        let words = hints.iter().map(|(keys, word, _)| keys.chars().count() + word.chars().count() + 3);
        words.sum::<usize>().saturating_sub(2)
    };
    while length(&hints) > width {
        let least = hints.iter().map(|(.., shed)| *shed).max().unwrap_or(0);
        if least == 0 {
            break;
        }
        hints.retain(|(.., shed)| *shed != least);
    }
    hints.into_iter().map(|(keys, word, _)| (keys, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{KeyCode, Screen};

    /// The keys that are not characters.
    const NAMED_KEYS: [KeyCode; 15] = [
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::F(1),
    ];

    fn every_key() -> Vec<Key> {
        let all = (' '..='~').map(KeyCode::Char).chain(NAMED_KEYS);
        all.flat_map(|code| [Key { code, ctrl: false }, Key { code, ctrl: true }]).collect()
    }

    #[test]
    fn no_key_means_two_things_in_one_context() {
        for context in Context::all() {
            for key in every_key() {
                let here = bindings().filter(|b| b.context == context || b.context == Context::Anywhere);
                let found: Vec<_> =
                    here.flat_map(|b| b.actions).filter(|a| a.keys.iter().any(|p| p.matches(key))).collect();
                assert!(found.len() <= 1, "{key:?} in {context:?} means {found:?}");
            }
        }
    }

    #[test]
    fn every_binding_can_be_reached_by_a_key() {
        for binding in bindings() {
            for pattern in binding.actions.iter().flat_map(|action| action.keys) {
                assert!(every_key().iter().any(|key| pattern.matches(*key)), "{pattern:?}");
            }
        }
    }

    #[test]
    fn the_footer_leaves_out_hints_in_order_and_keeps_help_and_quit() {
        let words = |width| {
            footer(&[Context::Main, Context::Anywhere], width, str::to_owned)
                .iter()
                .map(|(_, word)| *word)
                .collect::<Vec<_>>()
        };
        assert!(words(200).contains(&"export"));
        assert_eq!(words(56), ["quit", "help", "load", "knob", "turn", "freeze"]);
        assert_eq!(words(0), ["quit", "help"]);
    }

    #[test]
    fn the_footer_names_no_key_twice() {
        let hints = footer(
            &[Context::Screen(Screen::Segments), Context::Main, Context::Anywhere],
            300,
            str::to_owned,
        );
        let of =
            |keys: &str| hints.iter().filter(|hint| hint.0 == keys).map(|hint| hint.1).collect::<Vec<_>>();
        assert_eq!((of("↑↓"), of("←→"), of("Enter")), (vec!["select"], vec!["sort"], vec!["go there"]));
    }
}
