//! `redyno completions SHELL` prints a script with which a shell asks redyno for completions. redyno's answers have
//! options, names from tables, and the targets of the config file.

use std::{
    env,
    ffi::{OsStr, OsString},
    process::ExitCode,
};

use clap::{Arg, Args, Command, ValueHint, builder::PossibleValuesParser};
use clap_complete::{
    ArgValueCompleter, CompleteEnv, CompletionCandidate, PathCompleter, engine::ValueCompleter as _,
    env::Shells,
};

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    topics::TOPICS,
};
use crate::{
    app::Screen,
    endpoint::ReadFrom,
    experiment::{Dimension, series::series_presets},
    export::{Format, Rows},
    knobs::{Arrivals, Backlog, Knob, Rhythm},
    load::IoMethod,
    runner::text_plan,
    tui::theme::theme_names,
    workload::{Distribution, presets},
};

/// The environment variable that a shell sets when it requests completions.
const VARIABLE: &str = "REDYNO_COMPLETE";

const AFTER: &str = "\
Examples:
  redyno completions bash >> ~/.bashrc
  redyno completions zsh >> ~/.zshrc
  redyno completions fish > ~/.config/fish/completions/redyno.fish
  redyno completions powershell >> $PROFILE

Run one of these lines once. The shell then calls redyno for completions, so redyno must be on your PATH. The \
completions include the targets of the config file.";

/// The arguments of `redyno completions`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct CompletionsArgs {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", value_parser = shell)]
    pub shell: String,
}

fn shell(name: &str) -> Result<String, String> {
    let names: Vec<_> = Shells::builtins().names().collect();
    if names.contains(&name) { Ok(name.to_owned()) } else { Err(format!("there are {}", names.join(", "))) }
}

/// Prints completions if a shell requests them. `line` is the command line with all commands.
pub(super) fn answer(args: &[OsString], line: fn() -> Command) -> Option<ExitCode> {
    let asked = CompleteEnv::with_factory(|| with_names(line())).var(VARIABLE);
    match asked.try_complete(args, env::current_dir().ok().as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(error) => {
            // A shell that has closed its pipe needs no answer.
            let _ = error.print();
            Some(ExitCode::FAILURE)
        }
    }
}

