//! `redyno man`: the manual, with a page for redyno and a page for each command. redyno generates it from the
//! command line and the table of keys, so the manual always matches the program.
//!
//! A page is troff source: the help of a command, with further sections before and after the help.

#[cfg(test)]
mod tests;

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::command::{Arguments, Invocation, PlanResult};
use crate::{
    app::{Context, bindings},
    runner::{Failure, UsageError, text_plan},
    session::today,
};

const AFTER: &str = "\
Examples:
  redyno man | man -l -
  redyno man replay | man -l -
  redyno man -o ~/.local/share/man/man1";

/// The arguments of `redyno man`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct ManArgs {
    /// The command to describe [default: redyno itself]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
    /// Write all pages into this directory: redyno.1, and one for each command, such as redyno-replay.1
    #[arg(long, short, value_name = "DIRECTORY", conflicts_with = "command")]
    pub output: Option<PathBuf>,
}

impl Arguments for ManArgs {
    fn plan(self: Box<Self>, given: Invocation) -> PlanResult {
        match self.output {
            None => Ok(text_plan(page(&self.of(given.line)?, &today()))),
            Some(directory) => Ok(Box::new(move || write_pages(given.line, &directory))),
        }
    }
}

impl ManArgs {
    /// Returns the requested command.
    ///
    /// # Errors
    /// Fails if there is no command with this name.
    fn of(&self, line: fn() -> Command) -> Result<Command, UsageError> {
        let mut pages = all(line());
        let Some(name) = &self.command else { return Ok(pages.swap_remove(0)) };
        let found = pages.iter().position(|command| command.get_name() == name);
        let names = || pages[1..].iter().map(Command::get_name).collect::<Vec<_>>().join(", ");
        match found {
            Some(place) => Ok(pages.swap_remove(place)),
            None => Err(UsageError::Line(format!("there is no command '{name}'; there are {}", names()))),
        }
    }
}

/// Writes all pages, and prints their paths.
fn write_pages(line: fn() -> Command, directory: &Path) -> Result<(), Failure> {
    let pages = all(line());
    let written = write_all(&pages, &today(), directory);
    written.with_context(|| format!("cannot write to {}", directory.display()))?;
    let summary = format!("{} pages: man -l {}\n", pages.len(), directory.join("redyno.1").display());
    text_plan(summary).run()
}

fn write_all(pages: &[Command], date: &str, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for command in pages {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        fs::write(directory.join(format!("{name}.1")), page(command, date))?;
    }
    Ok(())
}

/// The description of redyno, which only the manual contains.
const DESCRIPTION: &str = include_str!("man/description.roff");
/// The exit codes, environment variables and files, which only the manual contains.
const END: &str = include_str!("man/end.roff");

/// Returns `command`, and then each of its subcommands. `command` is redyno itself.
pub(super) fn all(mut command: Command) -> Vec<Command> {
    command.build();
    let commands: Vec<_> = command.get_subcommands().cloned().collect();
    std::iter::once(command).chain(commands).collect()
}

/// Returns the page of a command as troff source. `date` is the date of the page.
pub(super) fn page(command: &Command, date: &str) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let source = concat!("redyno ", env!("CARGO_PKG_VERSION"));
    let mut head = Roff::new();
    head.control("TH", [&name.to_uppercase(), "1", date, source, "redyno"]);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let is_redyno = command.has_subcommands();
    let before = [
        paragraphs("NAME", [format!("{name} - {about}").as_str()]),
        lines("SYNOPSIS", usage.trim_start_matches("Usage:").lines().map(str::trim)),
    ];
    let tables = if is_redyno { vec![commands(command), keys()] } else { Vec::new() };
    let after = command.get_after_help().map(|text| notes("NOTES", &text.to_string()));
    let mut text = head.render();
    before.iter().for_each(|part| text += sections(&part.render()));
    text += if is_redyno { DESCRIPTION } else { "" };
    text += sections(&options(command));
    tables.iter().chain(&after).for_each(|part| text += sections(&part.render()));
    text += if is_redyno { END } else { ".SH \"SEE ALSO\"\nredyno(1)\n" };
    ascii(&text)
}

/// Returns the text from its first section on. The definition of quotes at the beginning of the text is left out.
fn sections(text: &str) -> &str {
    &text[text.find(".SH ").unwrap_or(text.len())..]
}

/// Returns the options of a command.
fn options(command: &Command) -> String {
    let mut text = Vec::new();
    Man::new(command.clone()).render_options_section(&mut text).expect("memory takes all of it");
    String::from_utf8(text).expect("it is made of text")
}

/// Returns the section with all commands and the names of their pages.
fn commands(command: &Command) -> Roff {
    let entry = |sub: &Command| {
        (
            format!("redyno-{}(1)", sub.get_name()),
            sub.get_about().map(ToString::to_string).unwrap_or_default(),
        )
    };
    let entries: Vec<_> = command.get_subcommands().map(entry).collect();
    list("COMMANDS", entries.iter().map(|(name, about)| (name.as_str(), about.as_str())))
}

/// Returns the section with the keys of the screen, by context.
fn keys() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["KEYS"]);
    for context in Context::all() {
        section.control("SS", [context.title()]);
        for binding in bindings().filter(|binding| binding.context == context) {
            section.control("TP", []).text([bold(binding.written)]).text([roman(binding.help)]);
        }
    }
    section
}

/// Returns a section that consists of paragraphs.
pub(super) fn paragraphs<'a>(title: &str, texts: impl IntoIterator<Item = &'a str>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (n, text) in texts.into_iter().enumerate() {
        if n > 0 {
            section.control("PP", []);
        }
        section.text([roman(text)]);
    }
    section
}

/// Returns a section of names with a description of each.
pub(super) fn list<'a>(title: &str, items: impl IntoIterator<Item = (&'a str, &'a str)>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (name, text) in items {
        section.control("TP", []).text([bold(name)]).text([roman(text)]);
    }
    section
}

/// Returns a section of preformatted lines, without their common indentation.
pub(super) fn lines<'a>(title: &str, lines: impl IntoIterator<Item = &'a str>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]).control("nf", []);
    for line in lines {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section
}

/// Returns a section from a help text. The section has paragraphs, and indented lines are unchanged.
pub(super) fn notes(title: &str, text: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    let (mut is_first, mut is_verbatim) = (true, false);
    for line in text.lines().filter(|line| !line.is_empty()) {
        let indented = line.starts_with("  ");
        if is_verbatim && !indented {
            section.control("fi", []).control("RE", []);
        }
        if !is_first && !indented {
            section.control("PP", []);
        }
        if indented && !is_verbatim {
            section.control("RS", ["4"]).control("nf", []);
        }
        section.text([roman(line.trim_start())]);
        (is_first, is_verbatim) = (false, indented);
    }
    if is_verbatim {
        section.control("fi", []).control("RE", []);
    }
    section
}

/// Returns the text of a page in ASCII. Escapes with numbers replace all other characters, because troff may
/// misinterpret them.
pub(super) fn ascii(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for c in page.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\[u{:04X}]", u32::from(c));
        }
    }
    text
}
