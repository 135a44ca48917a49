//! The command line: options and commands, and which of them contradict each other.

use std::sync::Arc;

use clap::{Parser, Subcommand};

use super::{
    UsageError, ab::AbArgs, clean::CleanArgs, compare::CompareArgs, completions::CompletionsArgs,
    demo::DemoArgs, experiment_args::ExperimentArgs, export::ExportArgs, load_args::LoadArgs, man::ManArgs,
    recordings::SessionsArgs, replay::ReplayArgs, report::ReportArgs, series::SeriesArgs,
    session_args::SessionArgs, target_args::TargetArgs, topics::HelpArgs, versus::VersusArgs,
    workloads::WorkloadsArgs,
};
use crate::{
    compat::{memtier::MemtierArgs, redis_benchmark::BenchArgs, redis_cli::OneshotArgs},
    load::{KnobError, Knobs},
    workload::{ChoiceError, Suggested, Workload},
};

const ABOUT: &str = "Latency monitor and load generator for Redis and Valkey: live load, live knobs and live probes on one screen";

const EXAMPLES: &str = "\
Commands of your own stand behind --, several with \\; between them, and N: before one as its weight:
  {key} is a key of the keyspace, {value} a value, {number 1..9} a number; all else is sent as it is.

Examples:
  redyno                              try it, with the built-in server when there is none
  redyno -h 10.0.0.5 -p 6379          look without load: probes, and what the server says
  redyno -p 6379 -c 200 -P 16         put load on, and turn the knobs while it runs
  redyno -p 6379 -- 3: SET {key} {value} \\; GET {key}
  redyno --workload ycsb-a --plan     what would be sent, without connecting
  redyno -p 6379 --load --yes --headless --json --duration 10 | tail -1
  redyno -p 6379 --latency-history    as redis-cli does, by the microsecond
  redyno man | man -l -               the manual: all options, keys and files; redyno man COMMAND

The password is taken from -a, the URI, or the environment variable REDISCLI_AUTH.
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
        export FILE | report FILE... -o OUT | compare BASE NEW | sessions\n       redyno demo | clean | workloads | help TOPIC | man"
)]
pub struct CommandLine {
    /// Print this help
    // The first of all: the headings of what is flattened below hold for everything after them.
    #[arg(long, action = clap::ArgAction::Help, global = true)]
    help: Option<bool>,
    /// Another command than the screen.
    #[command(subcommand)]
    pub command: Option<Command>,
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
    /// Reads what workload it names, for every command that has one.
    ///
    /// # Errors
    /// When there is no such workload, or it is none.
    pub fn choose(&mut self) -> Result<(), UsageError> {
        let wrong = |error: ChoiceError| UsageError::Line(format!("--workload: {error}"));
        let suggested = match &mut self.command {
            Some(Command::Ab(args)) => args.load.choose().map(|_| Suggested::default()),
            Some(Command::Versus(args)) => args.load.choose().map(|_| Suggested::default()),
            Some(_) => Ok(Suggested::default()),
            None if self.commands.is_empty() => self.load.choose(),
            None if self.load.workload.is_some() || self.load.ratio.is_some() => {
                let text = "commands behind -- are a workload of their own; leave --workload and --ratio out";
                return Err(UsageError::Line(text.to_owned()));
            }
            None if self.oneshot.mode().is_some() => {
                let text = "commands behind -- are a load, which redis-cli's modes have not; leave them out";
                return Err(UsageError::Line(text.to_owned()));
            }
            None => {
                let workload = Workload::of_commands(&self.commands);
                let workload = workload.map_err(|error| UsageError::Line(error.to_string()))?;
                self.load.chosen = Some(Arc::new(workload));
                Ok(Suggested::default())
            }
        };
        let suggested = suggested.map_err(wrong)?;
        let load = match &mut self.command {
            Some(Command::Ab(args)) => Some(&mut args.load),
            Some(Command::Versus(args)) if args.load.dataset.is_some() => {
                let text = "versus has no --dataset: each target would be sent a part of the records only; leave it out";
                return Err(UsageError::Line(text.to_owned()));
            }
            Some(Command::Versus(args)) => Some(&mut args.load),
            Some(_) => None,
            None => Some(&mut self.load),
        };
        load.map_or(Ok(()), LoadArgs::read_dataset).map_err(|error| UsageError::Line(error.to_string()))?;
        self.session.follow(&suggested);
        Ok(())
    }

