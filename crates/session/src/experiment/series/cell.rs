//! A cell of a series: one run with one value of each list that it names; and its figures, measured or published, in one form so
//! that they stand in one table.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    protocol::Dialect,
    workload::{Chosen, Setting, Settings, Suggested, Workload, quantity, written},
};

/// The most commands of a batch.
const MAX_BATCH: u32 = 1000;

/// What a run is for where it is not for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaks {
    /// Redis and Valkey.
    Redis,
    /// memcached.
    Memcached,
}

impl Speaks {
    /// Whether a target of this dialect is asked.
    pub fn includes(self, dialect: Dialect) -> bool {
        (dialect == Dialect::Memcached) == (self == Self::Memcached)
    }
}

/// A run as its file says it, its parameters replaced.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Run {
    pub(super) name: String,
    /// One of the series' own, a preset, or a file beside that of the series.
    pub(super) workload: Option<String>,
    /// Commands of its own, as behind `--` of a command line.
    #[serde(default)]
    commands: Vec<String>,
    /// Parameters of the workload.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// The only operations of it.
    #[serde(default)]
    operations: Vec<String>,
    /// Commands between MULTI and EXEC.
    #[serde(default = "one", deserialize_with = "quantity")]
    batching: u32,
    /// As how many a command is counted.
    #[serde(default = "one", deserialize_with = "quantity")]
    each: u32,
    /// Whether keys are made before, where that is not as the workload has it.
    prefill: Option<bool>,
    #[serde(default)]
    pub(super) load: Suggested,
    target: Option<Speaks>,
}

fn one() -> u32 {
    1
}

/// Where workloads are that a run may name beside those that have names of their own.
pub(super) struct KnownWorkloads<'a> {
    /// The directory of the series' file.
    pub(super) directory: &'a Path,
    /// The workloads inside of it.
    pub(super) tables: &'a BTreeMap<String, toml::Table>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What its run is called.
    pub run: String,
    /// The lists that it is one value of each of, in their order.
    pub at: Vec<(String, String)>,
    /// What is asked.
    pub workload: Arc<Workload>,
    /// How.
    pub load: Suggested,
    /// As how many its operations are counted.
    pub each: u64,
    /// The only targets that it is for.
    pub speaks: Option<Speaks>,
}

impl Cell {
    /// The cell of `run` at these values. What `of_all` says of the load holds where the run says nothing.
    pub(super) fn of(
        run: &Run,
        at: Vec<(String, String)>,
        of_all: &Suggested,
        known: &KnownWorkloads,
    ) -> Result<Self, String> {
        let Chosen { workload, load } = run.chosen(known)?;
        let workload = run.shaped(&workload)?;
        workload.check().map_err(|error| error.to_string())?;
        let load = run.load.or(of_all).or(&load);
        let each = u64::from(run.each) * u64::from(run.batching);
        if !load.has_end() && !workload.is_of_records() {
            return Err(format!(
                "the run '{}' has no end; give it requests or a duration in [load]",
                run.name
            ));
        }
        Ok(Self { run: run.name.clone(), at, workload, load, each, speaks: run.target })
    }

    /// What it is called: `GET, size 64`.
    pub fn title(&self) -> String {
        let at = self.at.iter().map(|(name, value)| format!(", {name} {value}"));
        self.run.clone() + &at.collect::<String>()
    }
}

impl Run {
    fn chosen(&self, known: &KnownWorkloads) -> Result<Chosen, String> {
        let setting = |(name, value): (&String, _)| Setting { name: name.clone(), value: written(value) };
        let settings = Settings::from(self.set.iter().map(setting).collect::<Vec<_>>());
        match &self.workload {
            Some(_) if !self.commands.is_empty() => {
                Err("a run has a workload or commands, not both".to_owned())
            }
            Some(name) => match known.tables.get(name) {
                Some(table) => Chosen::of_table(name, table, &settings)
                    .map_err(|error| format!("the workload '{name}': {error}")),
                None => Chosen::find_in(known.directory, name, &settings).map_err(|error| error.to_string()),
            },
            None if self.commands.is_empty() => Err("a run has a workload, or commands".to_owned()),
            None if !settings.is_empty() => {
                Err("commands have no parameters; write $name into them".to_owned())
            }
            None => {
                let workload = Workload::of_steps(&self.commands);
                Ok(Chosen { workload: Arc::new(workload), load: Suggested::default() })
            }
        }
    }

    /// The workload as the run has it.
    fn shaped(&self, workload: &Workload) -> Result<Arc<Workload>, String> {
        if !(1..=MAX_BATCH).contains(&self.batching) || self.each == 0 {
            return Err(format!("batching lies between 1 and {MAX_BATCH}, and each is 1 at the least"));
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

/// Figures of a cell, or of one of its operations. What is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Figures {
    /// Operations per second, or what is counted in their place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Mean latency in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// 99 % of the latencies are at most so long, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Percent of the requests that took no longer than each of the table's limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<f64>,
}

/// The figures of a cell in all, and those of its operations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfOperations {
    /// In all.
    pub all: Figures,
    /// By operation.
    pub operations: BTreeMap<String, Figures>,
}
