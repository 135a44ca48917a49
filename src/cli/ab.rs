//! `redyno ab`: two settings in alternation, a line for each pair of them, and a verdict.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    command::{Arguments, Invocation, Planned},
    config,
    load_args::LoadArgs,
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
    values::seconds,
};
use crate::{
    experiment::{Ab, Plan, Setting},
    print::printer::Form,
    runner::{AbRun, UsageError},
};

const AFTER: &str = "\
KNOBS are settings in words, with commas between them: 'clients 50', 'rate 5k, arrivals poisson', 'value size 1k',
'preset write-heavy', 'config appendfsync always'. What they do not name is as the load options say; a parameter is set
back when the other setting holds, and at the end.

Examples:
  redyno ab -p 6379 --from 'clients 50' --to 'clients 100'
  redyno ab @prod --yes --rate 5k --to 'config appendfsync always' --json

The first second after a switch is left out. What decides is throughput, and under a rate the p99 of the response time.
Nine pairs are the least, about 70 s; it ends within three minutes, not clear if need be.
Exit codes: 0 B is the same or better, 3 worse, 4 not clear; 1, 2 and 130 as ever.";

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

impl Arguments for AbArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> Planned {
        if self.load.no_load {
            return Err(
                UsageError::of("--no-load has no effect with ab, which is a load; leave it out").into()
            );
        }
        self.load.load = true;
        self.load.choose()?;
        self.load.follow_defaults(&config::defaults(given)?.load);
        config::resolve(&mut self.target, given, true)?;
        let session = SessionArgs { record: self.record.map(Some), ..SessionArgs::default() };
        let mut plan = session_plan(&self.target, &self.load, &session)?;
        let base = plan.commission.knobs.clone();
        let setting = |option: &str, text: &str| {
            Setting::parse(text, &base).map_err(|error| UsageError::of(format!("{option}: {error}")))
        };
        let from =
            self.from.map_or_else(|| Ok(Setting::of(base.clone())), |text| setting("--from", &text))?;
        let to = setting("--to", &self.to)?;
        plan.commission.knobs = from.knobs.clone();
        plan.settings = vec![from.clone(), to.clone()];
        plan.check_clients()?;
        plan.check_dialect()?;
        let ab = Ab::new(from, to, Plan::default().with_parts_of(self.part));
        Ok(Box::new(AbRun { plan, ab, form: Form::of(self.json) }))
    }
}
