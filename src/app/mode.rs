//! What takes the keys: the screen, a question, something that is typed (in the help, too). One at a time.
//!
//! A short text being typed: one for all that is typed on the screen.

use super::{Context, Setting};
use crate::experiment::ExperimentSpec;

/// What takes the keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Mode {
    /// The screen.
    #[default]
    Screen,
    /// A question that waits for yes or no; no is the default.
    Asking(Question),
    /// Something that is typed.
    Typing(Typing),
    /// A command line, for a person to take.
    CommandLine(String),
}

/// What is asked before it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// May we write to this server? In words.
    FirstWrite(String),
    /// May this parameter of the server be set?
    SetConfig(Setting),
    /// An experiment that sets parameters of the server.
    Experiment {
        /// What it does, in words.
        question: String,
        /// The experiment.
        asked: ExperimentSpec,
    },
    /// A change that may do harm: what could happen, in words.
    Danger(String),
}

/// Something that is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Typing {
    /// What for.
    pub purpose: Purpose,
    /// As typed so far.
    pub entry: Entry,
}

/// What something is typed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Purpose {
    /// A value for the selected knob.
    Knob,
    /// A value for the selected parameter of the server.
    Parameter,
    /// What is looked for in the log.
    Search,
    /// What a note on the time axis says.
    Mark {
        /// The moment that it is about, in seconds of the session.
        t_s: f64,
    },
    /// A command of the palette, by its name.
    Command {
        /// Which of the offers is chosen, the best being 0.
        chosen: usize,
    },
    /// What is looked for in the help.
    Help {
        /// Lines above the first one shown.
        scroll: u16,
    },
    /// How many seconds the intrinsic probe shall run.
    Intrinsic,
}

impl Mode {
    /// The parts of the key table that hold in it before all others; `None` on the screen, which has its own.
    pub(super) fn contexts(&self) -> Option<&'static [Context]> {
        match self {
            Self::Screen => None,
            Self::Asking(_) => Some(&[Context::Question]),
            Self::Typing(Typing { purpose: Purpose::Search, .. }) => {
                Some(&[Context::Search, Context::Typing])
            }
            Self::Typing(Typing { purpose: Purpose::Command { .. }, .. }) => {
                Some(&[Context::Palette, Context::Typing])
            }
            Self::Typing(Typing { purpose: Purpose::Help { .. }, .. }) => {
                Some(&[Context::Help, Context::Typing])
            }
            Self::Typing(_) => Some(&[Context::Typing]),
            Self::CommandLine(_) => Some(&[Context::CommandLine]),
        }
    }
}

/// What may be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Quantity,
    Sentence,
}

impl Kind {
    /// In characters: save points, `3600 1 300 100 60 10000`, are the longest value that makes sense; more than a
    /// sentence does not stand in a line.
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

/// A short text being typed, with a caret between two of its characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    before: String,
    after: String,
    kind: Kind,
}

impl Entry {
    /// An entry for a quantity that begins with `text`.
    pub fn quantity(text: &str) -> Self {
        Self::of(text, Kind::Quantity)
    }

    /// An entry for words that begins with `text`.
    pub fn sentence(text: &str) -> Self {
        Self::of(text, Kind::Sentence)
    }

    fn of(text: &str, kind: Kind) -> Self {
        let mut entry = Self { before: String::new(), after: String::new(), kind };
        text.chars().for_each(|c| entry.insert(c));
        entry
    }

    /// What was typed.
    pub fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// What stands before and behind the caret.
    pub fn around_caret(&self) -> (&str, &str) {
        (&self.before, &self.after)
    }

    /// Puts a character in at the caret, if it may be there and there is room.
    pub(super) fn insert(&mut self, c: char) {
        let length = self.before.chars().count() + self.after.chars().count();
        if length < self.kind.longest() && self.kind.takes(c) {
            self.before.push(c);
        }
    }

    /// Puts a text in: what would break the line becomes a blank.
    pub(super) fn paste(&mut self, text: &str) {
        text.trim().chars().for_each(|c| self.insert(if c.is_whitespace() { ' ' } else { c }));
    }

    /// Removes the character before the caret.
    pub(super) fn erase(&mut self) {
        self.before.pop();
    }

    /// Removes the character behind it.
    pub(super) fn delete(&mut self) {
        if !self.after.is_empty() {
            self.after.remove(0);
        }
    }

    /// Moves the caret by so many characters, no further than to the ends.
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
    fn text_is_typed_and_removed_where_the_caret_stands() {
        let mut entry = Entry::sentence("größe");
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
    fn a_pasted_text_stands_in_one_line_and_no_entry_grows_beyond_its_length() {
        let mut entry = Entry::sentence("");
        entry.paste("\n two\tlines\nof it\x1b \n");
        assert_eq!(entry.text(), "two lines of it");
        entry.paste(&"x".repeat(200));
        assert_eq!(entry.text().chars().count(), Kind::Sentence.longest());
    }

    #[test]
    fn a_quantity_takes_what_a_quantity_is_written_with() {
        let mut entry = Entry::quantity("");
        entry.paste("1.5M/s,\"µ");
        assert_eq!(entry.text(), "1.5M/s");
    }
}
