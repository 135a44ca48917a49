//! The options of `redyno series`.

use std::path::PathBuf;

use clap::Args;

use crate::{
    cli::{
        UsageError,
        args::CommandLine,
        load_args::LoadArgs,
        target_args::TargetArgs,
        values::{requests, threads},
    },
    endpoint::Target,
    experiment::series::{Cell, Scale, Series},
    load::most_clients,
    session::running::check_clients,
    workload::{KeyNames, RunId, Setting, Suggested},
};

const AFTER: &str = "\
A series is one run after the other: redyno workloads lists those that there are, and prints one as a file to start from. Each \
cell of its table is a session without a screen: its keys are made where its workload reads some, it is asked about, and its \
keys are removed. --set takes one or more values of a list: --set size=64,1024 runs these alone.

  redyno series tair-threads -p 6379 --yes --scale 0.01 --published

Ctrl-C ends it with the table so far.
Exit codes: 0 done, 1 a cell failed, which its row says; 2 and 130 as ever.";

/// The arguments of `redyno series`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct SeriesArgs {
    /// The series: a preset, or a TOML file
    #[arg(value_name = "NAME|FILE")]
    pub series: String,
    /// Set a parameter of it; a list to one or more values, with commas between them
    // Before the target, whose heading holds for everything after it.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<Setting>,
    /// Run only the runs of this name; may be given several times
    #[arg(long, value_name = "RUN")]
    pub only: Vec<String>,
    /// Less of all: requests, seconds, keys, clients and threads times this, between 0 and 1
    #[arg(long, value_name = "PART")]
    pub scale: Option<Scale>,
    /// Show the published figures below those that were measured
    #[arg(long)]
    pub published: bool,
    /// Print what would be run, and end: nothing is connected
    #[arg(long)]
    pub plan: bool,
    /// A JSON object a line: a cell each
    #[arg(long, conflicts_with = "plan")]
    pub json: bool,
    /// Write all records of each cell to a new file in this directory, called by the cell's number
    #[arg(long, value_name = "DIRECTORY")]
    pub record: Option<PathBuf>,
    /// Records for the runs that send fields of some
    #[arg(long, value_name = "FILE")]
    pub dataset: Option<PathBuf>,
    /// Take only the first N records of the dataset
    #[arg(long, value_name = "N", value_parser = requests, requires = "dataset")]
    pub maxdocs: Option<u64>,
    /// Worker threads, whatever the series says
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Random seed, the same for each cell [default: another each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write to a server that holds other keys or serves other clients without asking
    #[arg(long)]
    pub yes: bool,
    /// Where.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// What arguments ask for: the series, and a session for each of its cells.
pub(crate) struct Asked {
    pub(crate) target: Target,
    pub(crate) series: Series,
    /// The cells that this target is asked, by their places in the series, and their sessions.
    pub(crate) lines: Vec<(usize, CommandLine)>,
}

impl Asked {
    /// The cells.
    pub(crate) fn cells(&self) -> Vec<&Cell> {
        self.lines.iter().map(|(place, _)| &self.series.cells[*place]).collect()
    }
}

impl SeriesArgs {
    /// Reads all that can be wrong.
    ///
    /// # Errors
    /// Names the first that is.
    pub(super) fn asked(&self) -> Result<Asked, UsageError> {
        let line = |text: String| UsageError::Line(text);
        let target = self.target.target()?;
        let series = Series::find(&self.series, &self.set.clone().into());
        let series = series.map_err(|error| line(error.to_string()))?;
        if let Some(none) = self.only.iter().find(|run| series.cells.iter().all(|cell| cell.run != **run)) {
            return Err(line(format!("--only: the series '{}' has no run '{none}'", series.name)));
        }
        let mut lines = Vec::new();
        for (place, cell) in series.cells.iter().enumerate() {
            let is_wanted = self.only.is_empty() || self.only.contains(&cell.run);
            if is_wanted && cell.speaks.is_none_or(|speaks| speaks.includes(target.dialect)) {
                let made = self
                    .line(cell, &target, place)
                    .map_err(|error| line(format!("{}: {error}", cell.title())));
                lines.push((place, made?));
            }
        }
        if lines.is_empty() {
            let server = target.dialect.words().server;
            return Err(line(format!("the series '{}' has no run for {server}", series.name)));
        }
        if self.dataset.is_some() && lines.iter().all(|(_, line)| line.load.dataset.is_none()) {
            return Err(line(format!(
                "--dataset: no run of the series '{}' sends a field of a record",
                series.name
            )));
        }
        if self.published && series.published.is_empty() {
            return Err(line(format!(
                "--published: no figures of the series '{}' are published",
                series.name
            )));
        }
        Ok(Asked { target, series, lines })
    }

    /// What a cell's load says, as it is run.
    fn load(&self, cell: &Cell) -> Suggested {
        self.scale.map_or_else(|| cell.load.clone(), |scale| scale.scaled(&cell.load))
    }

    /// The session of a cell.
    fn line(&self, cell: &Cell, target: &Target, place: usize) -> Result<CommandLine, String> {
        let has_records = !cell.workload.portions().is_empty();
        let mut line = CommandLine::default();
        line.target = self.target.clone();
        line.load = LoadArgs {
            load: true,
            yes: self.yes,
            seed: self.seed,
            threads: self.threads,
            chosen: Some(cell.workload.clone()),
            dataset: self.dataset.clone().filter(|_| has_records),
            maxdocs: self.maxdocs.filter(|_| has_records),
            ..LoadArgs::default()
        };
        let load = self.load(cell);
        line.load.follow(&load);
        line.session.follow(&load);
        line.session.headless = true;
        let file = |directory: &PathBuf| directory.join(format!("{:03}.jsonl", place + 1));
        line.session.record = self.record.as_ref().map(file).map(Some);
        line.load.read_dataset().map_err(|error| error.to_string())?;
        line.end_after_a_pass().map_err(|error| error.to_string())?;
        let knobs = line.knobs(true).map_err(|error| error.to_string())?;
        check_clients(&knobs, most_clients(line.load.worker_threads(), 1))?;
        let names = KeyNames::of_run(RunId::random());
        knobs.workload.check_dialect(target.dialect, &names).map_err(|error| error.to_string())?;
        Ok(line)
    }
}
