//! The commands beside the screen: one file and one row each.

use clap::{ArgMatches, Args, FromArgMatches, Subcommand, error::ErrorKind};

use super::{
    ab::AbArgs,
    clean::CleanArgs,
    command::{Arguments, Command, Invocation, Planned},
    compare::CompareArgs,
    completions::CompletionsArgs,
    config::ConfigArgs,
    demo::DemoArgs,
    export::ExportArgs,
    man::ManArgs,
    recordings::SessionsArgs,
    replay::ReplayArgs,
    report::ReportArgs,
    series::SeriesArgs,
    topics::HelpArgs,
    versus::VersusArgs,
    workloads::WorkloadsArgs,
};
use crate::{
    compat::{BenchArgs, MemtierArgs},
    runner::UsageError,
};

/// A command.
struct CommandRow {
    name: &'static str,
    about: &'static str,
    /// Adds its arguments.
    with_arguments: fn(clap::Command) -> clap::Command,
    read: fn(&ArgMatches) -> Result<Command, clap::Error>,
}

const fn row<A: Args + Arguments + 'static>(name: &'static str, about: &'static str) -> CommandRow {
    CommandRow {
        name,
        about,
        with_arguments: A::augment_args,
        read: |given| Ok(Box::new(A::from_arg_matches(given)?)),
    }
}

/// All commands, in the order of the help.
const COMMANDS: &[CommandRow] = &[
    row::<AbArgs>("ab", "Compare two settings in alternation, until it is clear which is better"),
    row::<VersusArgs>(
        "versus",
        "Compare two targets under the same load in alternation: one table, and which is better",
    ),
    row::<SeriesArgs>(
        "series",
        "Run a series: published runs, or your own, one after the other, and print one table",
    ),
    row::<BenchArgs>(
        "bench",
        "Measure as redis-benchmark and valkey-benchmark do: their options, tests and output",
    ),
    row::<MemtierArgs>("memtier", "Measure as memtier_benchmark does: its options, its table and its JSON"),
    row::<ReplayArgs>("replay", "Show a recording: the same screen, with time travel"),
    row::<SessionsArgs>("sessions", "List the recordings of this machine"),
    row::<CompareArgs>(
        "compare",
        "Compare two recordings, or several of each: what differs by more than noise, and thresholds for a pipeline",
    ),
    row::<ExportArgs>(
        "export",
        "Write a recording's figures in the form of other tools: CSV, JSON, HdrHistogram, Markdown, OpenMetrics",
    ),
    row::<ReportArgs>(
        "report",
        "Write recordings as one page that needs no network, or as text for a ticket",
    ),
    row::<DemoArgs>("demo", "Serve as a small Redis, with faults on request"),
    row::<CleanArgs>("clean", "Undo what a killed run left behind: its keys, and the parameters that it set"),
    row::<WorkloadsArgs>("workloads", "List the workloads and series, or print one as a file to start from"),
    row::<ConfigArgs>("config", "Show the defaults and the named targets that hold, and where each is from"),
    row::<HelpArgs>("help", "Describe every field of an export or a recording: help formats, help records"),
    row::<CompletionsArgs>(
        "completions",
        "Print the script that makes a shell complete redyno's words: bash, elvish, fish, powershell or zsh",
    ),
    row::<ManArgs>("man", "Print the manual page of redyno or of one of its commands, or write all of them"),
];

impl Arguments for BenchArgs {
    fn plan(self: Box<Self>, _: Invocation) -> Planned {
        // Its words are read before all others, where it comes first.
        Err(UsageError::of("bench comes first: redyno bench ...").into())
    }
}

impl Arguments for MemtierArgs {
    fn plan(self: Box<Self>, _: Invocation) -> Planned {
        Err(UsageError::of("memtier comes first: redyno memtier ...").into())
    }
}

/// The command that was given, for clap.
#[derive(Debug)]
pub struct Given(pub Command);

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let none = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (name, given) = matches.subcommand().ok_or_else(none)?;
        let row = COMMANDS.iter().find(|row| row.name == name).ok_or_else(none)?;
        Ok(Self((row.read)(given)?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Given {
    fn augment_subcommands(line: clap::Command) -> clap::Command {
        let command = |row: &CommandRow| {
            let command = (row.with_arguments)(clap::Command::new(row.name));
            command.about(row.about).long_about(None).disable_help_flag(true)
        };
        line.subcommands(COMMANDS.iter().map(command))
    }

    fn augment_subcommands_for_update(line: clap::Command) -> clap::Command {
        Self::augment_subcommands(line)
    }

    fn has_subcommand(name: &str) -> bool {
        COMMANDS.iter().any(|row| row.name == name)
    }
}
