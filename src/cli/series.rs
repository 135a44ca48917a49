//! `redyno series`: runs a series of measurements, a published one or the user's own. Each test with one set
//! of parameters (a cell) is a session. One table lists all cells. With `--plan`, the command only prints the
//! requests of each cell.

use std::path::PathBuf;

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    fleet_args::FleetArgs,
    load_args::LoadArgs,
    nodes_args::{NodesArgs, RingArgs},
    preview::preview,
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
    values::{requests, threads, whole},
};
use crate::{
    endpoint::Target,
    experiment::series::{ScaleFactor, Scaling, Series, SeriesCell},
    load::RequestLimit,
    print::series::SeriesLines,
    runner::{OtherServers, PlannedCell, SeriesRun, SessionPlan, UsageError, text_plan},
    units::{count_with_noun, percent},
    untrusted,
    workload::ParameterValue,
};

const AFTER: &str = "\
A series is a list of runs with one table of results. 'redyno workloads' lists the presets, and 'redyno workloads \
NAME' prints a preset as a file that you can change. For each cell (one test with one set of parameters), redyno \
runs a session without a screen. redyno asks before it writes. At the start of a session, redyno writes the keys \
that the workload reads. At the end, redyno removes all keys of the session. To use only some values of a parameter, \
give --set size=64,1024.

Examples:
  redyno series redis-io -p 6379 --plan
  redyno series tair-threads -p 6379 --yes --scale 0.01 --published

Ctrl-C ends the series; redyno then prints the table of the finished cells.
Exit codes: 0 done; 1 a cell failed (the row of the cell says why); 2 bad usage; 130 interrupted.";

/// The arguments of `redyno series`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct SeriesArgs {
    /// The series: a preset, or a TOML file
    #[arg(value_name = "NAME|FILE")]
    pub series: String,
    /// Set a parameter of the series. If the parameter is a list, give one or more values, separated by commas
    // This is the first field, because the target's heading applies to all fields after it.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<ParameterValue>,
    /// Use only the runs with this name; can be given several times
    #[arg(long, value_name = "RUN")]
    pub only: Vec<String>,
    /// Multiply requests, seconds, pauses and keys by this factor between 0 and 1
    #[arg(long, value_name = "PART")]
    pub scale: Option<ScaleFactor>,
    /// Multiply clients and threads by this factor between 0 and 1
    #[arg(long, value_name = "PART")]
    pub scale_clients: Option<ScaleFactor>,
    /// Run each cell (one test with one set of parameters) for this many seconds, instead of the length in the series
    #[arg(long, value_name = "SECONDS", value_parser = whole::<u32>(1..=31_536_000))]
    pub duration: Option<u32>,
    /// Print the published figures below the measured figures
    #[arg(long)]
    pub published: bool,
    /// Print what would run, and end without connecting
    #[arg(long)]
    pub plan: bool,
    /// Print JSON lines: one object per cell
    #[arg(long, conflicts_with = "plan")]
    pub json: bool,
    /// Write all records of each cell to a new file in this directory; the file's name contains the cell's number
    #[arg(long, value_name = "DIRECTORY")]
    pub record: Option<PathBuf>,
    /// The dataset: a file of records, for runs whose commands contain fields of a dataset
    #[arg(long, value_name = "FILE")]
    pub dataset: Option<PathBuf>,
    /// Use only the first N records of the dataset
    #[arg(long, value_name = "N", value_parser = requests, requires = "dataset")]
    pub maxdocs: Option<u64>,
    /// Number of worker threads, instead of the number in the series
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Random seed, the same for each cell [default: random]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Do not ask before writing to a server that holds other keys or serves other clients
    #[arg(long)]
    pub yes: bool,
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The servers that share the load of each cell.
    #[command(flatten)]
    pub ring: RingArgs,
    /// The agents that generate the load of each cell.
    #[command(flatten)]
    pub fleet: FleetArgs,
}

impl Arguments for SeriesArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        let nodes = self.ring.nodes();
        let mut servers = nodes.targets(&mut self.target, given)?;
        config::resolve(&mut self.target, given, !self.plan)?;
        self.fleet.share_tls(&mut self.target, &mut servers);
        let target = self.target.target()?;
        let with = if self.set.is_empty() { "" } else { "series with --set: " };
        let named = |error| UsageError::of(format!("{with}{error}"));
        let mut series = Series::find(&self.series, &self.set.clone().into()).map_err(named)?;
        let scaling = Scaling { amounts: self.scale, clients: self.scale_clients, duration: self.duration };
        let changed = scaling.apply(&mut series);
        let mut cells = Vec::new();
        for (place, cell) in series.cells.iter().enumerate() {
            let is_wanted = self.only.is_empty() || self.only.contains(&cell.run);
            if is_wanted && cell.speaks.is_none_or(|speaks| speaks.includes(target.dialect)) {
                let plan = self.session(cell, place, (&nodes, &servers));
                let named = |error| UsageError::of(format!("{}: {error}", cell.title()));
                let plan = plan.map_err(named)?;
                // If a limit of this machine makes a cell impossible, the other cells still run.
                let limited = plan.check_clients().map_err(|error| error.to_string());
                cells.push((place, limited.map(|()| plan)));
            }
        }
        self.check(&series, &cells, &target)?;
        let lines = SeriesLines { changed, scaling, is_published: self.published, is_json: self.json };
        if self.plan {
            return Ok(text_plan(text(&series, &cells, &lines)?));
        }
        Ok(Box::new(SeriesRun { series, cells, target, lines, record: self.record }))
    }
}

