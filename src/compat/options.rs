//! Parses the options of the imitated tools. Each tool has a text that lists its options. One parser reads
//! these texts and the command lines. Each tool handles its options itself, in the order of the command line.
//!
//! ```text
//! words ─► OptionReader ─► GivenOption: the option, its name as given, its value ─► take ─► the options' values
//!               └► OptionRefusal: an error, or the help or version ◄───────────────────┘
//! ```
//!
//! redyno generates the help of a tool from the text with its options.

use std::ffi::OsString;

/// An option of a tool, as the help of the tool lists it.
#[derive(Debug)]
pub struct ToolOption {
    /// The names of the option and of its value, if the option has a value: `-n, --requests NUMBER`.
    pub written: &'static str,
    /// The description; for an unsupported option, the alternative.
    pub help: String,
    /// The tools that have the option.
    pub of: Availability,
}

/// The tools that have an option or a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// All flavours of the tool, such as redis-benchmark and valkey-benchmark.
    All,
    /// Only Valkey's flavour.
    Valkey,
    /// Only redyno.
    Ours,
    /// Only the original tool.
    Theirs,
}

/// Options with a common title, as the help lists them.
#[derive(Debug)]
struct OptionGroup {
    title: &'static str,
    options: Vec<ToolOption>,
}

/// The options of a tool and its deliberate differences, in the order of the help.
#[derive(Debug)]
pub struct OptionTable(Vec<OptionGroup>);

/// The title of the last group: the deliberate differences from the original tool.
const DIFFERENCES: &str = "Deliberate differences";

impl OptionTable {
    /// Parses the text of a tool's options: titles in brackets, the names of options, and below each name its
    /// indented description. A prefix before the names means that only some flavours have the option:
    /// `valkey:`, `redyno:`, or `absent:` for an option of the original tool that redyno does not have.
    pub fn read(text: &'static str) -> Self {
        let mut groups: Vec<OptionGroup> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match (line.strip_prefix('['), groups.last_mut().map(|group| &mut group.options)) {
                (Some(title), _) => {
                    groups.push(OptionGroup { title: title.trim_end_matches(']'), options: Vec::new() });
                }
                (None, Some(options)) if !line.starts_with(' ') => options.push(ToolOption::read(line)),
                (None, options) => {
                    let help =
                        &mut options.and_then(|options| options.last_mut()).expect("an option above").help;
                    *help = format!("{help} {}", line.trim_start()).trim_start().to_owned();
                }
            }
        }
        Self(groups)
    }

    /// Returns all options, in the order of the help.
    pub fn all(&self) -> impl Iterator<Item = &ToolOption> {
        self.0.iter().filter(|group| group.title != DIFFERENCES).flat_map(|group| &group.options)
    }

    /// Returns the deliberate differences.
    pub fn differences(&self) -> impl Iterator<Item = &str> {
        let groups = self.0.iter().filter(|group| group.title == DIFFERENCES);
        groups.flat_map(|group| &group.options).map(|difference| difference.help.as_str())
    }

    /// Returns the groups as the help shows them. Descriptions begin at `column`; options for which `shows` returns
    /// false are left out.
    pub fn help(&self, column: usize, shows: impl Fn(&ToolOption) -> bool) -> String {
        let text = |group: &OptionGroup| {
            let column = if group.title == DIFFERENCES { 3 } else { column };
            let options: String = group
                .options
                .iter()
                .filter(|option| shows(option))
                .map(|option| option.text(column))
                .collect();
            if options.is_empty() { options } else { format!("\n{}:\n{options}", group.title) }
        };
        self.0.iter().map(text).collect()
    }
}

impl ToolOption {
    fn read(line: &'static str) -> Self {
        let (of, written) = match line.split_once(": ") {
            Some(("valkey", written)) => (Availability::Valkey, written),
            Some(("redyno", written)) => (Availability::Ours, written),
            Some(("absent", written)) => (Availability::Theirs, written),
            _ => (Availability::All, line),
        };
        Self { written, help: String::new(), of }
    }

