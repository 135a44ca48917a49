//! The options of other tools: a table of them, and the one reader of command lines by such a table. What an option sets is
//! said by the tool that has it, in the order in which the options stand.
//!
//! ```text
//! words ─► Reader (table, habit) ─► Given: which option, under which name, with which value ─► take ─► what is asked for
//!             └► Refusal: what is wrong, or an answer in place of a run ◄─────────────────────────┘
//! ```
//!
//! The help of a stand-in, made of its table of options.

use std::ffi::OsString;

/// An option, as its tool's help has it.
#[derive(Debug)]
pub struct Choice {
    /// Its names, and what its value is called if it takes one: `-n, --requests NUMBER`.
    pub written: &'static str,
    /// What it is for; of one that is not there, what there is in its stead.
    pub help: &'static str,
    /// Who has it.
    pub of: Who,
}

/// Who has an option, or a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// All flavours of the tool.
    All,
    /// Valkey's flavour alone.
    Valkey,
    /// redyno alone.
    Ours,
    /// The tool, and not its stand-in.
    Theirs,
}

/// An option that all flavours have.
pub const fn all(written: &'static str, help: &'static str) -> Choice {
    Choice { written, help, of: Who::All }
}

/// One of Valkey's.
pub const fn valkey(written: &'static str, help: &'static str) -> Choice {
    Choice { written, help, of: Who::Valkey }
}

/// One of ours.
pub const fn ours(written: &'static str, help: &'static str) -> Choice {
    Choice { written, help, of: Who::Ours }
}

/// One that is not there, and what there is in its stead.
pub const fn absent(written: &'static str, instead: &'static str) -> Choice {
    Choice { written, help: instead, of: Who::Theirs }
}

impl Choice {
    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.written.split(", ").map(|part| part.split(' ').next().unwrap_or(part))
    }

    /// The first of them, by which its tool knows it.
    pub fn name(&self) -> &'static str {
        self.names().next().unwrap_or(self.written)
    }

    fn takes_value(&self) -> bool {
        self.written.rsplit(", ").next().is_some_and(|last| last.contains(' '))
    }
}

/// Why words are not taken, or not carried out.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This option is none, or not with what stands there; why, in the words of getopt.
    Wrong(String, String),
    /// This is printed on standard error.
    Told(String),
    /// The help is asked for.
    Help,
    /// The version is.
    Version,
}

/// The refusal of this option as one that takes no such value.
pub fn invalid(option: &str) -> Refusal {
    Refusal::Wrong(option.to_owned(), String::new())
}

/// How a tool reads its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// Whole words up to the first that is no option, where a command begins, or behind `--` where that is known.
    Command {
        /// Whether it is.
        ends_with_dashes: bool,
    },
    /// As getopt_long: long names by any beginning that no other has, values behind `=`, a space or a letter, letters together.
    Getopt,
}

/// An option that was given.
pub struct Given {
    /// Which.
    pub choice: &'static Choice,
    /// By which of its names.
    pub name: String,
    /// Its value; nothing where it takes none.
    pub value: String,
}

/// Reads the words of a command line.
pub struct Reader<'a> {
    habit: Habit,
    options: Vec<&'static Choice>,
    rest: &'a [OsString],
    /// Letters behind one dash that are still to be taken.
    letters: String,
}

impl<'a> Reader<'a> {
    /// Of these words, in which these options may stand.
    pub fn new(
        habit: Habit,
        options: impl IntoIterator<Item = &'static Choice>,
        words: &'a [OsString],
    ) -> Self {
        Self { habit, options: options.into_iter().collect(), rest: words, letters: String::new() }
    }

