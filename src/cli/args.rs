//! The command line: options, and which of them contradict each other.

use std::sync::Arc;

use clap::Parser;

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
