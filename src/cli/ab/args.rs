//! The options of `redyno ab`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::{
    cli::{UsageError, args::CommandLine, load_args::LoadArgs, target_args::TargetArgs, values::seconds},
    experiment::{Plan, Setting},
};

const AFTER: &str = "\
KNOBS are settings in words, with commas between them: 'clients 50', 'rate 5k, arrivals poisson', 'value size 1k',
'preset write-heavy', 'config appendfsync always'. What they do not name is as the load options say; a parameter is set
back when the other setting holds, and at the end.

The first second after a switch is left out. What decides is throughput, and under a rate the p99 of the response time.
Nine pairs are the least, about 70 s; it ends within three minutes, undecided if need be.
Exit codes: 0 B is the same or better, 3 worse, 4 undecided; 1, 2 and 130 as ever.";

/// The arguments of `redyno ab`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct AbArgs {
    /// The first setting, A [default: as the load options say]
    // Before the target, whose heading holds for everything after it.
    #[arg(long, value_name = "KNOBS")]
    pub from: Option<String>,
    /// The second setting, B, which the verdict is about
    #[arg(long, value_name = "KNOBS")]
    pub to: String,
    /// How long a part is: a pair has one of each setting [default: 3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub part: Option<Duration>,
    /// A JSON object a line: the pairs, then the verdict
    #[arg(long)]
    pub json: bool,
    /// Write all records to a new file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Where.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What both settings have in common.
    #[command(flatten)]
    pub load: LoadArgs,
}

impl AbArgs {
    /// The session that it is a part of: one under load.
    pub(super) fn line(&self) -> CommandLine {
        let mut line = CommandLine::default();
        line.target = self.target.clone();
        line.load = LoadArgs { load: true, ..self.load.clone() };
        line.session.record = self.record.clone().map(Some);
        line.session.headless = true;
        line
    }

    /// How long everything takes.
    pub(super) fn plan(&self) -> Plan {
        Plan::default().with_parts_of(self.part)
    }

    /// Both settings.
    ///
    /// # Errors
    /// When one of them is none, or no load.
    pub(super) fn settings(&self) -> Result<[Setting; 2], UsageError> {
        if self.load.no_load {
            let text = "--no-load has no effect with ab, which is a load; leave it out";
            return Err(UsageError::Line(text.to_owned()));
        }
        let base = self.line().knobs(true)?;
        let parse = |option: &str, text: &str| {
            let wrong = |error| UsageError::Line(format!("{option}: {error}"));
            Setting::parse(text, &base).map_err(wrong)
        };
        let from = match &self.from {
            Some(text) => parse("--from", text)?,
            None => Setting::of(base.clone()),
        };
        Ok([from, parse("--to", &self.to)?])
    }
}