    /// Returns the option as the help shows it, with a description that begins at this column.
    fn text(&self, column: usize) -> String {
        let head = format!(" {}", wrapped(self.written, 1));
        let fits = head.len() < column;
        let first = if fits { format!("{head:<column$}") } else { format!("{head}\n{:column$}", "") };
        first + &wrapped(if self.help.is_empty() { "nothing" } else { &self.help }, column) + "\n"
    }

    /// Returns all names of the option.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.written.split(", ").map(|part| part.split(' ').next().unwrap_or(part))
    }

    /// Returns the first name of the option.
    pub fn name(&self) -> &'static str {
        self.names().next().unwrap_or(self.written)
    }

    /// Returns whether redyno has the option.
    pub fn is_supported(&self) -> bool {
        self.of != Availability::Theirs
    }

    /// Returns whether the option takes a value.
    pub fn takes_value(&self) -> bool {
        self.written.rsplit(", ").next().is_some_and(|last| last.contains(' '))
    }
}

/// The reason why a command line does not start a run.
#[derive(Debug, PartialEq, Eq)]
pub enum OptionRefusal {
    /// This option or its value is invalid. The second text is the reason, in getopt's format.
    Wrong(String, String),
    /// This message is printed on standard error.
    Message(String),
    /// The help was requested.
    Help,
    /// The version was requested.
    Version,
}

/// Returns the refusal of an invalid option or value, without a reason.
pub fn invalid(option: &str) -> OptionRefusal {
    OptionRefusal::Wrong(option.to_owned(), String::new())
}

/// How a tool parses its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParsingStyle {
    /// Options are whole words. The first word that is not an option begins a command. `--` also begins a command, if
    /// the tool supports `--`.
    Command {
        /// Whether the tool supports `--`.
        ends_with_dashes: bool,
    },
    /// Options as in getopt_long: long names may be abbreviated, letters may be combined, and a value follows after
    /// `=`, a space or a letter.
    Getopt,
}

/// An option in a command line.
pub struct GivenOption {
    /// The option.
    pub choice: &'static ToolOption,
    /// The name of the option on the command line.
    pub name: String,
    /// The value; empty if the option has none.
    pub value: String,
}

/// A parser for the arguments of a command line.
pub struct OptionReader<'a> {
    habit: ParsingStyle,
    options: Vec<&'static ToolOption>,
    rest: &'a [OsString],
    /// The letters after a dash that are not handled yet.
    letters: String,
}

impl<'a> OptionReader<'a> {
    /// Creates a parser of these arguments, for these options.
    pub fn new(
        habit: ParsingStyle,
        options: impl IntoIterator<Item = &'static ToolOption>,
        words: &'a [OsString],
    ) -> Self {
        Self { habit, options: options.into_iter().collect(), rest: words, letters: String::new() }
    }

