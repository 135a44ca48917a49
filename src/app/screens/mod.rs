//! The table of the screens: what each is called, which keys it has, what can be done on it. How they are drawn is the
//! terminal's table.
//!
//! Another screen is a file here with its [`Row`], a file in `tui/screens` that draws it, and a line in either table.
//! Keys, help, footer, palette, manual and mouse read the tables; a state of its own is a field of the [`Model`].

mod curve;
mod latency;
mod log;
mod overview;
mod segments;
mod server;

use super::{Binding, Context, Model, Pane};

/// The screens, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// Load, latency, probes, server and knobs on one time axis.
    #[default]
    Overview,
    /// Distributions and percentiles in full.
    Latency,
    /// What the server says of itself.
    Server,
    /// All segments with their knobs and results.
    Segments,
    /// Events and errors in words.
    Log,
    /// Throughput and latency over the value of a knob.
    Curve,
}

/// A row of the table.
pub(super) struct Row {
    /// Its name.
    name: &'static str,
    /// The key that shows it.
    key: char,
    /// What keys do on it alone.
    keys: &'static [Binding],
    /// Whether they do that now.
    work: fn(&Model) -> bool,
    /// What of it can be shown alone.
    panes: &'static [Pane],
    /// How one goes through its rows, if it has some.
    list: Option<List>,
}

/// What the keys of a list do.
#[derive(Clone, Copy)]
pub(super) struct List {
    /// Moves the selection by so many rows.
    pub select: fn(&mut Model, i16),
    /// Puts the cursor to the moment of the selected row.
    pub go: fn(&mut Model),
}

impl Row {
    /// A screen without keys, panes and rows of its own.
    const PLAIN: Self = Self { name: "", key: ' ', keys: &[], work: |_| true, panes: &[], list: None };
}

const TABLE: [(Screen, Row); 6] = [
    (Screen::Overview, overview::ROW),
    (Screen::Latency, latency::ROW),
    (Screen::Server, server::ROW),
    (Screen::Segments, segments::ROW),
    (Screen::Log, log::ROW),
    (Screen::Curve, curve::ROW),
];

impl Screen {
    /// All of them, in the order of the table.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Overview; TABLE.len()];
        let mut n = 0;
        while n < all.len() {
            all[n] = TABLE[n].0;
            n += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        const ROWS: &[(Screen, Row)] = &TABLE;
        &ROWS[self as usize].1
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The key that shows it.
    pub const fn key(self) -> char {
        self.row().key
    }

    /// What of it can be shown alone; nothing where it is one table.
    pub fn panes(self) -> &'static [Pane] {
        self.row().panes
    }

    /// What keys do on it alone.
    pub(super) fn keys(self) -> &'static [Binding] {
        self.row().keys
    }

    /// The part of the key table that is its own, while that holds.
    pub(super) fn context(self, model: &Model) -> Option<Context> {
        (!self.keys().is_empty() && (self.row().work)(model)).then_some(Context::Screen(self))
    }

    /// How one goes through its rows.
    pub(super) fn list(self) -> Option<List> {
        self.row().list
    }

    /// The one so many further, round the end.
    pub(super) fn turned(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_screen_finds_its_own_row_and_each_row_binds_its_own_keys() {
        for (n, screen) in Screen::ALL.into_iter().enumerate() {
            assert_eq!((screen as usize, screen.turned(Screen::ALL.len())), (n, screen));
            assert!(screen.keys().iter().all(|binding| binding.context == Context::Screen(screen)));
        }
    }
}
