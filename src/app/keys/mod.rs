//! The one key table: it feeds dispatch, footer, help overlay and manual page. It is put together from one part for each kind
//! of place.

/// A part of the table: for each place a row a binding, with the keys and what each does, the keys as help and manual
/// write them, the hint, and the help.
macro_rules! key_table {
    ($(in $context:expr; $($keys:expr, $written:expr, $hint:expr, $help:literal;)*)*) => {
        &[$($($crate::app::Binding { context: $context, keys: $keys, written: $written, hint: $hint, help: $help },)*)*]
    };
}

mod action;
mod key;
mod lookup;
mod main;
mod modes;
mod screens;

pub use action::{Action, Context, Landmark};
pub use key::{Key, KeyCode, Pattern};
pub use lookup::{action, footer};
pub use screens::{Pane, Screen};

/// One line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it holds.
    pub context: Context,
    /// Which keys, and what each does.
    pub keys: &'static [(Pattern, Action)],
    /// The keys as help and manual write them.
    pub written: &'static str,
    /// The keys and one word for the footer, and when it goes as room runs out: 0 never, 9 first.
    pub hint: Option<(&'static str, &'static str, u8)>,
    /// What it does, in a sentence.
    pub help: &'static str,
}

/// All bindings, in the order in which help, footer and palette list them.
pub fn bindings() -> impl Iterator<Item = &'static Binding> {
    let screens = Screen::ALL.into_iter().map(Screen::keys);
    let parts = [main::STEER, main::ALONE].into_iter().chain(screens);
    parts.chain([main::KEEP, modes::KEYS]).flatten()
}

/// To a shorter or a longer stretch of time.
const ZOOM: &[(Pattern, Action)] =
    &[(on('+'), Action::ZoomIn), (on('='), Action::ZoomIn), (on('-'), Action::ZoomOut)];

/// A character.
const fn on(c: char) -> Pattern {
    Pattern::Key(KeyCode::Char(c))
}

/// A key that is no character.
const fn key(code: KeyCode) -> Pattern {
    Pattern::Key(code)
}

/// Through the rows of a list.
const ROWS: &[(Pattern, Action)] = &[
    (key(KeyCode::Up), Action::SelectRow(-1)),
    (key(KeyCode::Down), Action::SelectRow(1)),
    (on('k'), Action::SelectRow(-1)),
    (on('j'), Action::SelectRow(1)),
    (key(KeyCode::PageUp), Action::SelectRow(-10)),
    (key(KeyCode::PageDown), Action::SelectRow(10)),
    (key(KeyCode::Home), Action::SelectRow(i16::MIN)),
    (key(KeyCode::End), Action::SelectRow(i16::MAX)),
];
/// The same, as help and manual write them.
const ROWS_WRITTEN: &str = "↑, ↓, k, j, PgUp, PgDn, Home, End";