    /// Has a run that nobody watches end after one pass over its dataset, where nothing else ends it.
    ///
    /// # Errors
    /// When nobody knows how many requests that is.
    pub fn end_after_a_pass(&mut self) -> Result<(), UsageError> {
        let is_ended = self.session.requests.is_some() || self.session.duration.is_some();
        if !is_ended && !self.experiment.is_given() && !self.load.no_load {
            let requests = self.load.requests_of_a_pass();
            self.session.requests = requests.map_err(|error| UsageError::Line(error.to_string()))?;
        }
        Ok(())
    }

    /// The knobs to begin with. `unless_told` is whether the load is on when no option says.
    ///
    /// # Errors
    /// Names the first knob that is out of its range.
    pub fn knobs(&self, unless_told: bool) -> Result<Knobs, KnobError> {
        // A number of requests is a load, too, and so is an experiment.
        let is_load = self.session.requests.is_some() || self.experiment.is_given();
        self.load.knobs(unless_told || is_load)
    }
}

/// Commands beside the screen.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare two settings in alternation, until it is clear which is better
    #[command(disable_help_flag = true)]
    Ab(Box<AbArgs>),
    /// Compare two targets under the same load in alternation: one table, and which is better
    #[command(disable_help_flag = true)]
    Versus(Box<VersusArgs>),
    /// Run a series: published runs, or your own, one after the other, and print one table
    #[command(disable_help_flag = true)]
    Series(Box<SeriesArgs>),
    /// Measure as redis-benchmark and valkey-benchmark do: their options, tests and output
    #[command(disable_help_flag = true)]
    Bench(BenchArgs),
    /// Measure as memtier_benchmark does: its options, its table and its JSON
    #[command(disable_help_flag = true)]
    Memtier(MemtierArgs),
    /// Show a recording: the same screen, with time travel
    #[command(disable_help_flag = true)]
    Replay(ReplayArgs),
    /// List the recordings of this machine
    #[command(disable_help_flag = true)]
    Sessions(SessionsArgs),
    /// Compare two recordings, or several of each: what differs by more than noise, and thresholds for a pipeline
    #[command(disable_help_flag = true)]
    Compare(CompareArgs),
    /// Write a recording's figures in the form of other tools: CSV, JSON, HdrHistogram, Markdown, OpenMetrics
    #[command(disable_help_flag = true)]
    Export(ExportArgs),
    /// Write recordings as one page that needs no network, or as text for a ticket
    #[command(disable_help_flag = true)]
    Report(ReportArgs),
    /// Serve as a small Redis, with faults on request
    #[command(disable_help_flag = true)]
    Demo(DemoArgs),
    /// Undo what a killed run left behind: its keys, and the parameters that it set
    #[command(disable_help_flag = true)]
    Clean(CleanArgs),
    /// List the workloads and series, or print one as a file to start from
    #[command(disable_help_flag = true)]
    Workloads(WorkloadsArgs),
    /// Describe every field of an export or a recording: help formats, help records
    #[command(disable_help_flag = true)]
    Help(HelpArgs),
    /// Print what a shell completes: bash, zsh, fish or powershell
    #[command(disable_help_flag = true)]
    Completions(CompletionsArgs),
    /// Print the manual page of redyno or of one of its commands, or write all of them
    #[command(disable_help_flag = true)]
    Man(ManArgs),
}
