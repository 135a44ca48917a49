//! The table of redyno's subcommands. Each subcommand has its own file and a row in this table.

use clap::{ArgMatches, Args, FromArgMatches, Subcommand, error::ErrorKind};

use super::{
    ab::AbArgs,
    agent::AgentArgs,
    capture::CaptureArgs,
    clean::CleanArgs,
    command::{Arguments, BoxedCommand, Invocation, PlanResult},
    compare::CompareArgs,
    completions::CompletionsArgs,
    config::ConfigArgs,
    demo::DemoArgs,
    doctor::DoctorArgs,
    export::ExportArgs,
    man::ManArgs,
    recordings::SessionsArgs,
    replay::ReplayArgs,
    report::ReportArgs,
    series::SeriesArgs,
    topics::HelpArgs,
    versus::VersusArgs,
    workloads::WorkloadsArgs,
    ycsb::YcsbArgs,
};
use crate::{
    compat::{BenchOptions, MemtierOptions},
    runner::UsageError,
};

/// A row of the table: a subcommand.
struct CommandRow {
    name: &'static str,
    about: &'static str,
    /// Adds the command's arguments to `clap`'s definition.
    with_arguments: fn(clap::Command) -> clap::Command,
    read: fn(&ArgMatches) -> Result<BoxedCommand, clap::Error>,
}

const fn row<A: Args + Arguments + 'static>(name: &'static str, about: &'static str) -> CommandRow {
    CommandRow {
        name,
        about,
        with_arguments: A::augment_args,
        read: |given| Ok(Box::new(A::from_arg_matches(given)?)),
    }
}

/// All commands, in the order in which the help lists them.
const COMMANDS: &[CommandRow] = &[
    row::<AbArgs>("ab", "Alternate between two settings until it is clear which is better"),
    row::<VersusArgs>(
        "versus",
        "Alternate the same load between two targets until it is clear which is better",
    ),
    row::<SeriesArgs>(
        "series",
        "Run a published series of measurements, or your own series, and print one table",
    ),
    row::<BenchOptions>(
        "bench",
        "Run a benchmark with the options, tests and output of redis-benchmark and valkey-benchmark",
    ),
    row::<MemtierOptions>(
        "memtier",
        "Run a benchmark with the options, the table and the JSON of memtier_benchmark",
    ),
    row::<YcsbArgs>("ycsb", "Run a YCSB workload with YCSB's options, properties, key names and output"),
    row::<AgentArgs>("agent", "Send part of the load from this machine, for a session on another machine"),
    row::<DoctorArgs>(
        "doctor",
        "Watch a server for 30 s without load, and print one page about its problems",
    ),
    row::<CaptureArgs>(
        "capture",
        "Run MONITOR for a limited time, and write the commands to a file for --trace",
    ),
    row::<ReplayArgs>("replay", "Show a recording on the screen, and move to any time in it"),
    row::<SessionsArgs>("sessions", "List the recordings on this machine"),
    row::<CompareArgs>(
        "compare",
        "Compare recordings, show the figures that differ by more than noise, and check thresholds",
    ),
    row::<ExportArgs>(
        "export",
        "Convert a recording for other tools: CSV, JSON, HdrHistogram, Markdown, OpenMetrics",
    ),
    row::<ReportArgs>("report", "Write a report about recordings, as an HTML page or as text for a ticket"),
    row::<DemoArgs>("demo", "Run the built-in server: a small Redis that can simulate faults"),
    row::<CleanArgs>(
        "clean",
        "Remove the keys of a killed run, and restore the server parameters that the run changed",
    ),
    row::<WorkloadsArgs>(
        "workloads",
        "List workloads and series, or print one of them as a file that you can change",
    ),
    row::<ConfigArgs>("config", "Show the default values and the named targets, and where each one is set"),
    row::<HelpArgs>(
        "help",
        "Describe the fields of exports ('help formats') and of recordings ('help records')",
    ),
    row::<CompletionsArgs>(
        "completions",
        "Print the completion script for bash, elvish, fish, powershell or zsh",
    ),
    row::<ManArgs>("man", "Print the manual page of redyno or of a command, or write all manual pages"),
];

impl Arguments for BenchOptions {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        // `bench` and `memtier` are carried out before redyno's own command line is read.
        Err(UsageError::of("bench must be the first argument: redyno bench ...").into())
    }
}

impl Arguments for MemtierOptions {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        Err(UsageError::of("memtier must be the first argument: redyno memtier ...").into())
    }
}

/// The subcommand on a command line, as clap parses it.
#[derive(Debug)]
pub struct ParsedCommand(pub BoxedCommand);

impl FromArgMatches for ParsedCommand {
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

impl Subcommand for ParsedCommand {
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
