//! The options of redyno's command line, and the checks for contradictory options.

use std::{ffi::OsString, sync::Arc};

use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser, error::ErrorKind};

use super::{
    commands::ParsedCommand, experiment_args::ExperimentArgs, fleet_args::FleetArgs, load_args::LoadArgs,
    nodes_args::NodesArgs, session_args::SessionArgs, target_args::TargetArgs,
};
use crate::{
    compat::redis_cli::{OneshotArgs, OneshotMode},
    runner::UsageError,
    workload::{Suggested, Workload},
};

const ABOUT: &str = "Load generator and latency monitor for Redis, Valkey and memcached, with a live screen in the \
terminal";

const EXAMPLES: &str = "\
Write your own commands after --, with \\; between two commands. You can put a weight such as 3: before each \
command. redyno replaces {key} by a key, {value} by a value, and {number 1..9} by a number from 1 to 9. redyno sends \
all other text unchanged.

Examples:
  redyno                              try it; without a server here, on the built-in server
  redyno -h 10.0.0.5 -p 6379          watch a server, without load: latency of PING, and INFO
  redyno redis://a redis://b          watch several servers side by side
  redyno @prod                        watch a target of the config file; see redyno config
  redyno -p 6379 -c 200 -P 16         generate load, and change it while it runs
  redyno -p 6379 -- 3: SET {key} {value} \\; GET {key}    three SETs for each GET
  redyno --workload ycsb-a --plan     print what would be sent, without connecting
  redyno -p 6379 --load --yes --headless --json --duration 10 | tail -1
  redyno -p 6379 --latency-history    as redis-cli does, in microseconds
  redyno man | man -l -               the manual: all options, keys and files

The password comes from -a, --askpass, the URI, the target's password-command, or the environment variable \
REDISCLI_AUTH.
Exit codes: 0 done; 1 failed; 2 bad usage; 3 a condition of --fail-if or --abort-if is met, or no value is within \
the limit of --find or --sweep; 4 redyno cannot decide between 0 and 3; 130 interrupted.";

/// All arguments of the program.
#[derive(Debug, Default, Parser)]
#[command(
    name = "redyno",
    version,
    about = ABOUT,
    after_help = EXAMPLES,
    disable_help_flag = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    override_usage = "redyno [TARGET] [LOAD] [SESSION] [-- COMMAND ARG...]\n       redyno --latency | --latency-history | --latency-dist | \
        --intrinsic-latency SECONDS\n       redyno ab --to KNOBS | versus URI URI | series NAME | bench ... | memtier ...\n       redyno replay FILE | \
        export FILE | report FILE... -o OUT | compare BASE NEW | sessions\n       redyno doctor | capture | demo | clean | workloads | config | help TOPIC | man"
)]
pub struct CommandLine {
    /// Print this help
    // This is the first of all fields, because the headings of the flattened groups below apply to all fields after
    // them.
    #[arg(long, action = clap::ArgAction::Help, global = true)]
    help: Option<bool>,
    /// A subcommand.
    #[command(subcommand)]
    pub command: Option<ParsedCommand>,
    /// The server to measure.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The other servers of the session.
    #[command(flatten)]
    pub nodes: NodesArgs,
    /// The requests to send.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Experiments, which change knobs by themselves.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// The options of the session: its length, its output, and the look of the screen.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Several machines that generate the load.
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// redis-cli's modes.
    #[command(flatten)]
    pub oneshot: OneshotArgs,
    /// The user's own commands, after `--`.
    #[arg(skip)]
    pub commands: Vec<String>,
}

