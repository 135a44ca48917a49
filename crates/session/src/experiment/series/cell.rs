//! A cell of a series: one run, with one value for each parameter. This module also has the measured and published
//! figures of a cell.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    experiment::ExperimentSetting as Turned,
    protocol::Dialect,
    server::Parameter,
    workload::{
        ParameterValue, Settings, Suggested, Workload, WorkloadChoice, quantity, some_quantity, value_text,
    },
};

/// The maximum number of commands in a batch.
const MAX_BATCH: u32 = 1000;

/// The kind of server that a run is limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Redis and Valkey.
    Redis,
    /// memcached.
    Memcached,
    /// Servers that redyno reaches by HTTP.
    Http,
}

impl TargetKind {
    /// Returns whether a run for this kind of server applies to a target. `dialect` is the protocol of the target.
    pub fn includes(self, dialect: Dialect) -> bool {
        let speaks = match dialect {
            Dialect::Resp2 | Dialect::Resp3 => Self::Redis,
            Dialect::Memcached => Self::Memcached,
            Dialect::Http(_) => Self::Http,
        };
        self == speaks
    }
}

/// A run of the file. Its parameters have been replaced by values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RunSpec {
    pub(super) name: String,
    /// The name of a workload in the series, of a preset, or of a file in the directory of the series.
    pub(super) workload: Option<String>,
    /// The commands of the run, written as after `--` on the command line.
    #[serde(default)]
    commands: Vec<String>,
    /// The values of the workload's parameters.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// The names of the operations that the run uses; empty for all operations.
    #[serde(default)]
    operations: Vec<String>,
    /// The number of commands between MULTI and EXEC.
    #[serde(default = "one", deserialize_with = "quantity")]
    batching: u32,
    /// The number of operations that each command counts as.
    #[serde(default = "one", deserialize_with = "quantity")]
    each: u32,
    /// Whether to run a prefill; `None` for the setting of the workload.
    prefill: Option<bool>,
    /// The pause without load before the run, in seconds.
    #[serde(default, deserialize_with = "some_quantity")]
    pause: Option<u32>,
    /// The values of the server's parameters during the run. At the end of the run, redyno restores the previous
    /// values.
    #[serde(default)]
    config: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) load: Suggested,
    target: Option<TargetKind>,
}

fn one() -> u32 {
    1
}

/// The sources of workloads for a run, in addition to the presets.
pub(super) struct KnownWorkloads<'a> {
    /// The directory of the series' file.
    pub(super) directory: &'a Path,
    /// The workloads that are defined in the series' file.
    pub(super) tables: &'a BTreeMap<String, toml::Table>,
}

/// A cell of a series: one run, with one value of each parameter that has a list of values.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesCell {
    /// The name of the run.
    pub run: String,
    /// The lists of the run (parameters with several values), in order. Each item has the name of a list, and its value
    /// in this cell. The value includes the change by [`Scaling`](super::Scaling).
    pub at: Vec<(String, String)>,
    /// The name of each list of the run, and its value in the file, before scaling.
    pub(super) listed: Vec<(String, String)>,
    /// The names of the lists that set an amount of the load. Each name comes with the name of this amount, such as
    /// `requests`.
    pub(super) amounts: BTreeMap<String, &'static str>,
    /// The workload.
    pub workload: Arc<Workload>,
    /// The other settings of the load.
    pub load: Suggested,
    /// The number of operations that a command counts as.
    pub each: u64,
    /// The kind of targets that the cell is limited to.
    pub speaks: Option<TargetKind>,
    /// The pause without load before the cell, in seconds.
    pub pause_s: Option<u32>,
    /// The server's parameters during the cell.
    pub config: Vec<(&'static Parameter, String)>,
}

impl SeriesCell {
    /// Returns the cell of `run` with these values. `of_all` has the load settings for all runs.
    pub(super) fn of(
        run: &RunSpec,
        (at, amounts): (Vec<(String, String)>, BTreeMap<String, &'static str>),
        of_all: &Suggested,
        known: &KnownWorkloads,
    ) -> Result<Self, String> {
        let WorkloadChoice { workload, load } = run.chosen(known)?;
        let workload = run.shaped(&workload)?;
        workload.check().map_err(|error| error.to_string())?;
        let load = run.load.or(of_all).or(&load);
        let each = u64::from(run.each) * u64::from(run.batching);
        if !load.has_end() && !workload.is_of_records() {
            return Err(format!(
                "the run '{}' would not end; give it requests or a duration in [load]",
                run.name
            ));
        }
        let parameter = |(name, value): (&String, _)| {
            Turned::parameter(name, &value_text(value)).map_err(|error| error.to_string())
        };
        Ok(Self {
            run: run.name.clone(),
            listed: at.clone(),
            at,
            amounts,
            workload,
            load,
            each,
            speaks: run.target,
            pause_s: run.pause,
            config: run.config.iter().map(parameter).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the title of the cell: `GET, size 64`.
    pub fn title(&self) -> String {
        let at = self.at.iter().map(|(name, value)| format!(", {name} {value}"));
        self.run.clone() + &at.collect::<String>()
    }
}

impl RunSpec {
    fn chosen(&self, known: &KnownWorkloads) -> Result<WorkloadChoice, String> {
        let setting =
            |(name, value): (&String, _)| ParameterValue { name: name.clone(), value: value_text(value) };
        let settings = Settings::from(self.set.iter().map(setting).collect::<Vec<_>>());
        match &self.workload {
            Some(_) if !self.commands.is_empty() => {
                Err("a run has either a workload or commands; leave one out".to_owned())
            }
            Some(name) => match known.tables.get(name) {
                Some(table) => WorkloadChoice::of_table(name, table, &settings)
                    .map_err(|error| format!("the workload '{name}': {error}")),
                None => WorkloadChoice::find_in(known.directory, name, &settings)
                    .map_err(|error| error.to_string()),
            },
            None if self.commands.is_empty() => Err("a run needs a workload or commands".to_owned()),
            None if !settings.is_empty() => {
                Err("'set' is only for a workload; write $name into the commands instead".to_owned())
            }
            None => {
                let workload = Workload::of_steps(&self.commands);
                Ok(WorkloadChoice { workload: Arc::new(workload), load: Suggested::default() })
            }
        }
    }

    /// Returns the workload of the run.
    fn shaped(&self, workload: &Workload) -> Result<Arc<Workload>, String> {
        if !(1..=MAX_BATCH).contains(&self.batching) || self.each == 0 {
            return Err(format!("'batching' must be between 1 and {MAX_BATCH}, and 'each' at least 1"));
        }
        let mut shaped = workload.clone();
        if !self.operations.is_empty() {
            shaped = shaped.of_operations(&self.operations).map_err(|error| error.to_string())?;
        }
        if self.batching > 1 {
            shaped = shaped.in_batches_of(self.batching);
        }
        match self.prefill {
            Some(true) => shaped = shaped.with_prefill().map_err(|error| error.to_string())?,
            Some(false) => shaped = shaped.without_prefill(),
            None => {}
        }
        Ok(Arc::new(shaped))
    }
}

/// The figures of a cell, or of one of its operations. Unknown figures are `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Figures {
    /// Operations per second. If the table counts another unit, units per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// The mean latency in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// The p99 of the latency in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// For each time limit of the table, the percentage of requests that took at most this time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<f64>,
    /// The means of the table's gauges, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<String, f64>,
}

/// The rates and latencies of a cell, in total and for each operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CellFigures {
    /// The figures of all operations together.
    #[serde(flatten)]
    pub all: Figures,
    /// The figures by operation.
    pub operations: BTreeMap<String, Figures>,
}