/// Returns a function that lists the names that the argument accepts. Some arguments also accept other values, such as
/// a file.
fn names(argument: &Arg) -> Option<fn() -> Vec<String>> {
    Some(match argument.get_id().as_str() {
        // The option `--at` of replay takes a time, and no target.
        "at" if !argument.is_positional() => return None,
        "a" | "at" | "b" | "nodes" | "uri" | "@" => config::target_names,
        "arrivals" => || owned(Arrivals::NAMES),
        "backlog" => || owned(&Backlog::ALL.map(Backlog::name)),
        "rhythm" => || owned(&Rhythm::ALL.map(Rhythm::name)),
        "distribution" => || Distribution::names().map(str::to_owned).collect(),
        "io" => || owned(&IoMethod::ALL.map(IoMethod::name)),
        "format" => || owned(&Format::ALL.map(|format| format.name)),
        "from" | "to" => || owned(&Knob::ALL.map(Knob::name)),
        "name" => || [workloads(), series()].concat(),
        "named" => || config::target_names().iter().map(|name| name[1..].to_owned()).collect(),
        "read_from" => || owned(&ReadFrom::ALL.map(ReadFrom::name)),
        "rows" => || owned(&Rows::ALL.map(Rows::name)),
        "screen" => || Screen::ALL.map(|screen| screen.name().to_ascii_lowercase()).to_vec(),
        "series" => series,
        "shell" => || Shells::builtins().names().map(str::to_owned).collect(),
        "sweep" => || Dimension::all().map(Dimension::word).collect(),
        "theme" => || owned(&theme_names()),
        "topic" => || owned(&TOPICS.map(|(name, _)| name)),
        "workload" => workloads,
        _ => return None,
    })
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn workloads() -> Vec<String> {
    presets().map(|preset| preset.name.clone()).collect()
}

fn series() -> Vec<String> {
    series_presets().map(|(name, _)| name.to_owned()).collect()
}

/// Adds completions of names to the arguments of `line`, and completions of `@NAME` where a target is allowed.
fn with_names(line: Command) -> Command {
    let commands: Vec<_> = line.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let named = |command: Command| {
        let has_target = command.get_arguments().any(|argument| argument.get_id() == "named");
        // Some commands have an argument of their own for one target (`at`) or for several servers (`nodes`).
        let has_own = command.get_positionals().any(|it| it.get_id() == "at" || it.get_id() == "nodes");
        let command = if has_target && !has_own { command.arg(Arg::new("@")) } else { command };
        command.mut_args(|argument| match argument.get_id().as_str() {
            "command" => argument.value_parser(PossibleValuesParser::new(commands.clone())),
            _ => with_completions(argument),
        })
    };
    named(line).mut_subcommands(named)
}

/// Returns an argument with its completions: names, files, or both.
fn with_completions(argument: Arg) -> Arg {
    let is = |of: &str| argument.get_value_names().is_some_and(|names| names == [of]);
    let takes_file = is("NAME|FILE");
    match names(&argument) {
        Some(names) => argument.add(ArgValueCompleter::new(move |begun: &OsStr| {
            let begins = |name: &String| begun.to_str().is_some_and(|begun| name.starts_with(begun));
            let mut found: Vec<_> =
                names().into_iter().filter(begins).map(CompletionCandidate::new).collect();
            if takes_file {
                found.extend(PathCompleter::any().complete(begun));
            }
            found
        })),
        None if is("FILE") => argument.value_hint(ValueHint::AnyPath),
        None => argument,
    }
}

/// The end of the script for bash. bash escapes blanks, such as those of `bursty 10x 1s/10s`, only in names of files.
const BASH_END: &str = r#"
_redyno() {
    _clap_complete_redyno "$@"
    local IFS=
    if [[ "${COMPREPLY[*]}" == *' '* ]]; then compopt -o filenames 2> /dev/null; fi
}
complete -o nospace -o bashdefault -o nosort -F _redyno redyno 2> /dev/null ||
    complete -o nospace -o bashdefault -F _redyno redyno
"#;

/// Returns the completion script for a shell.
fn script(shell: &str) -> String {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(shell) {
        // Writing to memory cannot fail.
        let _ = shell.write_registration(VARIABLE, "redyno", "redyno", "redyno", &mut script);
    }
    // bash expects the name of a host after @, and would therefore begin a new word at @.
    let (before, after) =
        if shell == "bash" { ("COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}\n", BASH_END) } else { ("", "") };
    before.to_owned() + &String::from_utf8(script).expect("it is made of text") + after
}

impl Arguments for CompletionsArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        Ok(text_plan(script(&self.shell)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, error::ErrorKind};

    use super::*;
    use crate::cli::args::CommandLine;

    /// Tests that the command line accepts each name that it completes.
    #[test]
    fn every_name_that_is_completed_is_accepted() {
        let (line, mut parser) = (CommandLine::command(), CommandLine::command());
        let commands: Vec<_> = line.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let mut found = BTreeSet::new();
        for command in std::iter::once(&line).chain(line.get_subcommands()) {
            for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
                let id = argument.get_id().as_str();
                let names = names(argument).map(|names| names());
                let Some(names) = names.or((id == "command").then(|| commands.clone())) else { continue };
                // Without a config file, the list of its targets is empty.
                assert!(id != "at" || command.get_name() != "replay", "--at of replay is a time");
                found.insert(id.to_owned());
                for name in names {
                    let option = argument.get_long().map(|long| format!("--{long}"));
                    let sub = command.get_name() != "redyno";
                    let words = ["redyno"].into_iter().chain(sub.then_some(command.get_name()));
                    let name = match (id, name.as_str()) {
                        ("sweep", "think" | "session-length") => format!("{name} 1ms..8ms"),
                        ("sweep", _) => format!("{name} 1..8"),
                        _ => name,
                    };
                    let words = words.chain(option.as_deref()).chain([name.as_str()]);
                    // Other arguments may be missing, which does not matter here.
                    let kind = parser.try_get_matches_from_mut(words).err().map(|error| error.kind());
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
            "a",
            "arrivals",
            "at",
            "b",
            "backlog",
            "rhythm",
            "command",
            "distribution",
            "format",
            "from",
            "io",
            "name",
            "named",
            "nodes",
            "read_from",
            "rows",
            "screen",
            "series",
            "shell",
            "sweep",
            "theme",
            "to",
            "topic",
            "uri",
            "workload",
        ];
        assert_eq!(found, expected.map(str::to_owned).into());
    }

    #[test]
    fn bash_escapes_the_blanks_of_a_completed_name() {
        let words = format!(
            "{}\ncompopt() {{ echo \"$@\"; }}\n_clap_complete_redyno() {{ COMPREPLY=(\"$@\"); }}\n\
             _redyno dark light; _redyno 'value size'; complete -p redyno",
            script("bash")
        );
        let Ok(output) = std::process::Command::new("bash").args(["-c", &words]).output() else { return };
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(lines.first(), Some(&"-o filenames"), "{output:?}");
        assert!(lines.len() == 2 && lines[1].ends_with("-F _redyno redyno"), "{output:?}");
    }

    #[test]
    fn the_script_of_every_shell_contains_the_variable_for_requests() {
        for shell in Shells::builtins().names() {
            assert!(script(shell).contains(VARIABLE), "{shell}");
        }
    }
}
