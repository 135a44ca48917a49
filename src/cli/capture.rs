//! `redyno capture`: writes a file for `--trace`, with the commands that MONITOR shows in a limited time.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    target_args::TargetArgs,
    values::seconds,
};
use crate::{
    endpoint::Password,
    protocol::Dialect,
    runner::{CaptureRun, UsageError},
};

const AFTER: &str = "\
MONITOR makes the server send redyno a copy of every command of every client. A busy server may lose half its \
throughput during the capture, so redyno asks before it starts. Without --values, redyno writes only the length of \
each value. redyno counts the following commands, but does not write them: administrative, dangerous and blocking \
commands, AUTH, HELLO, transactions and scripts. 'redyno --trace FILE' sends the commands in the file. The file has \
the format of MONITOR's output, and only you can read the file (mode 0600). Ctrl-C ends the capture early and keeps \
the file.

Examples:
  redyno capture -p 6379 --duration 60 -o shop.log
  redyno capture @prod --duration 10 -o shop.log --yes
  redyno -p 6380 --trace shop.log --speed 2";

/// The length of a capture if `--duration` is not given.
const USUAL: Duration = Duration::from_secs(60);

/// The arguments of `redyno capture`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct CaptureArgs {
    /// The server: a URI, or @NAME of the config file; -h and -p can be used instead [default: 127.0.0.1:6379]
    // This is the first field, because the target's heading applies to all fields after it.
    #[arg(value_name = "TARGET", conflicts_with_all = ["uri", "host", "port", "socket", "named", "db"])]
    pub at: Option<Password>,
    /// The length of the capture in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// The new file to write
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    /// Write the values to the file, not only their lengths
    #[arg(long)]
    pub values: bool,
    /// Do not ask before the capture. This option is required without a terminal, and if the server runs more than
    /// 20 000 commands per second
    #[arg(long)]
    pub yes: bool,
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
}

impl Arguments for CaptureArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        self.target.uri = self.at.take().or(self.target.uri);
        config::resolve(&mut self.target, given, true)?;
        let mut target = self.target.target()?;
        if !target.dialect.has_collections() {
            let server = target.dialect.words().server;
            return Err(UsageError::of(format!("{server} has no MONITOR; give a Redis or Valkey")).into());
        }
        target.dialect = Dialect::Resp2;
        let duration = self.duration.unwrap_or(USUAL);
        let (file, keeps_values, is_allowed) = (self.output, self.values, self.yes);
        Ok(Box::new(CaptureRun { target, duration, file, keeps_values, is_allowed }))
    }
}
