//! `redyno ab`: alternates between two settings, prints a line for each pair, and gives a verdict.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    fleet_args::FleetArgs,
    load_args::LoadArgs,
    nodes_args::RingArgs,
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
    values::seconds,
};
use crate::{
    experiment::{Ab, AbPlan, ExperimentSetting, ExperimentSpec},
    print::printer::OutputForm,
    runner::{AbRun, OtherServers, UsageError},
};

const AFTER: &str = "\
KNOBS is a list of settings, separated by commas: 'clients 50', 'rate 5k, arrivals poisson', 'value size 1k', \
'preset write-heavy', 'config appendfsync always'. If the list does not name a knob (load setting), redyno uses the \
value from the load options. If a setting changes a server parameter, redyno restores the old value before it \
measures the other setting. redyno also restores the old value at the end of the comparison.

Examples:
  redyno ab -p 6379 --from 'clients 50' --to 'clients 100'
  redyno ab @prod --yes --rate 5k --to 'config appendfsync always' --json

redyno does not count the first second after each switch between the settings. The setting with the higher \
throughput is better. With --rate, the \
setting with the lower p99 of the response time is better.
redyno measures at least nine pairs (about 70 s), then ends as soon as the verdict is clear. The comparison takes \
at most three minutes. If there is no clear result by then, the verdict is 'not clear'. The comparison ends after \
three pairs if redyno itself was the bottleneck for both A and B in each of these pairs.
Exit codes: 0 B is at least as good as A; 3 B is worse than A; 4 the verdict is not clear; 1 failed; 2 bad usage; \
130 interrupted.";

/// The arguments of `redyno ab`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct AbArgs {
    /// Setting A [default: the load options]
    // This is the first field, because the target's heading applies to all fields after it.
    #[arg(long, value_name = "KNOBS")]
    pub from: Option<String>,
    /// Setting B. The verdict says whether B is better than A
    #[arg(long, value_name = "KNOBS")]
    pub to: String,
    /// The length of each measurement in seconds. A pair is one measurement of A and one measurement of B [default: 3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub part: Option<Duration>,
    /// Continue even if redyno itself was the bottleneck for both A and B in the first three pairs
    #[arg(long)]
    pub anyway: bool,
    /// Print JSON lines: one object for each pair, then the verdict
    #[arg(long)]
    pub json: bool,
    /// Write all records to a new file, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The servers that share the load.
    #[command(flatten)]
    pub ring: RingArgs,
    /// The load that both settings share.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The agents that generate the load.
    #[command(flatten)]
    pub fleet: FleetArgs,
}

impl Arguments for AbArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        if self.load.no_load {
            return Err(UsageError::of("ab generates load; leave --no-load out").into());
        }
        self.load.load = true;
        self.load.choose()?;
        self.load.follow_defaults(&config::defaults(given)?.load);
        let nodes = self.ring.nodes();
        let mut servers = nodes.targets(&mut self.target, given)?;
        config::resolve(&mut self.target, given, true)?;
        self.fleet.share_tls(&mut self.target, &mut servers);
        let session = SessionArgs { record: self.record.map(Some), ..SessionArgs::default() };
        let mut plan = session_plan(&self.target, &self.load, &session)?;
        let base = plan.commission.knobs.clone();
        let setting = |option: &str, text: &str| {
            ExperimentSetting::parse(text, &base)
                .map_err(|error| UsageError::of(format!("{option}: {error}")))
        };
        let from = self
            .from
            .map_or_else(|| Ok(ExperimentSetting::of(base.clone())), |text| setting("--from", &text))?;
        let to = setting("--to", &self.to)?;
        for setting in [&from, &to] {
            ExperimentSpec::check(&setting.knobs).map_err(UsageError::of)?;
        }
        self.load.check_rate(from.knobs.rate.or(to.knobs.rate).is_some())?;
        nodes.settle(&servers, OtherServers::Cluster, &mut plan)?;
        self.fleet.settle(self.load.threads, &mut plan)?;
        plan.commission.knobs = from.knobs.clone();
        plan.settings = vec![from.clone(), to.clone()];
        plan.check_clients()?;
        plan.check_dialect()?;
        let times = AbPlan { anyway: self.anyway, ..AbPlan::default() }.with_parts_of(self.part);
        let ab = Ab::new(from, to, times.map_err(UsageError::of)?);
        Ok(Box::new(AbRun { plan, ab, form: OutputForm::of(self.json) }))
    }
}
