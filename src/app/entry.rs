//! A short text being typed.

/// The longest value that makes sense: save points, `3600 1 300 100 60 10000`.
const LONGEST_VALUE: usize = 24;
/// The longest sentence: more does not stand in a line.
const LONGEST_SENTENCE: usize = 80;

/// A short text being typed, edited at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    text: String,
    longest: usize,
}

impl Entry {
    /// An entry for a value that begins with `text`.
    pub fn starting_with(text: &str) -> Self {
        Self::of_length(text, LONGEST_VALUE)
    }

    /// An entry for words that begins with `text`.
    pub fn sentence(text: &str) -> Self {
        Self::of_length(text, LONGEST_SENTENCE)
    }

    fn of_length(text: &str, longest: usize) -> Self {
        let mut entry = Self { text: String::new(), longest };
        text.chars().for_each(|c| entry.push(c));
        entry
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn push(&mut self, c: char) {
        if self.text.chars().count() < self.longest {
            self.text.push(c);
        }
    }

    pub(super) fn erase(&mut self) {
        self.text.pop();
    }
}