impl SeriesArgs {
    /// Refuses options that contradict the series.
    fn check(&self, series: &Series, cells: &[PlannedCell], target: &Target) -> Result<(), UsageError> {
        let name = &series.name;
        let wrong = if let Some(none) =
            self.only.iter().find(|run| series.cells.iter().all(|cell| cell.run != **run))
        {
            let mut runs: Vec<_> = series.cells.iter().map(|cell| cell.run.as_str()).collect();
            runs.dedup();
            format!("--only {none}: the series '{name}' has no such run; it has {}", runs.join(", "))
        } else if cells.is_empty() {
            format!("the series '{name}' has no run for {}", target.dialect.words().server)
        } else if self.dataset.is_some()
            && cells
                .iter()
                .flat_map(|(_, plan)| plan)
                .all(|plan| plan.commission.knobs.workload.dataset.is_none())
        {
            format!("--dataset: no run of the series '{name}' uses a dataset; leave it out")
        } else if self.published && series.published.is_empty() {
            format!("--published: the series '{name}' has no published figures; leave it out")
        } else {
            return Ok(());
        };
        Err(UsageError::Line(wrong))
    }

    /// Returns the session of a cell.
    fn session(
        &self,
        cell: &SeriesCell,
        place: usize,
        (nodes, servers): (&NodesArgs, &[TargetArgs]),
    ) -> Result<SessionPlan, UsageError> {
        let has_records = !cell.workload.portions().is_empty();
        let mut load = LoadArgs {
            load: true,
            yes: self.yes,
            seed: self.seed,
            threads: self.threads,
            chosen: Some(cell.workload.clone()),
            dataset: self.dataset.clone().filter(|_| has_records),
            maxdocs: self.maxdocs.filter(|_| has_records),
            ..LoadArgs::default()
        };
        let file = |directory: &PathBuf| directory.join(format!("{:03}.jsonl", place + 1));
        let mut session =
            SessionArgs { record: self.record.as_ref().map(file).map(Some), ..SessionArgs::default() };
        load.follow(&cell.load);
        session.follow(&cell.load);
        load.read_dataset()?;
        session.end_after_a_pass(&load)?;
        let mut plan = session_plan(&self.target, &load, &session)?;
        nodes.settle(servers, OtherServers::Cluster, &mut plan)?;
        self.fleet.settle(load.threads, &mut plan)?;
        plan.commission.config.clone_from(&cell.config);
        plan.check_config()?;
        plan.check_dialect()?;
        Ok(plan)
    }
}

/// Returns the cells as text, in their order.
pub(super) fn text(
    series: &Series,
    planned: &[PlannedCell],
    lines: &SeriesLines,
) -> Result<String, UsageError> {
    let cells: Vec<_> = planned.iter().map(|(place, _)| &series.cells[*place]).collect();
    let mut text = lines.head(series, None);
    for (cell, (_, plan)) in cells.iter().zip(planned) {
        text += "\n";
        text += &match plan {
            Ok(plan) => of_cell(cell, plan)?,
            Err(limit) => untrusted::text(&cell.title()) + &format!("\n  not possible here: {limit}\n"),
        };
    }
    Ok(text)
}

fn of_cell(cell: &SeriesCell, plan: &SessionPlan) -> Result<String, UsageError> {
    let (knobs, load) = (&plan.commission.knobs, &plan.commission.plan);
    if knobs.workload.dataset.is_some() {
        // The text does not contain the records of a dataset.
        let title = untrusted::text(&format!("{}: {knobs}", cell.title()));
        return Ok(format!("{title}\n  the records of the dataset\n"));
    }
    let preview = preview(plan)?;
    let ends = [
        load.requests
            .map(|(RequestLimit::Shared(n) | RequestLimit::PerClient(n))| count_with_noun(n, "request")),
        load.length.map(|length| format!("{} s", length.as_secs_f64())),
        preview.prefill.map(|prefill| format!("{} of prefill", count_with_noun(prefill.requests, "request"))),
        cell.pause_s.map(|pause| format!("after a pause of {pause} s")),
    ];
    let config = cell.config.iter().map(|(parameter, to)| format!("{} {to}", parameter.name));
    let ends = ends.into_iter().flatten().chain(config).collect::<Vec<_>>().join(", ");
    let mut text =
        untrusted::text(&cell.title()) + &format!("\n  {}\n  {ends}\n", untrusted::text(&knobs.to_string()));
    for operation in &preview.operations {
        let commands = untrusted::text(&operation.commands);
        text +=
            &format!("  {:>5} {}: {commands}\n", percent(operation.share), untrusted::text(&operation.name));
    }
    Ok(text)
}