impl CommandLine {
    /// Parses a command line. The first word is the name of the program.
    ///
    /// # Errors
    /// Fails if the command line is invalid, or requests the help or the version.
    pub fn read(args: &[OsString]) -> Result<(Self, ArgMatches), clap::Error> {
        first_command(args)?;
        let args = with_database(with_named_targets(args));
        let options = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        let (before, commands) = args.split_at(options);
        let given = parser().try_get_matches_from(before)?;
        let mut line = Self::from_arg_matches(&given)?;
        if line.command.is_some() && !commands.is_empty() {
            // After a subcommand, `--` ends the options and has no further meaning.
            let given = parser().try_get_matches_from(&args)?;
            return Ok((Self::from_arg_matches(&given)?, given));
        }
        let text = |word: &OsString| {
            let no_text = || clap::Error::raw(ErrorKind::InvalidUtf8, "the commands after -- must be UTF-8");
            word.to_str().map(str::to_owned).ok_or_else(no_text)
        };
        if let Some((_, words)) = commands.split_first() {
            line.commands = words.iter().map(text).collect::<Result<_, _>>()?;
            if words.is_empty() {
                return Err(clap::Error::raw(
                    ErrorKind::TooFewValues,
                    "there is no command after --; write one, such as -- GET {key}, or leave -- out",
                ));
            }
        }
        Ok((line, given))
    }

    /// Returns whether text for people uses ASCII characters only.
    pub(super) fn is_ascii(&self) -> bool {
        self.command.as_ref().map_or(self.session.look.ascii, |command| command.0.is_ascii())
    }

    /// Loads the workload by name or from its file. Returns the load that the workload suggests.
    ///
    /// # Errors
    /// Fails if the workload is unknown or invalid.
    pub(super) fn choose(&mut self) -> Result<Suggested, UsageError> {
        if !self.commands.is_empty() {
            if self.load.workload.is_some() || self.load.ratio.is_some() {
                let text = "commands after -- replace the workload; leave --workload and --ratio out";
                return Err(UsageError::of(text));
            }
            if self.oneshot.mode().is_some() {
                let text = "redis-cli's modes send no commands of your own; leave out the commands after --";
                return Err(UsageError::of(text));
            }
            let workload = Workload::of_commands(&self.commands).map_err(UsageError::of)?;
            self.load.chosen = Some(Arc::new(workload));
        }
        self.load.choose()
    }
}

/// Checks that a command is the first argument.
fn first_command(args: &[OsString]) -> Result<(), clap::Error> {
    let line = CommandLine::command();
    let is_command = |word: &OsString| line.find_subcommand(word).is_some();
    let words = args.iter().take_while(|word| *word != "--").collect::<Vec<_>>();
    let is_late = |pair: &&[&OsString]| !takes_value(&line, pair[0]) && is_command(pair[1]);
    match words.windows(2).skip(1).find(is_late) {
        Some([_, command]) if !is_command(words[1]) => {
            let command = command.to_string_lossy();
            let text = format!("{command} must be the first argument: redyno {command} ...");
            Err(clap::Error::raw(ErrorKind::ArgumentConflict, text))
        }
        _ => Ok(()),
    }
}

/// Returns the parser of command lines. A negative number after an option is the value of this option. The error then
/// names the option and its range.
fn parser() -> Command {
    fn numeric(command: Command) -> Command {
        let needs_value = |option: &Arg| {
            let is_optional = option.get_num_args().is_some_and(|count| count.min_values() == 0);
            !option.is_positional() && option.get_action().takes_values() && !is_optional
        };
        let option = |option: Arg| match needs_value(&option) {
            true => option.allow_negative_numbers(true),
            false => option,
        };
        command.mut_args(option).mut_subcommands(numeric)
    }
    numeric(CommandLine::command())
}

/// Replaces `-n` by `--db` in redis-cli's modes. In these modes, `-n` is the database, as in redis-cli. Leaves out
/// `--no-auth-warning`, because redyno prints no such warning.
fn with_database(args: Vec<OsString>) -> Vec<OsString> {
    let options = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let is_mode = |word: &OsString| OneshotMode::OF_SERVERS.iter().any(|mode| word == mode.flag());
    if !args[..options].iter().any(is_mode) {
        return args;
    }
    let renamed =
        |(place, word): (usize, OsString)| match word.to_str().and_then(|word| word.strip_prefix("-n")) {
            Some("") if place < options => "--db".into(),
            Some(db) if place < options && db.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("--db={db}").into()
            }
            _ => word,
        };
    let is_needless = |(place, word): &(usize, OsString)| *place < options && word == "--no-auth-warning";
    args.into_iter().enumerate().filter(|word| !is_needless(word)).map(renamed).collect()
}

