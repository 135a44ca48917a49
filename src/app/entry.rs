//! A short text being typed.

/// The longest text that makes sense: save points, `3600 1 300 100 60 10000`.
const LONGEST: usize = 24;

/// A short text being typed, edited at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    text: String,
}

impl Entry {
    /// An entry that begins with `text`.
    pub fn starting_with(text: &str) -> Self {
        let mut entry = Self::default();
        text.chars().for_each(|c| entry.push(c));
        entry
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn push(&mut self, c: char) {
        if self.text.chars().count() < LONGEST {
            self.text.push(c);
        }
    }

    pub(super) fn erase(&mut self) {
        self.text.pop();
    }
}
