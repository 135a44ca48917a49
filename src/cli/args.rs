//! The command line: options, and which of them contradict each other.

use std::{ffi::OsString, sync::Arc};

use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser, error::ErrorKind};

use super::{
    commands::Given, experiment_args::ExperimentArgs, load_args::LoadArgs, session_args::SessionArgs,
    target_args::TargetArgs,
};
use crate::{
    compat::redis_cli::OneshotArgs,
    runner::UsageError,
    workload::{Suggested, Workload},
};

const ABOUT: &str = "Latency monitor and load generator for Redis and Valkey: live load, live knobs and live probes on one screen";

const EXAMPLES: &str = "\
Commands of your own stand behind --, several with \\; between them, and N: before one as its weight:
  {key} is a key of the keyspace, {value} a value, {number 1..9} a number; all else is sent as it is.

Examples:
  redyno                              try it, with the built-in server when there is none
  redyno -h 10.0.0.5 -p 6379          look without load: probes, and what the server says
  redyno @prod                        the same for a target of the config file; redyno config --help
  redyno -p 6379 -c 200 -P 16         put load on, and turn the knobs while it runs
  redyno -p 6379 -- 3: SET {key} {value} \\; GET {key}
  redyno --workload ycsb-a --plan     what would be sent, without connecting
  redyno -p 6379 --load --yes --headless --json --duration 10 | tail -1
  redyno -p 6379 --latency-history    as redis-cli does, by the microsecond
  redyno man | man -l -               the manual: all options, keys and files; redyno man COMMAND

The password is taken from -a, --askpass, the URI, the target's password-command, or the environment variable REDISCLI_AUTH.
Exit codes: 0 done, 1 failed, 2 bad usage, 3 a limit not held, 4 undecided, 130 interrupted.";

/// All that can be asked for.
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
        export FILE | report FILE... -o OUT | compare BASE NEW | sessions\n       redyno demo | clean | workloads | config | help TOPIC | man"
)]
pub struct CommandLine {
    /// Print this help
    // The first of all: the headings of what is flattened below hold for everything after them.
    #[arg(long, action = clap::ArgAction::Help, global = true)]
    help: Option<bool>,
    /// Another command than the screen.
    #[command(subcommand)]
    pub command: Option<Given>,
    /// What to talk to.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What to ask of it.
    #[command(flatten)]
    pub load: LoadArgs,
    /// What turns its knobs.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// How long, and who watches.
    #[command(flatten)]
    pub session: SessionArgs,
    /// redis-cli's modes.
    #[command(flatten)]
    pub oneshot: OneshotArgs,
    /// Commands of one's own, which stand behind `--`.
    #[arg(skip)]
    pub commands: Vec<String>,
}

impl CommandLine {
    /// Reads the words of a command line, the name of the program first.
    ///
    /// # Errors
    /// When they are none, or ask for the help or the version.
    pub fn read(args: &[OsString]) -> Result<(Self, ArgMatches), clap::Error> {
        let args = with_named_targets(args);
        let options = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        let (before, commands) = args.split_at(options);
        let given = Self::command().try_get_matches_from(before)?;
        let mut line = Self::from_arg_matches(&given)?;
        if line.command.is_some() && !commands.is_empty() {
            // There it only ends the options.
            let given = Self::command().try_get_matches_from(&args)?;
            return Ok((Self::from_arg_matches(&given)?, given));
        }
        let text = |word: &OsString| {
            let no_text = || clap::Error::raw(ErrorKind::InvalidUtf8, "the words of a command must be UTF-8");
            word.to_str().map(str::to_owned).ok_or_else(no_text)
        };
        if let Some((_, words)) = commands.split_first() {
            line.commands = words.iter().map(text).collect::<Result<_, _>>()?;
            if words.is_empty() {
                return Err(clap::Error::raw(ErrorKind::TooFewValues, "there is no command behind --"));
            }
        }
        Ok((line, given))
    }

    /// Whether what people read has ASCII characters only.
    pub(super) fn is_ascii(&self) -> bool {
        self.command.as_ref().map_or(self.session.look.ascii, |command| command.0.is_ascii())
    }

    /// Reads what workload it names or is; the load that this suggests.
    ///
    /// # Errors
    /// When there is no such workload, or it is none.
    pub(super) fn choose(&mut self) -> Result<Suggested, UsageError> {
        if !self.commands.is_empty() {
            if self.load.workload.is_some() || self.load.ratio.is_some() {
                let text = "commands behind -- are a workload of their own; leave --workload and --ratio out";
                return Err(UsageError::of(text));
            }
            if self.oneshot.mode().is_some() {
                let text = "commands behind -- are a load, which redis-cli's modes have not; leave them out";
                return Err(UsageError::of(text));
            }
            let workload = Workload::of_commands(&self.commands).map_err(UsageError::of)?;
            self.load.chosen = Some(Arc::new(workload));
        }
        self.load.choose()
    }
}

/// The words with `--target=NAME` for `@NAME` and `-u @NAME`, where the command has a target and the word is no option's value.
fn with_named_targets(args: &[OsString]) -> Vec<OsString> {
    let name = |word: &OsString| {
        let word = word.to_str()?;
        ["@", "-u@", "--uri=@"].iter().find_map(|before| word.strip_prefix(before)).map(str::to_owned)
    };
    let options = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    if !args[..options].iter().any(|word| name(word).is_some()) {
        return args.to_vec();
    }
    let line = CommandLine::command();
    let command = args.get(1).and_then(|word| line.find_subcommand(word)).unwrap_or(&line);
    if !command.get_arguments().any(|option| option.get_id() == "named") {
        return args.to_vec();
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

/// Whether the word is an option of `command` whose value is the next word.
fn takes_value(command: &Command, word: &OsString) -> bool {
    let is_this = |option: &&Arg| {
        let (short, long) = (option.get_short(), option.get_long());
        short.is_some_and(|short| *word == *format!("-{short}"))
            || long.is_some_and(|long| *word == *format!("--{long}"))
    };
    command.get_arguments().find(is_this).is_some_and(|option| option.get_action().takes_values())
}
