//! `redyno workloads`: which presets there are, and one of them as a file to start from.

use std::io::Write;

use anyhow::Context as _;
use clap::Args;

use super::{Failure, UsageError, words::Words};
use crate::workload::{Chosen, Setting, presets};

const AFTER: &str = "\
A workload is run with --workload NAME, or --workload FILE for one of your own:
  redyno workloads cache > mine.toml
  redyno -p 6379 --workload ./mine.toml";

/// The arguments of `redyno workloads`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct WorkloadsArgs {
    /// The one to print as a file [default: list all]
    pub name: Option<String>,
    /// Set a parameter of it; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "name")]
    pub set: Vec<Setting>,
}

impl WorkloadsArgs {
    /// What is printed.
    ///
    /// # Errors
    /// When there is no such preset, or no such parameter.
    pub(super) fn text(&self) -> Result<String, UsageError> {
        match &self.name {
            Some(name) => Chosen::preset_file(name, &self.set.clone().into())
                .map_err(|error| UsageError::Line(error.to_string())),
            None => Ok(list()),
        }
    }
}

/// A line for each preset.
fn list() -> String {
    let width = presets().map(|preset| preset.name.len()).max().unwrap_or_default();
    presets().map(|preset| format!("{:width$}  {}\n", preset.name, preset.about)).collect()
}

/// Prints the list or the file.
pub(super) fn run(args: &WorkloadsArgs, out: &mut Words) -> Result<(), Failure> {
    let text = args.text()?;
    Ok(out.write_all(text.as_bytes()).context("cannot write to stdout")?)
}
