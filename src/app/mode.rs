//! Decides where a key press goes: to the screen, to a question, or to an input line. There is only one
//! receiver at a time.
//!
//! All input lines of the screen use the same [`TextEntry`]: a short text that the user types, with a caret.

use super::{Context, ParameterChange};
use crate::experiment::ExperimentSpec;

/// What receives the keys that the user presses.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum InputMode {
    /// The screen.
    #[default]
    Screen,
    /// A question that waits for yes or no; the default is no.
    Asking(UserQuestion),
    /// A text that is being typed.
    Typing(Typing),
    /// The box with a command line to copy.
    CommandLine(String),
    /// An entry of the slow log, or a client, in full.
    InFull {
        /// The heading: what is shown.
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
    /// The search in the log.
    Search,
    /// The text of a mark on the time axis.
    Mark {
        /// The moment of the mark, in seconds of the session.
        t_s: f64,
    },
    /// A command in the palette, by its name.
    Command {
        /// The position of the selected command in the list of matches; the best match has position 0.
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
    /// Returns the key contexts of this mode, in order of precedence; `None` for the screen, whose contexts depend
    /// on the view.
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
            Self::CommandLine(_) | Self::InFull { .. } => Some(&[Context::CommandLine]),
        }
    }
}

/// The maximum length of a typed text, in characters. The text must fit in a line.
const LONGEST: usize = 80;

/// A short text that is being typed, with a caret between two of its characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEntry {
    before: String,
    after: String,
}

impl TextEntry {
    /// Creates an input line with `text` as its first content.
    pub fn of(text: &str) -> Self {
        let mut entry = Self { before: String::new(), after: String::new() };
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

    /// Inserts a character at the caret, unless it is a control character or the text is too long.
    pub(super) fn insert(&mut self, c: char) {
        let length = self.before.chars().count() + self.after.chars().count();
        if length < LONGEST && !c.is_control() {
            self.before.push(c);
        }
    }

    /// Inserts a text: line breaks and other control characters become blanks.
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
        let mut entry = TextEntry::of("größe");
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
        let mut entry = TextEntry::of("");
        entry.paste("\n two\tlines\nof it\x1b \n");
        assert_eq!(entry.text(), "two lines of it");
        entry.paste(&"x".repeat(200));
        assert_eq!(entry.text().chars().count(), LONGEST);
    }
}
