//! `redyno completions SHELL`: what a shell completes, made of the command line itself.

use clap::{
    Arg, Args, Command,
    builder::{PossibleValue, PossibleValuesParser},
};
use clap_complete::{Generator, Shell};

use super::{
    command::{Arguments, Invocation, Planned},
    topics::TOPICS,
};
use crate::{
    app::Screen,
    experiment::series::series_presets,
    export::{Format, Rows},
    knobs::{Arrivals, Backlog},
    runner::Text,
    tui::theme::THEMES,
    workload::{Distribution, presets},
};

const AFTER: &str = "\
Where the shells look for it:
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

/// The names that the value of this argument has, wherever it stands; it may be something else, too, such as a file.
fn names(argument: &str, commands: &[String]) -> Option<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let workloads = || presets().map(|preset| preset.name.clone());
    let series = || series_presets().map(|series| series.name);
    Some(match argument {
        "arrivals" => owned(&[Arrivals::Constant, Arrivals::Poisson].map(Arrivals::name)),
        "backlog" => owned(&[Backlog::Queue, Backlog::Shed].map(Backlog::name)),
        "command" => commands.to_vec(),
        "distribution" => Distribution::names().map(str::to_owned).collect(),
        "format" => owned(&Format::ALL.map(Format::name)),
        "name" => workloads().chain(series()).collect(),
        "rows" => owned(&Rows::ALL.map(Rows::name)),
        "screen" => Screen::ALL.map(|screen| screen.name().to_ascii_lowercase()).to_vec(),
        "series" => series().collect(),
        "shell" => SHELLS.map(|shell| shell.to_string()).to_vec(),
        "theme" => owned(&THEMES),
        "topic" => owned(&TOPICS.map(|(name, _)| name)),
        "workload" => workloads().collect(),
        _ => return None,
    })
}

/// The command line `line`, whose arguments know the names of their values.
fn with_names(line: Command) -> Command {
    let commands: Vec<_> = line.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let named = |command: Command| {
        command.mut_args(|argument| match names(argument.get_id().as_str(), &commands) {
            Some(names) => argument.value_parser(PossibleValuesParser::new(names)),
            None => argument,
        })
    };
    named(line).mut_subcommands(named)
}

/// The names that an argument's value has, with spaces between them.
fn joined(argument: &Arg) -> String {
    let values = argument.get_possible_values();
    values.iter().map(PossibleValue::get_name).collect::<Vec<_>>().join(" ")
}

/// Whether it may be a file as well.
fn takes_file(argument: &Arg) -> bool {
    argument.get_value_names().is_some_and(|names| names == ["NAME|FILE"])
}

/// The script for zsh. Its generator knows names or files, not both.
fn zsh(mut script: String, line: &Command) -> String {
    let arguments = line.get_subcommands().chain([line]).flat_map(Command::get_arguments);
    for names in arguments.filter(|argument| takes_file(argument)).map(joined) {
        script = script.replace(&format!(":({names})"), &format!(":{{compadd -- {names}; _files}}"));
    }
    script
}

/// The script for fish. Its generator knows no names of what is no option, and no value of an option before the command.
fn fish(script: &str, line: &Command) -> String {
    let mut script = script.replacen("2>/dev/null\n    or return\n", "2>/dev/null\n    or return 0\n", 1);
    for command in line.get_subcommands() {
        for argument in
            command.get_positionals().filter(|argument| !argument.get_possible_values().is_empty())
        {
            let (command, names) = (command.get_name(), joined(argument));
            let only = if takes_file(argument) { "" } else { " -f" };
            script += &format!(
                "complete -c redyno -n \"__fish_redyno_using_subcommand {command}\"{only} -a \"{names}\"\n"
            );
        }
    }
    script
}

/// The script for this shell.
fn script(shell: Shell, line: Command) -> String {
    let mut command = with_names(line);
    command.set_bin_name("redyno");
    command.build();
    let mut script = Vec::new();
    shell.generate(&command, &mut script);
    let script = String::from_utf8(script).expect("it is made of text");
    match shell {
        Shell::Zsh => zsh(script, &command),
        Shell::Fish => fish(&script, &command),
        _ => script,
    }
}

impl Arguments for CompletionsArgs {
    fn plan(self: Box<Self>, given: Invocation) -> Planned {
        Ok(Box::new(Text(script(self.shell, (given.line)()))))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, error::ErrorKind};

    use super::*;
    use crate::cli::args::CommandLine;

    /// Names that are completed and then refused would be a trap.
    #[test]
    fn every_name_that_is_completed_is_taken() {
        let (line, named) = (CommandLine::command(), with_names(CommandLine::command()));
        let mut found = BTreeSet::new();
        for command in std::iter::once(&named).chain(named.get_subcommands()) {
            for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
                for name in argument.get_possible_values() {
                    found.insert(argument.get_id().to_string());
                    let option = argument.get_long().map(|long| format!("--{long}"));
                    let sub = command.get_name() != "redyno";
                    let words = ["redyno"].into_iter().chain(sub.then_some(command.get_name()));
                    let words = words.chain(option.as_deref()).chain([name.get_name()]);
                    // What else is missing there is another matter.
                    let kind = line.clone().try_get_matches_from(words).err().map(|error| error.kind());
                    let is_refused =
                        [ErrorKind::ValueValidation, ErrorKind::InvalidValue, ErrorKind::UnknownArgument];
                    assert!(
                        kind.is_none_or(|kind| !is_refused.contains(&kind)),
                        "{argument} {name:?}: {kind:?}"
                    );
                }
            }
        }
        let expected = [
            "arrivals",
            "backlog",
            "command",
            "distribution",
            "format",
            "name",
            "rows",
            "screen",
            "series",
            "shell",
            "theme",
            "topic",
            "workload",
        ];
        assert_eq!(found, expected.map(str::to_owned).into());
    }

    #[test]
    fn the_scripts_have_what_their_generators_leave_out() {
        let zsh = script(Shell::Zsh, CommandLine::command());
        assert_eq!(zsh.matches(":{compadd -- cache ").count(), 3, "redyno, ab, versus: {zsh}");
        assert_eq!(zsh.matches(":{compadd -- redis-io ").count(), 1, "series: {zsh}");
        let fish = script(Shell::Fish, CommandLine::command());
        assert!(fish.contains("\n    or return 0\n") && !fish.contains("or return\n"), "{fish}");
        assert!(fish.contains("using_subcommand help\" -f -a \"formats records\"\n"), "{fish}");
        assert!(fish.contains("using_subcommand series\" -a \"redis-io "), "{fish}");
    }
}
