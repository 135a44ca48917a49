//! Decides whether the screen, a question or an input line receives a key press. There is only one receiver at a time.
//!
//! All input lines of the screen use the same [`TextEntry`]: a short text that the user types, with a caret.

use super::{Context, ParameterChange};
use crate::experiment::ExperimentSpec;

/// The receiver of the keys that the user presses.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum InputMode {
    /// The screen.
    #[default]
    Screen,
    /// A question that waits for yes or no. The default is no.
    Asking(UserQuestion),
    /// A text that is being typed.
    Typing(Typing),
    /// The box with a command line to copy.
    CommandLine {
        /// The command line.
        text: String,
        /// What else is necessary to run the segment again, such as parameters to set; may be empty.
        note: String,
    },
    /// An entry of the slow log, or a client, in full.
    InFull {
        /// The heading with the kind of the text.
        title: &'static str,
        /// The text, with a line for each fact.
        text: String,
    },
    /// The view of the server's keys.
    Keys,
}

/// A question to the user before redyno does something.
#[derive(Debug, Clone, PartialEq)]
pub enum UserQuestion {
    /// Whether redyno may write to this server. The text is the reason for the question.
    FirstWrite(String),
    /// Whether this parameter of the server may be set.
    SetConfig(ParameterChange),
    /// Whether to begin an experiment that sets server parameters.
    Experiment {
        /// A text that names the effects of the experiment.
        question: String,
        /// The experiment.
        asked: ExperimentSpec,
    },
    /// Whether to make a change that may do harm. The text names the harm.
    Danger(String),
    /// Whether to take a sample by MONITOR. The text names its cost.
    Monitor(String),
}

/// A text that is being typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Typing {
    /// The purpose of the text.
    pub purpose: Purpose,
    /// The text so far.
    pub entry: TextEntry,
}

/// The purpose of a typed text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Purpose {
    /// A value for the selected knob.
    Knob,
    /// A value for the selected parameter of the server.
    Parameter,
    /// The search in the log.
    Search,
    /// The text of a mark on the time axis.
    Mark {
        /// The moment of the mark, in seconds of the session.
        t_s: f64,
    },
    /// A command in the palette, by its name.
    Command {
        /// The position of the selected command in the list of matches. The best match has position 0.
        chosen: usize,
    },
    /// The search in the help.
    Help {
        /// The number of lines of the help above the first line shown.
        scroll: u16,
    },
    /// The length of a run of the intrinsic probe, in seconds.
    Intrinsic,
}

impl InputMode {
    /// Returns the key contexts of this mode, in order of precedence. Returns `None` for the screen, because its
    /// contexts depend on the view.
    pub(super) fn contexts(&self) -> Option<&'static [Context]> {
        match self {
            Self::Screen => None,
            Self::Asking(_) => Some(&[Context::Question]),
            Self::Typing(typing) => Some(match typing.purpose {
                Purpose::Search => &[Context::Search, Context::Typing],
                Purpose::Command { .. } => &[Context::Palette, Context::Typing],
                Purpose::Help { .. } => &[Context::Help, Context::Typing],
                _ => &[Context::Typing],
            }),
            Self::Keys => Some(&[Context::Keys]),
            Self::CommandLine { .. } | Self::InFull { .. } => Some(&[Context::CommandLine]),
        }
    }
}

/// The kind of an input line. The kind determines the characters that the user may type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Quantity,
    Sentence,
}

impl EntryKind {
    /// Returns the maximum length in characters. The longest value that users usually type is a list of save
    /// points, `3600 1 300 100 60 10000`. A sentence must fit in a line.
    fn longest(self) -> usize {
        match self {
            Self::Quantity => 24,
            Self::Sentence => 80,
        }
    }

    fn takes(self, c: char) -> bool {
        match self {
            Self::Quantity => c.is_ascii_alphanumeric() || " .-%/".contains(c),
            Self::Sentence => !c.is_control(),
        }
    }
}

/// A short text that is being typed, with a caret between two of its characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEntry {
    before: String,
    after: String,
    kind: EntryKind,
}

impl TextEntry {
    /// Creates an input line for a quantity, with `text` as its first content.
    pub fn quantity(text: &str) -> Self {
        Self::of(text, EntryKind::Quantity)
    }

    /// Creates an input line for words, with `text` as its first content.
    pub fn sentence(text: &str) -> Self {
        Self::of(text, EntryKind::Sentence)
    }

    fn of(text: &str, kind: EntryKind) -> Self {
        let mut entry = Self { before: String::new(), after: String::new(), kind };
        text.chars().for_each(|c| entry.insert(c));
        entry
    }

    /// Returns the text so far.
    pub fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// Returns the text before and after the caret.
    pub fn around_caret(&self) -> (&str, &str) {
        (&self.before, &self.after)
    }

    /// Inserts a character at the caret, if the entry allows this character and has room.
    pub(super) fn insert(&mut self, c: char) {
        let length = self.before.chars().count() + self.after.chars().count();
        if length < self.kind.longest() && self.kind.takes(c) {
            self.before.push(c);
        }
    }

    /// Inserts a text. Line breaks and other control characters become blanks.
    pub(super) fn paste(&mut self, text: &str) {
        text.trim().chars().for_each(|c| self.insert(if c.is_whitespace() { ' ' } else { c }));
    }

    /// Removes the character before the caret.
    pub(super) fn erase(&mut self) {
        self.before.pop();
    }

    /// Removes the character after the caret.
    pub(super) fn delete(&mut self) {
        if !self.after.is_empty() {
            self.after.remove(0);
        }
    }

    /// Moves the caret by this many characters, at most to the ends of the text.
    pub(super) fn move_caret(&mut self, by: i16) {
        for _ in 0..by.unsigned_abs() {
            if by < 0 {
                let Some(c) = self.before.pop() else { return };
                self.after.insert(0, c);
            } else {
                if self.after.is_empty() {
                    return;
                }
                self.before.push(self.after.remove(0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_typed_and_removed_at_the_caret() {
        let mut entry = TextEntry::sentence("größe");
        entry.move_caret(-2);
        entry.insert('x');
        assert_eq!(entry.around_caret(), ("gröx", "ße"));
        entry.erase();
        entry.delete();
        assert_eq!((entry.text().as_str(), entry.around_caret()), ("gröe", ("grö", "e")));
        entry.move_caret(i16::MIN);
        entry.erase();
        assert_eq!(entry.around_caret(), ("", "gröe"));
        entry.move_caret(i16::MAX);
        entry.delete();
        assert_eq!(entry.around_caret(), ("gröe", ""));
    }

    #[test]
    fn a_pasted_text_becomes_one_line_and_no_entry_exceeds_its_maximum_length() {
        let mut entry = TextEntry::sentence("");
        entry.paste("\n two\tlines\nof it\x1b \n");
        assert_eq!(entry.text(), "two lines of it");
        entry.paste(&"x".repeat(200));
        assert_eq!(entry.text().chars().count(), EntryKind::Sentence.longest());
    }

    #[test]
    fn a_quantity_accepts_only_the_characters_of_quantities() {
        let mut entry = TextEntry::quantity("");
        entry.paste("1.5M/s,\"µ");
        assert_eq!(entry.text(), "1.5M/s");
    }
}