    /// Hands each option to `take`; the words behind them.
    ///
    /// # Errors
    /// At the first word that is no option, and as `take`.
    pub fn read(
        mut self,
        mut take: impl FnMut(&Given) -> Result<(), Refusal>,
    ) -> Result<&'a [OsString], Refusal> {
        while let Some(given) = self.next()? {
            take(&given)?;
        }
        Ok(self.rest)
    }

    fn next(&mut self) -> Result<Option<Given>, Refusal> {
        if !self.letters.is_empty() {
            return self.next_letter().map(Some);
        }
        let Some((word, rest)) = self.rest.split_first() else { return Ok(None) };
        let word = word.to_string_lossy().into_owned();
        if let Habit::Command { ends_with_dashes } = self.habit {
            if !word.starts_with('-') {
                return Ok(None);
            }
            self.rest = rest;
            return if ends_with_dashes && word == "--" { Ok(None) } else { self.whole(word).map(Some) };
        }
        self.rest = rest;
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) | (_, None | Some("")) => Err(wrong(&word, format!("'{word}' is no option"))),
            (Some(long), _) => self.long(long).map(Some),
            (None, Some(letters)) => {
                self.letters = letters.to_owned();
                self.next_letter().map(Some)
            }
        }
    }

    fn find(&self, name: &str) -> Option<&'static Choice> {
        // Both flavours of the benchmark know this one, and neither has it in its help.
        let name = if name == "-v" { "--version" } else { name };
        self.options.iter().find(|option| option.names().any(|known| known == name)).copied()
    }

    fn whole(&mut self, word: String) -> Result<Given, Refusal> {
        let choice = self.find(&word).ok_or_else(|| invalid(&word))?;
        self.given(choice, word, None)
    }

    fn next_letter(&mut self) -> Result<Given, Refusal> {
        let letter = self.letters.remove(0);
        let name = format!("-{letter}");
        let unknown = || wrong(&name, format!("invalid option -- '{letter}'"));
        let choice = self.find(&name).ok_or_else(unknown)?;
        let has_value = choice.takes_value() && !self.letters.is_empty();
        let value = has_value.then(|| std::mem::take(&mut self.letters));
        self.given(choice, name, value)
    }

    /// The option whose long name this is, or else begins with it.
    fn long(&mut self, word: &str) -> Result<Given, Refusal> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let full = format!("--{name}");
        let long = self.options.iter().flat_map(|option| option.names().map(move |name| (name, *option)));
        let mut begun: Vec<_> = long.filter(|(name, _)| name.starts_with(&full)).collect();
        if let Some(exact) = begun.iter().find(|(name, _)| *name == full) {
            begun = vec![*exact];
        }
        match begun.as_slice() {
            [] => Err(wrong(&full, format!("unrecognized option '{full}'"))),
            [(known, choice)] if value.is_some() && !choice.takes_value() && choice.of != Who::Theirs => {
                Err(wrong(known, format!("option '{known}' doesn't allow an argument")))
            }
            [(known, choice)] => self.given(choice, (*known).to_owned(), value),
            [(one, _), (other, _), ..] => {
                Err(wrong(&full, format!("option '{full}' is ambiguous: '{one}', '{other}'")))
            }
        }
    }

    fn given(
        &mut self,
        choice: &'static Choice,
        name: String,
        value: Option<String>,
    ) -> Result<Given, Refusal> {
        let value = match (value, self.rest.split_first()) {
            _ if !choice.takes_value() => String::new(),
            (Some(value), _) => value,
            (None, Some((next, rest))) => {
                self.rest = rest;
                next.to_string_lossy().into_owned()
            }
            (None, None) => return Err(wrong(&name, format!("option '{name}' requires an argument"))),
        };
        Ok(Given { choice, name, value })
    }
}

fn wrong(option: &str, why: String) -> Refusal {
    Refusal::Wrong(option.to_owned(), why)
}

/// Where lines end.
const WIDTH: usize = 80;

/// Options with what they are for, in two columns; `nothing` is what stands in the second where there is nothing.
pub fn listed<'a>(options: impl IntoIterator<Item = &'a Choice>, column: usize, nothing: &str) -> String {
    let line = |option: &Choice| {
        let head = format!(" {}", wrapped(option.written, 1));
        let fits = head.len() < column;
        let first = if fits { format!("{head:<column$}") } else { format!("{head}\n{:column$}", "") };
        first + &wrapped(if option.help.is_empty() { nothing } else { option.help }, column) + "\n"
    };
    options.into_iter().map(line).collect()
}

/// What is different on purpose, below its heading.
pub fn deviations(texts: &[&str]) -> String {
    let lines: String = texts.iter().map(|text| format!(" - {}\n", wrapped(text, 3))).collect();
    format!("\nWhat is different on purpose:\n{lines}")
}

/// Broken into lines that begin at this column, the first of them being there already.
fn wrapped(text: &str, indent: usize) -> String {
    let (mut lines, mut column) = (String::new(), indent);
    for word in text.split(' ') {
        if column > indent && column + 1 + word.len() > WIDTH {
            lines += &format!("\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += word.len();
    }
    lines
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Fails where a name stands twice.
    pub fn assert_no_name_stands_twice<'a>(table: impl Iterator<Item = &'a Choice>) {
        let names: Vec<_> = table.flat_map(Choice::names).collect();
        for (n, name) in names.iter().enumerate() {
            assert!(!names[..n].contains(name), "{name}");
        }
    }

    #[test]
    fn an_option_has_names_and_perhaps_a_value() {
        let both = all("-n, --requests NUMBER", "");
        assert_eq!(both.names().collect::<Vec<_>>(), ["-n", "--requests"]);
        assert!(both.takes_value() && !all("-4, --ipv4", "").takes_value());
    }
}
