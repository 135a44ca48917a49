//! `redyno completions SHELL`: what a shell completes, made of the command line itself.

use std::io::{self, Write as _};

use clap::{Args, CommandFactory};
use clap_complete::{Generator, Shell};

use super::{args::CommandLine, words::Words};

const AFTER: &str = "\
  redyno completions bash > ~/.local/share/bash-completion/completions/redyno
  redyno completions zsh > ~/.zfunc/_redyno
  redyno completions fish > ~/.config/fish/completions/redyno.fish
  redyno completions powershell >> $PROFILE";

/// The arguments of `redyno completions`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct CompletionsArgs {
    /// bash, zsh, fish or powershell
    #[arg(value_name = "SHELL", value_parser = shell)]
    pub shell: Shell,
}

/// The shells that it is tried in.
const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell];

fn shell(name: &str) -> Result<Shell, String> {
    let found = SHELLS.into_iter().find(|shell| shell.to_string() == name);
    found.ok_or_else(|| format!("there are {}", SHELLS.map(|shell| shell.to_string()).join(", ")))
}

/// Prints the script.
///
/// # Errors
/// When standard output takes no more.
pub(super) fn run(args: &CompletionsArgs, out: &mut Words) -> io::Result<()> {
    let mut command = CommandLine::command();
    command.set_bin_name("redyno");
    command.build();
    let mut script = Vec::new();
    args.shell.generate(&command, &mut script);
    out.write_all(&script)
}
