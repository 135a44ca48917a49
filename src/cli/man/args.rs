//! The arguments of `redyno man`, and where the pages go.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Command};

use super::page::{all, page};
use crate::{
    cli::{Failure, UsageError, words::Words},
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

impl ManArgs {
    /// The command that is asked for.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(in crate::cli) fn of(&self) -> Result<Command, UsageError> {
        let mut pages = all();
        let Some(name) = &self.command else { return Ok(pages.swap_remove(0)) };
        let found = pages.iter().position(|command| command.get_name() == name);
        let names = || pages[1..].iter().map(Command::get_name).collect::<Vec<_>>().join(", ");
        match found {
            Some(place) => Ok(pages.swap_remove(place)),
            None => Err(UsageError::Line(format!("there is no command '{name}'; there are {}", names()))),
        }
    }
}

/// Prints a page, or writes all of them.
///
/// # Errors
/// When there is no such command, or a page cannot be written.
pub fn run(args: &ManArgs, out: &mut Words) -> Result<(), Failure> {
    let date = today();
    let Some(directory) = &args.output else {
        return Ok(out.write_all(page(&args.of()?, &date).as_bytes()).context("cannot write to stdout")?);
    };
    let pages = all();
    write_all(&pages, &date, directory)
        .with_context(|| format!("cannot write to {}", directory.display()))?;
    let told = format!("{} pages: man -l {}\n", pages.len(), directory.join("redyno.1").display());
    Ok(out.write_all(told.as_bytes()).context("cannot write to stdout")?)
}

fn write_all(pages: &[Command], date: &str, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for command in pages {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        fs::write(directory.join(format!("{name}.1")), page(command, date))?;
    }
    Ok(())
}