    /// Passes each option to `take`. Returns the remaining words.
    ///
    /// # Errors
    /// Fails at the first invalid word. Also returns the errors of `take`.
    pub fn read(
        mut self,
        mut take: impl FnMut(&GivenOption) -> Result<(), OptionRefusal>,
    ) -> Result<&'a [OsString], OptionRefusal> {
        while let Some(given) = self.next()? {
            take(&given)?;
        }
        Ok(self.rest)
    }

    fn next(&mut self) -> Result<Option<GivenOption>, OptionRefusal> {
        if !self.letters.is_empty() {
            return self.next_letter().map(Some);
        }
        let Some((word, rest)) = self.rest.split_first() else { return Ok(None) };
        let word = word.to_string_lossy().into_owned();
        if let ParsingStyle::Command { ends_with_dashes } = self.habit {
            if !word.starts_with('-') {
                return refuse_name(&word).map(|()| None);
            }
            self.rest = rest;
            return if ends_with_dashes && word == "--" { Ok(None) } else { self.whole(word).map(Some) };
        }
        self.rest = rest;
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) | (_, None | Some("")) => {
                refuse_name(&word).and(Err(wrong(&word, format!("'{word}' is no option"))))
            }
            (Some(long), _) => self.long(long).map(Some),
            (None, Some(letters)) => {
                self.letters = letters.to_owned();
                self.next_letter().map(Some)
            }
        }
    }

    fn find(&self, name: &str) -> Option<&'static ToolOption> {
        // Both flavours of the benchmark accept this option without listing it in their help.
        let name = if name == "-v" { "--version" } else { name };
        self.options.iter().find(|option| option.names().any(|known| known == name)).copied()
    }

    fn whole(&mut self, word: String) -> Result<GivenOption, OptionRefusal> {
        let choice = self.find(&word).ok_or_else(|| invalid(&word))?;
        self.given(choice, word, None)
    }

    fn next_letter(&mut self) -> Result<GivenOption, OptionRefusal> {
        let letter = self.letters.remove(0);
        let name = format!("-{letter}");
        let unknown = || wrong(&name, format!("invalid option -- '{letter}'"));
        let choice = self.find(&name).ok_or_else(unknown)?;
        let has_value = choice.takes_value() && !self.letters.is_empty();
        let value = has_value.then(|| std::mem::take(&mut self.letters));
        self.given(choice, name, value)
    }

    /// Returns the option with this long name. Otherwise returns the only option with a long name that begins
    /// with `word`.
    fn long(&mut self, word: &str) -> Result<GivenOption, OptionRefusal> {
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
            [(known, choice)] if value.is_some() && !choice.takes_value() && choice.is_supported() => {
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
        choice: &'static ToolOption,
        name: String,
        value: Option<String>,
    ) -> Result<GivenOption, OptionRefusal> {
        let value = match (value, self.rest.split_first()) {
            _ if !choice.takes_value() => String::new(),
            (Some(value), _) => value,
            (None, Some((next, rest))) => {
                self.rest = rest;
                next.to_string_lossy().into_owned()
            }
            (None, None) => return Err(wrong(&name, format!("option '{name}' requires an argument"))),
        };
        if choice.names().any(|name| name == "-u" || name == "--uri") {
            refuse_name(&value)?;
        }
        Ok(GivenOption { choice, name, value })
    }
}

/// Refuses a named target such as `@prod`.
fn refuse_name(word: &str) -> Result<(), OptionRefusal> {
    match word.strip_prefix('@') {
        Some(_) => Err(OptionRefusal::Message(format!(
            "{word}: this command reads no config file and has no named targets; give the server's host and port, or its URI with -u"
        ))),
        None => Ok(()),
    }
}

fn wrong(option: &str, why: String) -> OptionRefusal {
    OptionRefusal::Wrong(option.to_owned(), why)
}

/// The width of lines in the help.
const WIDTH: usize = 80;

/// Returns a text broken into lines that begin at the column `indent`. The first line is indented already.
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

    /// Fails if a name occurs twice.
    pub fn assert_no_name_is_repeated<'a>(table: impl Iterator<Item = &'a ToolOption>) {
        let names: Vec<_> = table.flat_map(ToolOption::names).collect();
        for (n, name) in names.iter().enumerate() {
            assert!(!names[..n].contains(name), "{name}");
        }
    }

    /// An earlier version of `bench` sent `@prod` to the server as a command.
    #[test]
    fn named_targets_are_refused_in_one_line() {
        static TABLE: std::sync::LazyLock<OptionTable> =
            std::sync::LazyLock::new(|| OptionTable::read("[Options]\n-u, --uri URI\n-a, --auth PASSWORD"));
        let refused = |habit, line: &str| {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            match OptionReader::new(habit, TABLE.all(), &words).read(|_| Ok(())) {
                Err(OptionRefusal::Message(line)) => {
                    line.starts_with("@prod: this command reads no config file")
                }
                _ => false,
            }
        };
        for habit in [ParsingStyle::Getopt, ParsingStyle::Command { ends_with_dashes: true }] {
            for (line, is_refused) in [("@prod", true), ("-u @prod", true), ("-a @prod", false)] {
                assert_eq!(refused(habit, line), is_refused, "{line}");
            }
        }
        assert!(!refused(ParsingStyle::Command { ends_with_dashes: true }, "-- @prod"));
    }

    #[test]
    fn names_and_value_of_an_option_are_parsed() {
        let both = ToolOption::read("-n, --requests NUMBER");
        assert_eq!(both.names().collect::<Vec<_>>(), ["-n", "--requests"]);
        assert!(both.takes_value() && !ToolOption::read("-4, --ipv4").takes_value());
    }
}
