//! The arguments of `redyno man`, and where the pages go.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Command};

use super::page::{all, page};
use crate::{
    cli::command::{Arguments, Invocation, Planned},
    runner::{Failure, Plan as _, Text, UsageError},
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
    /// The command that it is about [default: redyno and all that it is started with]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
    /// Write all pages into this directory: redyno.1, and one a command, such as redyno-replay.1
    #[arg(long, short, value_name = "DIRECTORY", conflicts_with = "command")]
    pub output: Option<PathBuf>,
}

impl Arguments for ManArgs {
    fn plan(self: Box<Self>, given: Invocation) -> Planned {
        match self.output {
            None => Ok(Box::new(Text(page(&self.of(given.line)?, &today())))),
            Some(directory) => Ok(Box::new(move || write_pages(given.line, &directory))),
        }
    }
}

impl ManArgs {
    /// The command that is asked for.
    ///
    /// # Errors
    /// When there is none of that name.
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

/// Writes all pages, and says where they are.
fn write_pages(line: fn() -> Command, directory: &Path) -> Result<(), Failure> {
    let pages = all(line());
    let written = write_all(&pages, &today(), directory);
    written.with_context(|| format!("cannot write to {}", directory.display()))?;
    let told = format!("{} pages: man -l {}\n", pages.len(), directory.join("redyno.1").display());
    Box::new(Text(told)).run()
}

fn write_all(pages: &[Command], date: &str, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for command in pages {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        fs::write(directory.join(format!("{name}.1")), page(command, date))?;
    }
    Ok(())
}