/// Replaces `@NAME` and `-u @NAME` by `--target=NAME`, and a URI without an option by `--uri=URI`. If the main command
/// names several targets in this way, each word becomes `--node=WORD`. Returns all words. Values of options stay
/// unchanged. Words of a command without a target stay unchanged, too.
fn with_named_targets(args: &[OsString]) -> Vec<OsString> {
    let name = |word: &OsString| {
        let word = word.to_str()?;
        ["@", "-u@", "--uri=@"].iter().find_map(|before| word.strip_prefix(before)).map(str::to_owned)
    };
    let options = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let is_uri =
        |word: &OsString| word.to_str().is_some_and(|word| word.contains("://") && !word.starts_with('-'));
    if !args[..options].iter().any(|word| name(word).is_some() || is_uri(word)) {
        return args.to_vec();
    }
    let line = CommandLine::command();
    let command = args.get(1).and_then(|word| line.find_subcommand(word)).unwrap_or(&line);
    if !command.get_arguments().any(|option| option.get_id() == "named") {
        return args.to_vec();
    }
    let is_free = |place: usize| place == 0 || !takes_value(command, &args[place - 1]);
    let is_server = |place: &usize| {
        let word = &args[*place];
        is_free(*place) && (is_uri(word) || word.to_str().is_some_and(|word| word.starts_with('@')))
    };
    let is_main = std::ptr::eq(command, &line);
    let servers: Vec<usize> = (1..options).filter(is_server).collect();
    if is_main && (servers.len() > 1 || servers.iter().any(|place| is_uri(&args[*place]))) {
        let option = if servers.len() > 1 { "--node=" } else { "--uri=" };
        let word = |(place, word): (usize, &OsString)| {
            let mut named = OsString::from(if servers.contains(&place) { option } else { "" });
            named.push(word);
            named
        };
        return args.iter().enumerate().map(word).collect();
    }
    let mut words: Vec<OsString> = Vec::new();
    for (place, word) in args.iter().enumerate() {
        let is_of_uri = words.last().is_some_and(|before| before == "-u" || before == "--uri");
        let is_value = words.last().is_some_and(|before| takes_value(command, before));
        match name(word).filter(|_| place < options && (is_of_uri || !is_value)) {
            Some(name) => {
                words.pop_if(|_| is_of_uri);
                words.push(format!("--target={name}").into());
            }
            None => words.push(word.clone()),
        }
    }
    words
}

/// Returns whether the word is an option of `command` with the next word as its value.
fn takes_value(command: &Command, word: &OsString) -> bool {
    let is_this = |option: &&Arg| {
        let (short, long) = (option.get_short(), option.get_long());
        short.is_some_and(|short| *word == *format!("-{short}"))
            || long.is_some_and(|long| *word == *format!("--{long}"))
    };
    command.get_arguments().find(is_this).is_some_and(|option| option.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for this value of an option of a command.
    fn error(command: &Command, option: &Arg, value: &str) -> Option<clap::Error> {
        let name = (command.get_name() != "redyno").then(|| command.get_name().to_owned());
        let words = ["redyno".to_owned()].into_iter().chain(name);
        let words = words.chain([format!("--{}", option.get_long()?), value.to_owned()]);
        CommandLine::read(&words.map(OsString::from).collect::<Vec<_>>()).err()
    }

    /// Tests the error for a negative number. An earlier version called the number of `--seed -1` an unexpected
    /// argument.
    #[test]
    fn the_error_about_a_wrong_number_names_the_option_and_the_possible_values() {
        let line = CommandLine::command();
        let mut numbers = 0;
        for command in std::iter::once(&line).chain(line.get_subcommands()) {
            for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
                let is_optional = option.get_num_args().is_some_and(|count| count.min_values() == 0);
                if let Some(error) = error(command, option, "-1").filter(|_| !is_optional) {
                    assert_ne!(error.kind(), ErrorKind::UnknownArgument, "{}: {error}", option.get_id());
                }
                let words = error(command, option, "x").map(|error| error.to_string()).unwrap_or_default();
                let is_bare =
                    ["invalid digit", "invalid float", "is not in"].iter().any(|text| words.contains(text));
                assert!(!is_bare, "{}: {words}", option.get_id());
                numbers += u32::from(words.contains("must be"));
            }
        }
        assert!(numbers > 10, "{numbers}");
    }
}
