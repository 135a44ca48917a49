//! `redyno workloads`: lists the workloads and series, or prints a workload or series as a file to start from.

use clap::Args;

use super::command::{Arguments, Invocation, PlanResult};
use crate::{
    experiment::series::{series_file, series_presets},
    runner::{UsageError, text_plan},
    workload::{ParameterValue, WorkloadChoice, presets},
};

const AFTER: &str = "\
Run a workload with --workload NAME, and your own workload with --workload FILE. Run a series with 'redyno series \
NAME', and your own series with 'redyno series FILE'.

Examples:
  redyno workloads
  redyno workloads cache > mine.toml
  redyno -p 6379 --workload ./mine.toml";

/// The arguments of `redyno workloads`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct WorkloadsArgs {
    /// The workload or series to print as a file [default: list all]
    pub name: Option<String>,
    /// Set a parameter of the workload or series; can be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "name")]
    pub set: Vec<ParameterValue>,
}

impl Arguments for WorkloadsArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        let series = self.name.as_ref().filter(|_| self.set.is_empty()).and_then(|name| series_file(name));
        let text = match (series, &self.name) {
            (Some(file), _) => file.to_owned(),
            (None, Some(name)) => {
                WorkloadChoice::preset_file(name, &self.set.clone().into()).map_err(UsageError::of)?
            }
            (None, None) => list(),
        };
        Ok(text_plan(text))
    }
}

/// Returns a line for each workload, and one for each series.
fn list() -> String {
    let workloads = presets().map(|preset| (preset.name.clone(), preset.about.clone())).collect::<Vec<_>>();
    let series = series_presets().map(|(name, about)| (name.to_owned(), about)).collect::<Vec<_>>();
    let width = workloads.iter().chain(&series).map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = |of: &[(String, String)]| {
        of.iter().map(|(name, about)| format!("{name:width$}  {about}\n")).collect::<String>()
    };
    format!("{}\nSeries, one table each: redyno series NAME\n{}", lines(&workloads), lines(&series))
}
